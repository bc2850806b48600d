"""A schema registry, asked over its REST protocol: schemas by their number, and the numbers of schemas.

A number stands for one schema for ever, so each is asked for once in a process. That the registry cannot be reached is no fault of a record.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from whorl.errors import PipelineError, Unavailable

_TYPE = "application/vnd.schemaregistry.v1+json"
_WITHIN = 10.0


@cache
def schema_by_id(url: str, id: int) -> dict[str, Any]:
    """Raises ValueError where the registry has none."""
    try:
        return _schema(_asked(url, f"schemas/ids/{id}"))
    except HTTPError as error:
        raise ValueError(f"the registry '{_plain(url)}' has no schema {id} ({error.code})") from None


@cache
def latest(url: str, subject: str) -> dict[str, Any]:
    try:
        return _schema(_asked(url, f"subjects/{quote(subject, safe='')}/versions/latest"))
    except HTTPError as error:
        raise _refused(url, subject, error) from None


@cache
def registered(url: str, subject: str, schema: str) -> int:
    """The number of this schema, given as JSON text, which the subject has from now on."""
    try:
        return int(_asked(url, f"subjects/{quote(subject, safe='')}/versions", {"schema": schema})["id"])
    except HTTPError as error:
        raise _refused(url, subject, error) from None


def _schema(answer: Any) -> dict[str, Any]:
    if answer.get("schemaType", "AVRO") != "AVRO":
        raise ValueError(f"the registry's schema is {answer['schemaType']}, not Avro")
    found: dict[str, Any] = json.loads(answer["schema"])
    return found


def _asked(url: str, path: str, body: Any = None) -> Any:
    parts = urlsplit(url)
    headers = {"Accept": _TYPE, "Content-Type": _TYPE}
    if parts.username:
        pair = f"{parts.username}:{parts.password or ''}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(f"{_plain(url)}/{path}", data, headers), timeout=_WITHIN) as answer:
            return json.load(answer)
    except HTTPError as error:
        if error.code >= 500:
            raise _away(url, str(error)) from None
        raise
    except (URLError, TimeoutError, ConnectionError) as error:
        raise _away(url, str(getattr(error, "reason", error))) from None


def _plain(url: str) -> str:
    """Without who asks."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")


def _away(url: str, why: str) -> Unavailable:
    return Unavailable(f"the schema registry '{_plain(url)}' does not answer: {why}", hint="is it up?", code="registry")


def _refused(url: str, subject: str, error: HTTPError) -> PipelineError:
    try:
        said = json.load(error).get("message", "")
    except ValueError:
        said = ""
    return PipelineError(
        f"the schema registry '{_plain(url)}' refuses subject '{subject}': {said or error.reason} ({error.code})",
        hint="see `subject` of the format; a topic's values are TOPIC-value by custom",
        code="registry",
    )
