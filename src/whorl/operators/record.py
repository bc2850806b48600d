"""What an operator sees of a record beside its row, and what it may return instead of a bare row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Row = dict[str, Any]
Headers = Sequence[tuple[str, bytes | None]]
UNCHANGED: Any = object()
LOOP = "loop"
"""The output by which an operator that loops by itself sends to itself."""
ROUND = "whorl-round"
"""The header of a record in a loop: how often it, or what it was made of, has gone round."""

SPILLED = "whorl-spilled"
"""The header by which a task knows the last message that it has put into a topic of its own."""
SUPERSTEP = "whorl-superstep"
"""The header of what was sent in a loop that goes by supersteps: the number of the one in which it was."""
_OF_LOOPS = (ROUND, SPILLED, SUPERSTEP)


class Message(Protocol):
    """A record as the source gave it; the Kafka client's own message class fits."""

    def topic(self) -> str | None: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
    def headers(self) -> Any: ...
    def timestamp(self) -> tuple[int, int]: ...


def round_of(message: Message) -> int:
    """0 for what comes from outside of the loop."""
    for name, value in message.headers() or ():
        if name == ROUND:
            return int(value)
    return 0


def with_round(headers: Headers | None, round: int) -> Headers | None:
    """What a record leaves with that is in this round of a loop; 0: it leaves the loop, or has not gone round yet."""
    others = [pair for pair in headers or () if pair[0] not in _OF_LOOPS]
    return [*others, (ROUND, b"%d" % round)] if round else others or None


class Metadata:
    """Key, headers, time and place of the record being processed. Read only."""

    __slots__ = ("key", "message", "own_headers", "own_timestamp")

    def __init__(
        self,
        message: Message,
        key: bytes | None,
        own_headers: Headers | Any = UNCHANGED,
        own_timestamp: Any = UNCHANGED,
    ) -> None:
        self.message = message
        self.key = key
        self.own_headers = own_headers
        self.own_timestamp = own_timestamp

    @property
    def topic(self) -> str:
        return self.message.topic() or ""

    @property
    def partition(self) -> int:
        partition = self.message.partition()
        return -1 if partition is None else partition

    @property
    def offset(self) -> int:
        offset = self.message.offset()
        return -1 if offset is None else offset

    @property
    def headers(self) -> Headers:
        return (self.message.headers() or []) if self.own_headers is UNCHANGED else self.own_headers

    @property
    def timestamp(self) -> int:
        """Milliseconds since 1970."""
        return self.message.timestamp()[1] if self.own_timestamp is UNCHANGED else self.own_timestamp

    @property
    def round(self) -> int:
        """How often it has gone round in a loop; 0 for what comes from outside."""
        return round_of(self.message)

    def with_key(self, key: bytes | None) -> Metadata:
        return Metadata(self.message, key, self.own_headers, self.own_timestamp)

    def __repr__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


class Addressed(Metadata):
    """Of a message that an operator sends to a logical partition, not to a key."""

    __slots__ = ("to",)

    def __init__(self, message: Message, to: int) -> None:
        super().__init__(message, None)
        self.to = to


class Record:
    """A row together with the key, headers or timestamp that it leaves with; what is not given stays as it came."""

    __slots__ = ("headers", "key", "timestamp", "value")

    def __init__(
        self,
        value: Row,
        *,
        key: bytes | str | None = UNCHANGED,
        headers: Headers = UNCHANGED,
        timestamp: int = UNCHANGED,
    ) -> None:
        self.value = value
        self.key = key.encode() if isinstance(key, str) else key
        self.headers = headers
        self.timestamp = timestamp

    def metadata(self, of: Metadata) -> Metadata:
        return Metadata(
            of.message,
            of.key if self.key is UNCHANGED else self.key,
            of.own_headers if self.headers is UNCHANGED else self.headers,
            of.own_timestamp if self.timestamp is UNCHANGED else self.timestamp,
        )
