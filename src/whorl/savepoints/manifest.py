"""What a savepoint says of itself. It is written last: a folder without a manifest is no savepoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import orjson

from whorl.errors import WorldError
from whorl.tasks.changelog import decode_positions
from whorl.tasks.layout import Place
from whorl.tasks.register import ComponentEntry, QueryEntry, Registration, component_entry, query_entry

VERSION = 1
MANIFEST = "savepoint.json"


@dataclass(frozen=True)
class Tally:
    """Of entries of state, in any order: equal where they are."""

    entries: int
    checksum: str


@dataclass(frozen=True)
class SavedComponent:
    entry: ComponentEntry
    """As the register had it: logical partitions (lps), topics, what operators keep."""
    own: Mapping[int, str]
    """By lp: its own record in the changelog, with source positions and times."""
    tally: Tally

    @property
    def positions(self) -> dict[Place, int]:
        return {place: at for record in self.own.values() for place, at in decode_positions(record.encode()).items()}


@dataclass(frozen=True)
class SavedEdge:
    """A topic between components, of which something was written and not yet read."""

    partitions: int
    records: int
    checksum: str = ""
    """Of those, in any order; none where an earlier Whorl saved them."""


@dataclass(frozen=True)
class SavedQuery:
    entry: QueryEntry
    ledger: tuple[tuple[str, str], ...]
    """What was written last, by writer."""
    size: int = 0
    """Bytes of its checkpoint's files; none where an earlier Whorl saved them."""


@dataclass(frozen=True)
class Manifest:
    name: str
    pipeline: str
    uid: str
    """Of the life it was taken from."""
    taken: float
    """Seconds since 1970."""
    whorl: str
    file: str
    fingerprint: str
    tasks: int
    components: Mapping[str, SavedComponent]
    edges: Mapping[str, SavedEdge] = field(default_factory=dict)
    queries: Mapping[str, SavedQuery] = field(default_factory=dict)
    size: int = 0
    """Bytes of all files."""

    @property
    def entries(self) -> int:
        return sum(component.tally.entries for component in self.components.values())

    @property
    def registration(self) -> Registration:
        """As the register had it."""
        components = {id: saved.entry for id, saved in self.components.items()}
        queries = {id: saved.entry for id, saved in self.queries.items()}
        return Registration(self.pipeline, self.uid, None, components, queries, self.tasks, self.file, self.fingerprint)

    def encode(self) -> bytes:
        options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
        return orjson.dumps({"version": VERSION, **asdict(self)}, option=options)

    @classmethod
    def decode(cls, data: bytes, where: str) -> Manifest:
        fields: dict[str, Any] = orjson.loads(data)
        version = fields.pop("version")
        if version > VERSION:
            what = f"the savepoint '{where}' was written in format {version}, this Whorl knows {VERSION}"
            raise WorldError(what, hint="use the newer Whorl", code="savepoint")
        manifest = cls(**fields)
        return replace(
            manifest,
            components={id: _component(saved) for id, saved in fields["components"].items()},
            edges={topic: SavedEdge(**saved) for topic, saved in fields["edges"].items()},
            queries={id: _query(saved) for id, saved in fields["queries"].items()},
        )


def _component(fields: Mapping[str, Any]) -> SavedComponent:
    own = {int(lp): record for lp, record in fields["own"].items()}
    return SavedComponent(component_entry(fields["entry"]), own, Tally(**fields["tally"]))


def _query(fields: Mapping[str, Any]) -> SavedQuery:
    ledger = tuple((writer, record) for writer, record in fields["ledger"])
    return SavedQuery(query_entry(fields["entry"]), ledger, fields.get("size", 0))
