"""What stands before all routes: the Host that a request names, where a browser says it comes from, how large it is, and the headers of
every answer.

Without tokens a web page that someone has open must not reach the server: a name of its own that leads to 127.0.0.1 (DNS rebinding)
fails by Host, a form that it posts by Origin.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl.errors import UsageError, WhorlError
from whorl.server.access import is_loopback
from whorl.server.problems import answer, problem_of, unforeseen
from whorl.server.schemas import Problem

MOST_BYTES = 32 << 20
SAFE = ("GET", "HEAD", "OPTIONS")
_HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_log = logging.getLogger(__name__)
_TLS_HEADERS = {"strict-transport-security": "max-age=31536000"}


@dataclass(frozen=True)
class Guard:
    app: ASGIApp
    hosts: Collection[str] = ()
    """Names that a request may give as Host; all, where there are none."""
    most_bytes: int = MOST_BYTES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answering = _Answering(send, scope["scheme"] == "https")
        if refusal := self._refusal(scope):
            await answer(refusal)(scope, receive, answering)
            return
        try:
            await self.app(scope, _Limited(receive, self.most_bytes), answering)
        except Exception as error:
            _log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            if not answering.begun:
                await answer(unforeseen(error))(scope, receive, answering)

    def _refusal(self, scope: Scope) -> Problem | None:
        headers = Headers(scope=scope)
        try:
            self._check_host(headers.get("host", ""))
            if scope["method"] not in SAFE:
                _check_origin(headers)
            _check_length(headers.get("content-length", "0"), self.most_bytes)
        except WhorlError as error:
            return problem_of(error)
        return None

    def _check_host(self, host: str) -> None:
        name = _name(host)
        if self.hosts and name not in self.hosts and not is_loopback(name):
            hint = "ask for 127.0.0.1 or localhost, or name the host with --allow-host"
            raise UsageError(f"'{name}' is not a name of this server", hint=hint, code="host")


class _Limited:
    """Bytes as they come, up to a limit: a request without a length may be larger than it should."""

    def __init__(self, receive: Receive, most: int) -> None:
        self.receive, self.left, self.most = receive, most, most

    async def __call__(self) -> Message:
        message = await self.receive()
        self.left -= len(message.get("body", b""))
        if self.left < 0:
            raise HTTPException(413, _too_large(self.most).message)
        return message


class _Answering:
    """What leaves, with the headers that every answer has."""

    def __init__(self, send: Send, tls: bool) -> None:
        self.send, self.begun = send, False
        self.headers = {**_HEADERS, **(_TLS_HEADERS if tls else {})}

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in self.headers.items():
                headers.setdefault(name, value)
        await self.send(message)


def _check_origin(headers: Headers) -> None:
    """Programs send neither header; browsers send both, and say when another site made them ask."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    foreign = origin is not None and urlsplit(origin).netloc != headers.get("host", "")
    if foreign or site not in (None, "same-origin", "none"):
        hint = "acts are taken from the server's own pages, and from programs"
        raise UsageError("the request comes from another site", hint=hint, code="csrf")


def _check_length(length: str, most: int) -> None:
    if not length.isascii() or not length.isdigit():
        raise UsageError(f"'{length[:40]}' is no Content-Length", code="request")
    if int(length) > most:
        raise _too_large(most)


def _too_large(most: int) -> UsageError:
    hint = "leave out what is no code, or read it from elsewhere"
    return UsageError(f"a request may have {most >> 20} MB", hint=hint, code="too-large")


def _name(host: str) -> str:
    """Without the port."""
    bare = host.rsplit(":", 1)[0] if not host.endswith("]") and host.count(":") != 0 else host
    return bare.lower()
