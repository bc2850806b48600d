"""Positions are moved, and the group with them, all or nothing; against a broker in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from whorl.config.offset_stores import store_url
from whorl.config.settings import Settings
from whorl.errors import UsageError, WorldError
from whorl.jobs.lagging import Behind
from whorl.jobs.reset import Reset
from whorl.jobs.seeds import seeded
from whorl.jobs.targets import End, Moment, Steps, Stored, target
from whorl.offsets.file import FileStore
from whorl.plan import naming
from whorl.tasks.changelog import read_positions
from whorl.tasks.register import owner_of, read_registration
from whorl.testing import Given, PipelineHarness
from whorl.testing.memory import MemoryBroker, MemoryClients

Place = tuple[str, int]
COUNTED = """
name: p
sources:
  in: {type: kafka, topic: in, key: k, schema: {k: string, n: long}}
operators: [{id: seen, type: count, from: in, key: k}]
sinks: {out: {type: kafka, topic: out}}
"""


class Answers:
    """What a cluster says, of a broker in memory."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker, self.clients = broker, MemoryClients(broker)

    def _logs(self, places: Iterable[Place]) -> dict[Place, object]:
        return {place: self._broker.topics()[place[0]].logs[place[1]] for place in places}

    def earliest(self, places: Iterable[Place]) -> dict[Place, int]:
        return {place: log.start for place, log in self._logs(places).items()}  # type: ignore[attr-defined]

    def latest(self, places: Iterable[Place]) -> dict[Place, int]:
        return {place: log.end for place, log in self._logs(places).items()}  # type: ignore[attr-defined]

    def brokers(self) -> int:
        return 1


class At:
    """A pipeline that has read six records of two partitions, and its reset."""

    def __init__(self, folder: Path) -> None:
        (folder / "p.yaml").write_text(COUNTED)
        self.harness = PipelineHarness(folder / "p.yaml", partitions=2, tasks=2)
        self.harness.send("in", [Given(f'{{"k": "{k}", "n": {n}}}', key=k) for n in range(3) for k in ("a", "b")])
        self.harness.run()
        self.cluster = Answers(self.harness.broker)
        self.ends = self.harness.broker.offsets("p.seen")

    def reset(self) -> Reset:
        registration = read_registration(self.cluster.clients, "p")
        assert registration is not None
        return Reset(self.cluster, registration, Settings(heartbeat=0.01))  # type: ignore[arg-type]

    def positions(self) -> dict[Place, int]:
        registration = read_registration(self.cluster.clients, "p")
        assert registration is not None
        topic = naming.changelog_topic("p", registration.uid, "seen")
        return read_positions(self.cluster.clients, topic, range(2))


@pytest.fixture
def at(tmp_path: Path) -> At:
    return At(tmp_path)


def test_positions_and_group_go_together_and_state_stays(at: At) -> None:
    places = sorted(at.ends)
    assert sum(at.ends.values()) == 6 and len(places) == 2
    moves = at.reset().moves(End("earliest"), (), ())
    assert {(move.place, move.before, move.after) for move in moves.all} == {
        (p, at.ends[p], 0) for p in places if at.ends[p]
    }
    assert any("the state of 'seen' stays" in note and "counted again" in note for note in moves.notes)
    assert at.positions() == at.ends == at.harness.broker.offsets("p.seen"), "looking changes nothing"
    at.reset().carry_out(moves)
    assert at.positions() == at.harness.broker.offsets("p.seen") == dict.fromkeys(places, 0)
    assert at.harness.broker.open_transactions() == []
    at.harness.run()
    assert at.positions() == at.ends
    counts = [row["count"] for row in at.harness.sink("out") if row["k"] == "a"]
    assert counts == [1, 2, 3, 4, 5, 6], "read again, and counted again"


def test_so_many_back_is_kept_within_what_is_there(at: At) -> None:
    moves = at.reset().moves(Steps(-100), ("in",), ("seen",))
    assert all(move.after == 0 for move in moves.all) and "so 0 instead of" in moves.notes[0]
    assert not at.reset().moves(Steps(5), (), ()).all


def test_only_what_is_named_moves(at: At) -> None:
    for topics, components, said in (
        (("nothing",), (), "no component of 'p' reads topic 'nothing'"),
        ((), ("nobody",), "'p' has no component 'nobody'"),
    ):
        with pytest.raises(UsageError, match=said) as error:
            at.reset().moves(End("latest"), topics, components)
        assert error.value.hint


def test_out_to_a_file_and_back(at: At, tmp_path: Path) -> None:
    url = store_url(f"file:{tmp_path / 'offsets.json'}")
    FileStore(url, at.cluster.clients).write("another", {("in", 0): 1})  # type: ignore[arg-type]
    moves = at.reset().moves(Stored(url), (), ())
    assert [move.place for move in moves.all] == [("in", 0)] and moves.all[0].after == 1
    assert any("for in/1, which stay" in note for note in moves.notes)


def test_whose_a_group_is(at: At) -> None:
    topics = at.harness.broker.topics()
    assert owner_of(at.cluster.clients, topics, "p.seen") == "p"
    assert owner_of(at.cluster.clients, topics, "p.other") == ""


def test_where_positions_may_be_moved(tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    file.write_text("{}")
    noon = round(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp() * 1000)
    assert target("earliest") == End("earliest")
    assert (target("+5"), target("-5")) == (Steps(5), Steps(-5))
    assert target("2026-01-31T12:00:00Z") == target("2026-01-31T12:00:00") == target(str(noon)) == Moment(noon)
    assert target(str(file)) == Stored(store_url(f"file:{file}"))
    assert target("redis://a:1/0?group=g") == Stored(store_url("redis://a:1/0?group=g"))
    for odd in ("5", "yesterday", "nofile.json", "redos://a"):
        with pytest.raises(UsageError) as error:
            target(odd)
        assert error.value.hint


def test_when_it_will_have_caught_up() -> None:
    def left(lag: int, rate: float, written: float) -> float | None:
        return Behind("c", "g", "t", 0, 0, 100 - lag, 100, rate, written).seconds_left

    assert left(0, 0, 5) == 0 and left(30, 4, 1) == 10 and left(30, 1, 1) is None and left(30, 0, 0) is None
    assert Behind("c", "g", "t", 0, 7, 5, 9, 0, 0).lost == 2


def test_what_another_consumer_had_and_what_does_not_fit(at: At, tmp_path: Path) -> None:
    """A gap, an overlap and an offset behind the end, each told."""
    topics: Callable[..., object] = at.harness.broker.create_topic
    topics("four", 4)
    producer = at.cluster.clients.producer()
    for partition in range(4):
        for _ in range(10):
            producer.produce("four", b"", None, partition)
    producer.flush()
    at.harness.broker.delete_records("four", 1, 5)
    file, told = tmp_path / "theirs.json", list[str]()
    FileStore(store_url(f"file:{file}"), at.cluster.clients).write(  # type: ignore[arg-type]
        "theirs", {("four", 0): 4, ("four", 1): 2, ("four", 2): 99}
    )
    places = [("four", partition) for partition in range(4)]
    found = seeded(at.cluster, f"offsets+file:{file}?group=theirs", places, told.append)  # type: ignore[arg-type]
    assert found == {("four", 0): 4, ("four", 1): 5}
    assert [line.partition(":")[0] for line in told] == ["four/3", "four/1", "four/2"]
    assert "(a gap)" in told[1] and "3 records" in told[1] and "(an overlap)" in told[0] and "(an overlap)" in told[2]
    with pytest.raises(WorldError, match="group 'nobody' has no offsets of 'four'"):
        seeded(at.cluster, f"offsets+file:{file}?group=nobody", places, told.append)  # type: ignore[arg-type]
