"""Who may do what: bearer tokens with roles, and the sessions of browsers that were opened with one.

    viewer     sees everything; changes nothing
    operator   also submits, stops, resumes, rescales
    admin      also deletes jobs, and lets task managers join

Tokens are kept and compared as hashes. A session is signed with a key made of them: it outlives the server's restart, is good on a
standby, and ends when the tokens change. Without tokens everyone who reaches the port is admin, so the port must be a loopback one.
"""

from __future__ import annotations

import hmac
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from whorl.errors import UsageError

TOKENS = "WHORL_TOKENS"
SESSION_SECONDS = 12 * 3600.0
_SHORTEST = 8
_LOOPBACK = re.compile(r"^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$", re.IGNORECASE)


class Role(IntEnum):
    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Access:
    roles: Mapping[bytes, Role]
    """By the hash of a token."""

    @property
    def open(self) -> bool:
        return not self.roles

    def role(self, token: str) -> Role | None:
        """All are compared, so that the time taken tells nothing."""
        given, found = _hash(token), None
        for known, role in self.roles.items():
            if hmac.compare_digest(known, given):
                found = role
        return found

    @property
    def manager_token(self) -> str:
        """Of task managers that the server starts itself; they outlive it, and the next one knows it again."""
        return "" if self.open else self._sign("task manager")

    def is_manager(self, token: str) -> bool:
        return not self.open and hmac.compare_digest(self.manager_token.encode(), token.encode(errors="replace"))

    def session(self, role: Role, now: float | None = None) -> str:
        """The value of a cookie."""
        until = int((time.time() if now is None else now) + SESSION_SECONDS)
        text = f"{role.word}.{until}.{token_hex(8)}"
        return f"{text}.{self._sign(text)}"

    def session_role(self, cookie: str, now: float | None = None) -> Role | None:
        text, _, signature = cookie.rpartition(".")
        if self.open or not hmac.compare_digest(self._sign(text).encode(), signature.encode()):
            return None
        word, until, _ = text.split(".")
        return Role[word.upper()] if float(until) > (time.time() if now is None else now) else None

    def csrf(self, cookie: str) -> str:
        return self._sign(f"csrf {cookie}")

    def _sign(self, text: str) -> str:
        key = sha256(b"whorl session\n" + b"".join(sorted(self.roles))).digest()
        return hmac.new(key, text.encode(errors="surrogateescape"), sha256).hexdigest()


OPEN = Access({})


def access_of(file: Path | None = None, variables: Mapping[str, str] = os.environ) -> Access:
    """The tokens of a file, and those of WHORL_TOKENS: `role:token`, one a line, or with commas between."""
    return Access(dict(_read(_lines(file, variables.get(TOKENS, "")))))


def refuse_strangers(access: Access, host: str) -> None:
    """Without tokens only this machine may be let in."""
    if access.open and not is_loopback(host):
        hint = f"set {TOKENS} or --tokens FILE, or bind to 127.0.0.1"
        raise UsageError(f"'{host}' is open to other machines, and no tokens are set", hint=hint, code="tokens")


def is_loopback(host: str) -> bool:
    return bool(_LOOPBACK.match(host))


def _lines(file: Path | None, variable: str) -> Iterator[tuple[str, str]]:
    if file is not None:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the tokens in '{file}' cannot be read: {error}", code="tokens") from None
        yield from ((f"{file}:{number}", line) for number, line in enumerate(text.splitlines(), 1))
    yield from ((f"{TOKENS}[{number}]", part) for number, part in enumerate(re.split(r"[,\n]", variable), 1))


def _read(lines: Iterable[tuple[str, str]]) -> Iterator[tuple[bytes, Role]]:
    for where, line in lines:
        if not line.strip() or line.strip().startswith("#"):
            continue
        word, _, token = (part.strip() for part in line.partition(":"))
        if word.upper() not in Role.__members__ or len(token) < _SHORTEST:
            hint = f"write ROLE:TOKEN with viewer, operator or admin, and {_SHORTEST} characters at least"
            raise UsageError("this is no token", where=where, hint=hint, code="tokens")
        yield _hash(token), Role[word.upper()]


def _hash(token: str) -> bytes:
    return sha256(token.encode(errors="surrogateescape")).digest()
