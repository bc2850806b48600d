"""What a pipeline leaves behind where its file has no use any more for what was kept, and who runs it has agreed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from whorl.state.codec import ORDER, owner
from whorl.tasks.changelog import decode_lp, encode_lp
from whorl.tasks.register import ComponentEntry

T = TypeVar("T")


@dataclass(frozen=True)
class Loss:
    """Of one component: the whole of it, where neither an operator nor topics are named."""

    component: str
    operator: str = ""
    states: tuple[str, ...] = ()
    """Those of the operator that go; none: all of them, and its timers."""
    topics: tuple[str, ...] = ()
    """Whose positions go."""

    @property
    def is_whole(self) -> bool:
        return not (self.operator or self.topics)

    def takes(self, entry: bytes) -> bool:
        """Whether an entry of the changelog goes. What is counted of an operator with limits goes with any of its states: it begins anew."""
        operator, table = owner(entry)
        if not self.operator or operator != self.operator:
            return False
        return not self.states or table == ORDER or table in self.states

    def left_of(self, entry: ComponentEntry) -> ComponentEntry:
        """What the register says of the component without it."""
        topics = tuple(topic for topic in entry.topics if topic not in self.topics)
        if self.states:
            left = tuple(state for state in entry.states[self.operator] if state not in self.states)
            return replace(entry, topics=topics, states={**entry.states, self.operator: left})
        return replace(
            entry,
            topics=topics,
            kept=self._others(entry.kept),
            versions=self._others(entry.versions),
            types=self._others(entry.types),
            states=self._others(entry.states),
        )

    def _others(self, by_operator: Mapping[str, T]) -> dict[str, T]:
        return {operator: each for operator, each in by_operator.items() if operator != self.operator}


def takes(losses: Iterable[Loss], entry: bytes) -> bool:
    return any(loss.takes(entry) for loss in losses)


def left_of(losses: Iterable[Loss], entry: ComponentEntry) -> ComponentEntry:
    for loss in losses:
        entry = loss.left_of(entry)
    return entry


def left_of_own(losses: Collection[Loss], own: Mapping[int, bytes]) -> dict[int, bytes]:
    """The lps' own records, without positions that go."""
    gone = {topic for loss in losses for topic in loss.topics}
    return {lp: _without(gone, record) if gone else record for lp, record in own.items()}


def _without(topics: Collection[str], record: bytes) -> bytes:
    positions, times = decode_lp(record)
    return encode_lp({place: at for place, at in positions.items() if place[0] not in topics}, times)
