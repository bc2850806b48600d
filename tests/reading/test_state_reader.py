"""State read from outside is what was committed: of every kind, whatever died when, and without what is expired or gone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from whorl import Context, KeyedOperator, ListState, MapState, Row, ValueState, WorldError
from whorl.reading.entries import Entry
from whorl.reading.reader import StateReader
from whorl.reading.where import stores_of
from whorl.testing import Crash, PipelineHarness
from whorl.testing.memory import MemoryClients

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
LONG = "k" * 700
VALUES: dict[str, tuple[Any, str]] = {
    "int": (7, "7"),
    "large": (2**70, str(2**70)),
    "float": (1.5, "1.5"),
    "nan": (float("nan"), "null"),
    "text": ("grün", '"grün"'),
    "half": ("a\ud800b", '"a\\\\ud800b"'),
    "bytes": (b"\x00\xff", '"AP8="'),
    "date": (date(2026, 1, 5), '"2026-01-05"'),
    "moment": (NOON, '"2026-01-05T12:00:00Z"'),
    "decimal": (Decimal("1.10"), "1.10"),
    "nested": ({"a": [1, (2, None)], 3: True}, '{"a":[1,[2,null]],"3":true}'),
    "odd keys": ({(1, "x"): 2**70, b"k": 1}, f'{{"[1,\\"x\\"]":{2**70},"\\"aw==\\"":1}}'),
    "many": (["x" * 50] * 100, json.dumps(["x" * 50] * 100, separators=(",", ":"))),
}


class Keeper(KeyedOperator):
    """Does what the record says, by its name in `DOES`."""

    value = ValueState(object)
    total = ValueState(int)
    seen = ListState(int)
    places = MapState(object, int)
    brief = ValueState(str, ttl="10s")
    daily = ValueState(str, ttl="1h", ttl_time="event")

    def process(self, key: str, record: Row, context: Context) -> None:
        DOES[record["do"]](self, context, key)


def keep(change: Callable[[Keeper, Context], Any]) -> Callable[[Keeper, Context, str], Any]:
    return lambda keeper, context, key: change(keeper, context)


DOES: dict[str, Callable[[Keeper, Context, str], Any]] = {
    "nothing": keep(lambda keeper, context: None),
    "value": lambda keeper, context, key: keeper.value.set(VALUES[key][0]),
    "count": keep(lambda keeper, context: keeper.total.update(lambda total: (total or 0) + 1)),
    "clear": keep(lambda keeper, context: keeper.total.clear()),
    "see": keep(lambda keeper, context: keeper.seen.append(len(keeper.seen) + 1)),
    "go": keep(lambda keeper, context: [keeper.places.put(at, 1) for at in ("home", 1, None, ("a", 1))]),
    "leave": keep(lambda keeper, context: keeper.places.remove("home")),
    "brief": keep(lambda keeper, context: keeper.brief.set("soon over")),
    "daily": keep(lambda keeper, context: keeper.daily.set("until the watermark")),
    "wake": keep(lambda keeper, context: [context.timers.at(NOON + timedelta(days=1)), context.timers.after("1m")]),
}

PIPELINE = """
name: kept
sources:
  orders:
    type: kafka
    topic: orders
    key: who
    schema: {who: string, do: string, at: timestamp}
    watermark: {column: at, delay: 0s}
operators:
  - {id: same, type: filter, where: who IS NOT NULL, from: orders}
  - {id: keeper, type: python, class: test_state_reader.Keeper, key: who, from: same}
sinks:
  out: {type: kafka, topic: out, from: keeper, format: json}
settings: {state: {backend: memory}, commit_records: 2, bulk_records: 3}
"""
Orders = list[tuple[str, str]]


@pytest.fixture
def kept(tmp_path: Path) -> Callable[..., PipelineHarness]:
    """`kept([("a", "count"), …])`: a pipeline to which this was sent, second by second."""

    def make(orders: Orders, **options: int) -> PipelineHarness:
        (tmp_path / "kept.yaml").write_text(PIPELINE)
        harness = PipelineHarness(tmp_path / "kept.yaml", **options)
        send(harness, orders)
        return harness

    return make


def send(harness: PipelineHarness, orders: Orders, later: float = 0) -> None:
    when = (NOON + timedelta(seconds=later + number) for number in range(len(orders)))
    harness.send("orders", [{"who": who, "do": do, "at": at} for (who, do), at in zip(orders, when, strict=True)])


def reader_of(harness: PipelineHarness, pipeline: str = "kept") -> StateReader:
    clients = MemoryClients(harness.broker)
    harness.broker.idle = harness.clock.wait  # so that a transaction that was left open ends by itself
    counts = {name: len(topic.logs) for name, topic in harness.broker.topics().items()}
    return StateReader(clients, stores_of(clients, counts, pipeline), lambda: round(harness.clock() * 1000))


def by_place(entries: Iterator[Entry]) -> dict[tuple[str, str, str | None], Any]:
    return {(entry.key_text, entry.state, entry.map_key): json.loads(entry.line())["value"] for entry in entries}


@pytest.mark.parametrize("key", VALUES)
def test_a_value_of_any_type(kept: Callable[..., PipelineHarness], key: str) -> None:
    harness = kept([(key, "value")])
    harness.run()
    (entry,) = reader_of(harness).scan("keeper")
    assert entry.columns()["value"] == VALUES[key][1]
    assert (entry.key, entry.state, entry.operator) == (key.encode(), "value", "keeper")


def test_lists_maps_timers_and_long_keys(kept: Callable[..., PipelineHarness]) -> None:
    harness = kept([("a", "see"), ("a", "see"), (LONG, "see"), (LONG, "go"), (LONG, "leave"), ("a", "wake")])
    began = datetime.fromtimestamp(harness.clock(), UTC)
    harness.run()
    found = by_place(reader_of(harness).scan("keeper"))
    timers = [found.pop(place) for place in list(found) if place[1] == "_timers"]
    assert found == {
        ("a", "seen", None): [1, 2],
        (LONG, "seen", None): [1],
        (LONG, "places", "1"): 1,
        (LONG, "places", "null"): 1,
        (LONG, "places", '["a",1]'): 1,
    }
    entries = list(reader_of(harness).scan("keeper", state="_timers"))
    event, processing = sorted((entry.value for entry in entries), key=lambda timer: str(timer["clock"]))
    assert len(timers) == 1  # both have the same place
    assert event == {"time": NOON + timedelta(days=1), "clock": "event"}
    assert processing["clock"] == "processing" and processing["time"] >= began + timedelta(minutes=1)


def test_what_is_deleted_or_expired_is_not_there(kept: Callable[..., PipelineHarness]) -> None:
    harness = kept([("a", "count"), ("b", "count"), ("a", "clear"), ("c", "brief"), ("c", "daily")])
    harness.run()
    reader = reader_of(harness)
    ends = {entry.state: entry.expires for entry in reader.scan("keeper") if entry.expires}
    assert ends["daily"] == NOON + timedelta(hours=1, seconds=4)
    assert list(by_place(reader.scan("keeper"))) == [("c", "brief", None), ("c", "daily", None), ("b", "total", None)]
    harness.clock.wait(11)  # the job is at rest: only the reader's clock goes on
    assert list(by_place(reader.scan("keeper"))) == [("c", "daily", None), ("b", "total", None)]
    harness.clock.wait(7200)  # event time does not pass by itself
    assert ("c", "daily", None) in by_place(reader.scan("keeper"))
    send(harness, [("x", "nothing")], later=7200)
    harness.run()
    assert list(by_place(reader.scan("keeper"))) == [("b", "total", None)]


def test_one_key_is_found_where_it_belongs(kept: Callable[..., PipelineHarness]) -> None:
    """Only that partition is read; a key that somebody put elsewhere is found too."""
    keys = [f"k{number}" for number in range(20)]
    harness = kept([(key, "count") for key in keys], partitions=4)
    harness.run()
    reader = reader_of(harness)
    faults = reader._clients.faults  # type: ignore[attr-defined]
    for key in keys:
        faults.points.clear()
        found = reader.get("keeper", key.encode())
        assert found is not None
        lp, (entry,) = found
        assert (entry.value, entry.lp) == (1, lp.lp)
        assert faults.points.count("consumer.assign") == 1
        assert list(lp.positions) == [("orders", lp.lp)]
    assert reader.get("keeper", b"nobody") is None
    whose = next(entry.lp for entry in reader.scan("keeper") if entry.key == b"k1")
    elsewhere = MemoryClients(harness.broker).producer()
    elsewhere.produce("orders", b'{"who": "odd", "do": "count", "at": "2026-01-05T12:00:00Z"}', b"odd", whose)
    harness.run()
    found = reader.get("keeper", b"odd")
    assert found is not None and found[0].lp == whose


def test_an_overview(kept: Callable[..., PipelineHarness]) -> None:
    harness = kept([(key, do) for key in ("a", "b", "d") for do in ("count", "see", "go", "wake")], partitions=2)
    harness.run()
    (kept_,) = reader_of(harness).overview()
    assert (kept_.component, kept_.operator, kept_.lps) == ("same", "keeper", 2)
    assert kept_.states == {"places": "map", "seen": "list", "total": "value"}
    assert (kept_.keys, kept_.entries, kept_.timers) == (3, 3 * 8, 6)
    assert kept_.size == sum(entry.size for entry in reader_of(harness).scan("keeper")) > 0


def test_after_a_crash_at_any_point_state_and_positions_fit(kept: Callable[..., PipelineHarness]) -> None:
    orders = [(key, "count") for key in "abaabbab"]
    undisturbed = kept(orders)
    undisturbed.run()
    seen = set()
    for point in range(1, len(undisturbed.faults.points) + 1):
        harness = kept(orders)
        harness.crash_at(point)
        with pytest.raises(Crash):
            harness.run()
        try:
            found = [reader_of(harness).get("keeper", key.encode()) for key in "ab"]
        except WorldError as error:  # it died before it was registered, or before its first commit
            seen.add(error.code)
            continue
        for key, of_key in zip("ab", found, strict=True):
            assert of_key is not None
            lp, (entry,) = of_key
            done = lp.positions["orders", 0]
            assert entry.value == sum(who == key for who, _ in orders[:done])
            seen.add(done)
    assert seen == {"state-pipeline", "state-operator", 3, 6, 8}


def test_who_is_not_there(kept: Callable[..., PipelineHarness]) -> None:
    harness = kept([("a", "count")])
    harness.run()
    with pytest.raises(WorldError, match="no pipeline 'other' has run on this broker"):
        reader_of(harness, "other")
    with pytest.raises(WorldError, match=r"no operator 'keper' of pipeline 'kept' keeps state in tasks.*'keeper'"):
        next(reader_of(harness).scan("keper"))


def test_a_reader_does_not_run_after_a_writer(kept: Callable[..., PipelineHarness]) -> None:
    """What is committed while it reads is left to the next one."""
    harness = kept([("a", "count")] * 5)
    harness.run()
    reader = reader_of(harness)
    (log,) = reader.stores.changelogs
    end = harness.broker.topics()[log.topic].logs[0].end
    consumer_of = reader._clients.consumer

    def consumer(**config: Any) -> Any:
        made = consumer_of(**config)
        poll = made.poll

        def poll_while_it_runs(timeout: float) -> Any:
            if made._fetches[log.topic, 0].offset < end:
                send(harness, [("a", "count")])
                harness.run()
            return poll(timeout)

        made.poll = poll_while_it_runs
        return made

    reader._clients.consumer = consumer  # type: ignore[method-assign]
    lp, (entry,) = reader.get("keeper", b"a") or (None, ())
    assert lp is not None and (entry.value, lp.positions["orders", 0]) == (5, 5)
