"""Sources that make their own records: a list, or so many a second. For tests and trials; their positions are kept as a topic's are.

The n-th record is always the same, but for the rate source's timestamp.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from whorl.config.spec import ListSource, RateSource, SourceOptions
from whorl.errors import PipelineError
from whorl.formats import codec, parse_format
from whorl.sinks.kafka import key_bytes
from whorl.tasks.layout import Place

Generator = Callable[[int], "list[Made]"]
ENCODE = codec(parse_format("rows"), None).encode


class Made:
    """A record of a source that is no topic; looks like the Kafka client's message."""

    __slots__ = ("_key", "_offset", "_place", "_time", "_value")

    def __init__(self, place: Place, offset: int, value: bytes | None, key: bytes | None, milliseconds: int) -> None:
        self._place, self._offset, self._value, self._key, self._time = place, offset, value, key, milliseconds

    def topic(self) -> str:
        return self._place[0]

    def partition(self) -> int:
        return self._place[1]

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 1, self._time

    def error(self) -> None:
        return None


def generator(source: SourceOptions, place: Place, offset: int) -> Generator:
    """A function that gives at most so many records, going on from `offset`."""
    if isinstance(source, ListSource):
        return _from_list(source, place, offset)
    if isinstance(source, RateSource):
        return _at_rate(source, place, offset)
    raise PipelineError(f"source type '{source.type}' does not run in tasks")


def partitions(source: SourceOptions) -> int:
    return source.partitions if isinstance(source, RateSource) else 1


def length(source: SourceOptions, partition: int) -> int | None:
    """How many records a partition of it has in all; None: it never ends."""
    if isinstance(source, ListSource):
        return len(source.rows)
    if isinstance(source, RateSource) and source.limit is not None:
        return max(0, -(-(source.limit - partition) // source.partitions))
    return None


def _from_list(source: ListSource, place: Place, offset: int) -> Generator:
    at, keys = offset, source.keys or (None,) * len(source.rows)

    def make(most: int) -> list[Made]:
        nonlocal at
        start, at = at, min(at + most, len(source.rows))
        now = int(time.time() * 1000)
        return [Made(place, n, ENCODE(source.rows[n]), key_bytes(keys[n]), now) for n in range(start, at)]

    return make


def _at_rate(source: RateSource, place: Place, offset: int) -> Generator:
    at, began, end = offset, time.monotonic(), length(source, place[1])

    def make(most: int) -> list[Made]:
        nonlocal at
        due = offset + int((time.monotonic() - began) * source.rows_per_second / source.partitions)
        start, at = at, max(at, min(due, at + most, due if end is None else end))
        return [_counted(source, place, n) for n in range(start, at)]

    return make


def _counted(source: RateSource, place: Place, n: int) -> Made:
    value, now = n * source.partitions + place[1], datetime.now(UTC)
    return Made(place, n, ENCODE({"value": value, "timestamp": now}), key_bytes(value), int(now.timestamp() * 1000))
