"""URLs of offset stores: where offsets of a consumer group are kept besides the job's own.

    zookeeper://host:port[,host:port]/chroot     /consumers/GROUP/offsets/TOPIC/PARTITION, as classic consumers have it
    redis://host:port/0                          a hash for each group
    file:path                                    a file of JSON
    kafka:GROUP                                  a group of the job's cluster; kafka://host:port/GROUP of another one

`?group=NAME` names the group in those that hold many. Packages add others by entry points of the group `whorl.offset_stores`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import AfterValidator

from whorl.config.codes import suggest
from whorl.config.validation import Problem

GROUP = "whorl.offset_stores"
OWN = {
    "file": "whorl.offsets.file:FileStore",
    "kafka": "whorl.offsets.kafka:KafkaStore",
    "redis": "whorl.offsets.redis:RedisStore",
    "rediss": "whorl.offsets.redis:RedisStore",
    "zookeeper": "whorl.offsets.zookeeper:ZooKeeperStore",
}
START = "offsets+"
_EXAMPLE = "write zookeeper://host:port/chroot, redis://host:port/0, file:path or kafka:GROUP"


@dataclass(frozen=True)
class StoreUrl:
    text: str
    """As it was written."""
    scheme: str
    host: str
    """With its port, several by comma; none of a file, or of the job's own cluster."""
    path: str
    plain: str
    """The URL less the group."""
    group: str = ""
    """Empty: that of whoever uses it."""

    def __str__(self) -> str:
        """Without a password."""
        return self.text.replace(self.host, f"***@{self.host.rpartition('@')[2]}") if "@" in self.host else self.text


def store_url(text: str) -> StoreUrl:
    parts = urlsplit(text)
    scheme = parts.scheme.lower()
    if not scheme:
        raise Problem(f"'{text}' is not the URL of an offset store", hint=_EXAMPLE)
    if scheme not in (known := known_stores()):
        raise Problem(f"there is no offset store '{scheme}'", code="unknown-type", hint=suggest(scheme, known))
    query = dict(parse_qsl(parts.query))
    group = query.pop("group", "")
    if scheme == "kafka":
        group = group or parts.path.strip("/")
    plain = "?".join(filter(None, (text.partition("?")[0], urlencode(query))))
    url = StoreUrl(text, scheme, parts.netloc, parts.path, plain, group)
    _refuse_incomplete(url)
    return url


def _refuse_incomplete(url: StoreUrl) -> None:
    if url.scheme in ("zookeeper", "redis", "rediss") and not url.host:
        raise Problem(f"'{url}' names no host", hint=_EXAMPLE)
    if url.scheme == "file" and not url.path:
        raise Problem(f"'{url}' names no file", hint="write file:path")
    if url.scheme == "kafka" and not url.group:
        raise Problem(f"'{url}' names no group", hint="write kafka:GROUP")


def start_url(text: str) -> StoreUrl:
    """What `start_from` says: a store, and whose offsets in it."""
    if not text.startswith(START):
        hint = (
            f"write {START}zookeeper://host:port/chroot?group=NAME, {START}kafka:GROUP or {START}file:path?group=NAME"
        )
        raise Problem(f"'{text}' is nothing to start from", hint=hint)
    url = store_url(text.removeprefix(START))
    if not url.group:
        raise Problem(f"'{text}' does not say whose offsets", hint="add ?group=NAME")
    return url


def known_stores() -> dict[str, EntryPoint]:
    """By scheme: where the class is."""
    own = {scheme: EntryPoint(scheme, where, GROUP) for scheme, where in OWN.items()}
    return {**{point.name: point for point in entry_points(group=GROUP)}, **own}


def _store(value: Any) -> Any:
    store_url(value)
    return value


def _start_from(value: Any) -> Any:
    start_url(value)
    return value


Store = Annotated[str, AfterValidator(_store)]
StartFrom = Annotated[str, AfterValidator(_start_from)]
