"""Where keys, positions and times go when a pipeline gets another number of logical partitions."""

from __future__ import annotations

import pytest

from whorl.kafka.partitioner import partition_of
from whorl.savepoints.frames import _moved
from whorl.savepoints.life import slowest, times_in
from whorl.savepoints.manifest import Manifest, SavedComponent, SavedEdge, SavedQuery, Tally
from whorl.state.codec import map_group, pack, table_prefix
from whorl.tasks.changelog import encode_lp
from whorl.tasks.layout import Layout
from whorl.tasks.register import ComponentEntry, QueryEntry

KEYS = [f"key {n}".encode() for n in range(200)]


def entries(key: bytes) -> list[bytes]:
    """A value and an entry of a map of one key."""
    return [table_prefix("op", "seen") + key, table_prefix("op", "by{}") + map_group(key) + pack("x")]


@pytest.mark.parametrize(("before", "now"), [(16, 24), (12, 4), (4, 12), (1, 7), (6, 6)])
def test_an_entry_goes_where_the_records_of_its_key_go(before: int, now: int) -> None:
    for key in KEYS:
        for entry in entries(key):
            assert _moved(partition_of(key, before), entry, before, now) == partition_of(key, now)


def test_a_key_that_is_not_where_its_hash_is_cannot_be_moved_but_to_a_divisor() -> None:
    for key in KEYS:
        elsewhere = (partition_of(key, 4) + 1) % 4
        assert _moved(elsewhere, entries(key)[0], 4, 6) is None
        assert _moved(elsewhere, entries(key)[0], 4, 2) == elsewhere % 2


def at(watermark: int | None, clock: int = 0, **inputs: int) -> dict[str, object]:
    return {"clock": clock, "watermark": watermark, "inputs": inputs}


def test_event_time_is_that_of_the_slowest_and_the_clock_that_of_the_latest() -> None:
    assert slowest([at(5, 10, a=5), at(3, 20, a=7, b=3)]) == at(3, 20, a=5)
    assert slowest([at(5, a=5), at(None)]) == at(None)
    assert slowest([at(5, 10, a=5), {}]) == at(None, 10)
    assert slowest([{}, {}]) == {}


def test_times_come_from_those_whose_keys_are_taken() -> None:
    """Of four to six: keys of 0 and 2 are in even ones, those of 1 and 3 in odd ones."""
    own = {lp: encode_lp({("t", lp): 1}, at(lp * 10, a=lp * 10)) for lp in range(4)}
    found = {lp: times["watermark"] for lp, times in times_in(own, 4, 6).items()}
    assert found == {0: 0, 1: 10, 2: 0, 3: 10, 4: 0, 5: 10}


def test_a_manifest_reads_as_it_was_written() -> None:
    entry = ComponentEntry(Layout(3, 2, 4), (), ("in", "edge"), {"op": ("a", "b")}, {"op": 2}, ("edge",), "group")
    own = {0: encode_lp({("in", 0): 7, ("in", 4): 9}, {}).decode()}
    manifest = Manifest(
        name="one",
        pipeline="p",
        uid="u",
        taken=1.5,
        whorl="1",
        file="/p.yaml",
        fingerprint="f",
        tasks=2,
        components={"op": SavedComponent(entry, own, Tally(3, "-17"))},
        edges={"edge": SavedEdge(4, 12, "-3")},
        queries={"sql": SavedQuery(QueryEntry(("edge",), "group"), (("w-0", "{}"),), 99)},
        size=1234,
    )
    again = Manifest.decode(manifest.encode(), "here")
    assert again == manifest
    assert again.components["op"].positions == {("in", 0): 7, ("in", 4): 9}
