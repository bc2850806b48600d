"""What a pipeline's former lives have left behind, and which of it may go. Pure: whoever cleans looks first, and asks here.

Never: anything of the life that the register names; anything younger than the retention; where the pipeline is held, anything of the last ten
minutes, since a life that a rescale is making is in no register yet; a checkpoint whose ledger is not on this broker, since it may be another
cluster's; the newest savepoint of a pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from whorl.config.groups import Cleaner
from whorl.plan import naming
from whorl.units import format_duration

_TOPIC = re.compile(r"whorl\.(?P<pipeline>.+)\.(?P<uid>[0-9a-f]{12})\.(?P<component>.+)\.(?P<kind>changelog|ledger)$")
_FOLDER = re.compile(r"(?P<pipeline>.+)-(?P<uid>[0-9a-f]{12})$")
_IN_THE_MAKING = 600.0


@dataclass(frozen=True)
class Leftover:
    kind: Literal["checkpoint", "topic", "savepoint"]
    pipeline: str
    name: str
    age: float
    """Seconds since it was last written."""

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}' of '{self.pipeline}', {format_duration(round(self.age))} old"


@dataclass(frozen=True)
class Saved:
    """A savepoint."""

    pipeline: str
    name: str
    taken: float


@dataclass(frozen=True)
class Seen:
    """What there is. Pipelines are by the slugs of their names, times in seconds since 1970."""

    lives: Mapping[str, str]
    """By pipeline: the uid that the register names."""
    held: frozenset[str] = frozenset()
    """Pipelines that some process may be running."""
    topics: Mapping[str, float | None] = field(default_factory=dict)
    """When each was last written; None: nothing is in it."""
    checkpoints: Mapping[str, float] = field(default_factory=dict)
    """Folders in the checkpoint root, and when something in them was last written."""
    savepoints: Sequence[Saved] = ()


def leftovers(seen: Seen, cleaner: Cleaner, now: float, only: str | None = None) -> list[Leftover]:
    """Checkpoints before topics: a ledger is what shows that a checkpoint is ours."""
    found = [*_checkpoints(seen, now), *_topics(seen, now)]
    old = [each for each in found if each.age >= cleaner.retention and not _in_the_making(each, seen)]
    return [each for each in (*old, *_savepoints(seen, cleaner, now)) if only in (None, each.pipeline)]


def is_own_topic(name: str) -> bool:
    return _TOPIC.match(name) is not None


def _topics(seen: Seen, now: float) -> Iterator[Leftover]:
    for name, written in seen.topics.items():
        match = _TOPIC.match(name)
        if match and seen.lives.get(match["pipeline"], match["uid"]) != match["uid"]:
            yield Leftover("topic", match["pipeline"], name, now - (written or 0.0))


def _checkpoints(seen: Seen, now: float) -> Iterator[Leftover]:
    ledgers = {(match["pipeline"], match["uid"]) for name in seen.topics if (match := _TOPIC.match(name))}
    for name, written in seen.checkpoints.items():
        match = _FOLDER.match(name)
        if match is None or (match["pipeline"], match["uid"]) not in ledgers:
            continue
        if seen.lives.get(match["pipeline"], match["uid"]) != match["uid"]:
            yield Leftover("checkpoint", match["pipeline"], name, now - written)


def _in_the_making(leftover: Leftover, seen: Seen) -> bool:
    if leftover.pipeline not in seen.held:
        return False
    return leftover.age < _IN_THE_MAKING or seen.topics.get(leftover.name, 0.0) is None


def _savepoints(seen: Seen, cleaner: Cleaner, now: float) -> Iterator[Leftover]:
    if cleaner.savepoints is None:
        return
    newest = {saved.pipeline: saved.name for saved in sorted(seen.savepoints, key=lambda saved: saved.taken)}
    for saved in seen.savepoints:
        age = now - saved.taken
        if age >= cleaner.savepoints and newest[saved.pipeline] != saved.name:
            yield Leftover("savepoint", naming.slug(saved.pipeline), saved.name, age)
