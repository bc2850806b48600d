"""Where positions are to be moved to, as `--to` says it: earliest, latest, a time, so many on or back, or what a store has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from whorl.config.offset_stores import StoreUrl, store_url
from whorl.config.validation import Problem
from whorl.errors import UsageError
from whorl.jobs.positions import Reader
from whorl.kafka.topics import Cluster, Place
from whorl.offsets.file import FileStore
from whorl.offsets.store import opened

Tell = Callable[[str], None]
_STEPS = re.compile(r"[+-]\d+")
_URL = re.compile(r"[a-z]+:(?!\d)")


@dataclass(frozen=True)
class End:
    """`earliest` or `latest`."""

    name: str

    def of(self, cluster: Cluster, reader: Reader, places: list[Place], tell: Tell) -> Mapping[Place, int]:
        return cluster.earliest(places) if self.name == "earliest" else cluster.latest(places)


@dataclass(frozen=True)
class Steps:
    """So many records on, or back."""

    by: int

    def of(self, cluster: Cluster, reader: Reader, places: list[Place], tell: Tell) -> Mapping[Place, int]:
        return {place: reader.positions[place] + self.by for place in places}


@dataclass(frozen=True)
class Moment:
    """The first record of this time or later, in ms since 1970."""

    ms: int

    def of(self, cluster: Cluster, reader: Reader, places: list[Place], tell: Tell) -> Mapping[Place, int]:
        return cluster.at_time(places, self.ms)


@dataclass(frozen=True)
class Stored:
    """What a store has: of the group that its URL names, else of each component's own."""

    url: StoreUrl

    def of(self, cluster: Cluster, reader: Reader, places: list[Place], tell: Tell) -> Mapping[Place, int]:
        group = self.url.group or reader.group
        with opened(self.url, cluster.clients) as store:
            found = store.read(group)
            if not found and isinstance(store, FileStore) and len(groups := store.groups()) == 1:
                ((group, found),) = groups.items()
        missing = [place for place in places if place not in found]
        if missing:
            tell(f"{reader.id}: '{self.url}' has no offsets of group '{group}' for {_listed(missing)}, which stay")
        return {place: found[place] for place in places if place in found}


Target = End | Steps | Moment | Stored


def target(text: str) -> Target:
    if text in ("earliest", "latest"):
        return End(text)
    if _STEPS.fullmatch(text):
        return Steps(int(text))
    if text.isdecimal() and len(text) >= 12:
        return Moment(int(text))
    if _URL.match(text) or Path(text).is_file():
        return Stored(a_store(text))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        hint = "write earliest, latest, a time such as 2026-01-31T12:00:00Z, +N, -N, a file, or the URL of a store"
        raise UsageError(f"'{text}' is nowhere to go", hint=hint) from None
    return Moment(round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000))


def a_store(text: str) -> StoreUrl:
    """A URL, or a file."""
    try:
        return store_url(text if _URL.match(text) else f"file:{text}")
    except Problem as problem:
        raise UsageError(str(problem), hint=problem.hint) from None


def _listed(places: list[Place]) -> str:
    shown = ", ".join(f"{topic}/{partition}" for topic, partition in sorted(places)[:3])
    return f"{shown} and {len(places) - 3} more" if len(places) > 3 else shown
