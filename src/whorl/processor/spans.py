"""Which records a fetch takes: in each partition from where the last commit ended, at most so many, and only what is committed in Kafka.

Nothing is passed over in silence: records that are gone before they were read are counted, and a topic that is shorter than what was
committed is no topic to go on with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from whorl.errors import WorldError
from whorl.kafka.topics import Place

Begin = Literal["earliest", "latest"]


@dataclass(frozen=True)
class Bounds:
    """The first offset of a partition, and the one behind its last committed record."""

    first: int
    end: int


@dataclass(frozen=True)
class Span:
    """Offsets from `starts` up to, and without, `ends`."""

    starts: Mapping[Place, int] = field(default_factory=dict)
    ends: Mapping[Place, int] = field(default_factory=dict)

    @property
    def filled(self) -> list[Place]:
        """Partitions of which it takes anything."""
        return [place for place, end in self.ends.items() if end > self.starts[place]]

    def __len__(self) -> int:
        """Offsets in it: as many records at most, since markers of transactions have offsets too."""
        return sum(end - self.starts[place] for place, end in self.ends.items())


@dataclass(frozen=True)
class Gap:
    """Records that were gone before they were read."""

    place: Place
    wanted: int
    first: int

    def __str__(self) -> str:
        topic, partition = self.place
        lost = self.first - self.wanted
        return (
            f"{lost} records of {topic}/{partition} are gone: committed was {self.wanted}, Kafka begins at {self.first}"
        )


def first_positions(committed: Mapping[Place, int], bounds: Mapping[Place, Bounds], begin: Begin) -> dict[Place, int]:
    """Where each partition goes on. One that has come to a topic that was read before begins at its first record, whatever `begin` says:
    it is there since then."""
    known = {topic for topic, _ in committed}
    return {place: committed.get(place, _begin(each, begin, place[0] in known)) for place, each in bounds.items()}


def _begin(bounds: Bounds, begin: Begin, is_new_partition: bool) -> int:
    return bounds.end if begin == "latest" and not is_new_partition else bounds.first


def gaps(positions: Mapping[Place, int], bounds: Mapping[Place, Bounds]) -> Iterator[Gap]:
    for place, each in bounds.items():
        if positions[place] < each.first:
            yield Gap(place, positions[place], each.first)


def refuse_shorter(positions: Mapping[Place, int], bounds: Mapping[Place, Bounds]) -> None:
    """Raises where a partition ends before what was committed of it."""
    for (topic, partition), each in bounds.items():
        position = positions[topic, partition]
        if position > each.end:
            hint = "the topic was made anew, or these are the offsets of another cluster: take another group, or reset this one"
            raise WorldError(
                f"{topic}/{partition} ends at {each.end}, committed is {position}", code="offsets-gone", hint=hint
            )


def span_of(positions: Mapping[Place, int], bounds: Mapping[Place, Bounds], most: int) -> Span:
    """`most`: offsets of each partition."""
    starts = {place: max(positions[place], each.first) for place, each in bounds.items()}
    return Span(starts, {place: min(start + most, bounds[place].end) for place, start in starts.items()})


def waiting(span: Span, bounds: Mapping[Place, Bounds]) -> int:
    """Offsets behind a span."""
    return sum(max(each.end - span.ends[place], 0) for place, each in bounds.items())
