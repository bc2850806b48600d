"""Which components may get another number of logical partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from whorl.errors import WorldError
from whorl.jobs import interlude
from whorl.kafka.topics import Place
from whorl.tasks.layout import Layout
from whorl.tasks.register import ComponentEntry, Registration

LOOP = "graph.rings.loop_rings"
POSITIONS = {(topic, p): 7 for topic in ("links", LOOP) for p in range(4)}


def cluster(ends: int) -> Any:
    def latest(places: Iterable[Place]) -> dict[Place, int]:
        return dict.fromkeys(places, ends)

    return SimpleNamespace(clients=None, latest=latest)


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setattr(interlude, "read_positions", lambda *_: POSITIONS)

    def of(partitions: int, ends: int, kept: str = "rings") -> Any:
        entry = ComponentEntry(Layout(1, 2, 4), (), ("links", LOOP), {kept: ()})
        told = Registration("graph", "uid", None, {"rings": entry})
        return interlude.partitions_wanted(cluster(ends), told, partitions, ())

    return of


def test_a_program_is_moved_when_none_of_its_messages_is_under_way(wanted: Callable[..., Any]) -> None:
    assert wanted(2, ends=7) == {"rings": 2}
    assert wanted(4, ends=8) == {}, "nothing changes"
    with pytest.raises(WorldError, match="messages of 'rings' are under way") as refused:
        wanted(2, ends=8)
    assert refused.value.code == "rescale" and "come to rest" in refused.value.hint


def test_messages_by_key_find_their_way(wanted: Callable[..., Any]) -> None:
    assert wanted(2, ends=8, kept="other") == {"rings": 2}
