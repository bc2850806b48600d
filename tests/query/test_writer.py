from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from spark_on_paper import DEAD, LEDGER, SCHEMA, TOPICS, Driver, InTurn, Paper, Worker, arrow

from whorl.formats.options import JsonFormat, TextFormat
from whorl.plan import naming
from whorl.query.writer import Tally, WriteOrder
from whorl.schema import Schema
from whorl.testing import Faults
from whorl.testing.memory import ABORTABLE, QUEUE_FULL

HEADERS = pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))
FULL = pa.schema([*SCHEMA, ("timestamp", pa.int64()), ("headers", HEADERS)])


@pytest.fixture(autouse=True)
def one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whorl.query.ledger.ThreadPoolExecutor", InTurn)


@pytest.fixture
def paper() -> Paper:
    return Paper()


def started(paper: Paper, faults: Faults | None = None) -> tuple[Worker, WriteOrder]:
    driver = Driver(paper, [paper.worker(faults)])
    driver.start()
    paper.offer(0)
    return driver.workers[0], driver.order(0)


def batch(*rows: dict[str, Any], schema: pa.Schema = FULL) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"output": 0, **row} for row in rows], schema)


def test_a_row_becomes_a_record(paper):
    worker, order = started(paper)
    headers = [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    row = {"output": 1, "partition": 1, "key": b"k", "value": b"v", "timestamp": 1234, "headers": headers}
    outcome = worker.write([batch(row)], order, 4)
    (entry,) = paper.broker.records("side")
    assert (entry.partition, entry.key, entry.value, entry.timestamp) == (1, b"k", b"v", 1234)
    assert entry.headers == (("h", b"1"), ("h", None))
    assert (outcome.writer, outcome.how, outcome.count) == ("4", "written", 1) and outcome.bytes > 0


def test_nulls(paper):
    """No key, a tombstone, a partition by the key's hash, the time of writing, no headers; in one batch with rows that have all of them."""
    worker, order = started(paper)
    full = {"partition": 0, "key": b"k", "value": b"v", "timestamp": 5, "headers": [{"key": "h", "value": b"1"}]}
    by_key = {"key": b"k", "value": None}
    worker.write([batch(full, by_key, {"value": b"alone"}, {**full, "headers": []})], order, 0)
    found = paper.broker.records("out")
    assert sorted((e.key or b"", e.value or b"") for e in found) == [
        (b"", b"alone"),
        (b"k", b""),
        (b"k", b"v"),
        (b"k", b"v"),
    ]
    tombstone = next(entry for entry in found if entry.value is None and entry.key)
    assert tombstone.timestamp == paper.broker.now() and tombstone.headers == ()
    assert [entry.headers for entry in found if entry.timestamp == 5] == [(("h", b"1"),), ()]


def test_a_column_of_nulls_only_and_columns_that_are_not_there(paper):
    worker, order = started(paper)
    worker.write([batch({"value": b"1"}, {"value": b"2"})], order, 0)
    worker.write([batch({"value": b"3"}, {"value": b"4"}, schema=SCHEMA)], order, 1)
    narrow = pa.schema([field for field in SCHEMA if field.name != "partition"])
    worker.write([batch({"value": b"5"}, schema=narrow)], order, 2)
    assert sorted(entry.value for entry in paper.broker.records("out")) == [b"1", b"2", b"3", b"4", b"5"]


def test_a_partition_without_rows_writes_nothing(paper):
    worker, order = started(paper)
    assert worker.write([], order, 0).how == "nothing"
    assert worker.write(arrow(((), ())), order, 1).how == "nothing"
    assert worker.faults.points == [], "no producer, no seat"


def test_rows_are_read_to_their_end_in_every_case(paper):
    worker, order = started(paper)
    drained = []

    def rows():
        yield from arrow((("a0",), ("a1",)))
        drained.append(True)

    worker.write(rows(), order, 0)
    again = Driver(paper)
    again.start()
    assert again.workers[0].write(rows(), again.order(0), 0).how == "already"
    assert len(drained) == 2


def test_an_attempt_after_the_first_touches_nothing(paper):
    worker, order = started(paper)
    outcome = worker.write(arrow((("a0",),)), order, 0, attempt=1)
    assert (outcome.how, worker.faults.points) == ("doubt", [])


def test_the_second_action_of_a_batch_has_writers_of_its_own(paper):
    worker, order = started(paper)
    worker.write(arrow((("a0",),)), order, 0)
    worker.write(arrow((("a1",), ("a2",))), replace(order, names=("dead 0",)), 0)
    again = Driver(paper)
    again.start()
    assert {name: each.count for name, each in again.order(0).written.items()} == {"0": 1, "dead 0": 2}


def test_a_writer_is_known_by_its_name_whatever_number_spark_gives_it(paper):
    """A repeated batch over two partitions of Kafka comes in another order."""
    worker, order = started(paper)
    assert worker.write(arrow((("a0",),)), replace(order, names=("t-1", "t-0")), 0).writer == "t-1"
    again = Driver(paper)
    again.start()
    order = replace(again.order(0), names=("t-0", "t-1"))
    outcomes = [again.workers[0].write(arrow((of,)), order, n) for n, of in enumerate([("b0",), ("a0",)])]
    assert [outcome.how for outcome in outcomes] == ["written", "already"]


def test_a_writer_that_has_nothing_any_more_is_reported(paper):
    worker, order = started(paper)
    worker.write(arrow((("a0",),)), order, 0)
    again = Driver(paper)
    again.start()
    outcome = again.workers[0].write([], again.order(0), 0)
    assert outcome.how == "differs" and "1 rows" in outcome.detail and "now 0" in outcome.detail


@pytest.mark.parametrize("schema", [SCHEMA, FULL])
def test_a_record_too_large_for_its_topic_is_a_dead_letter(paper, schema):
    worker, order = started(paper)
    order = replace(order, limits={**order.limits, "out": 5000})
    large = {"partition": 0, "key": b"k", "value": b"x" * 6000}
    outcome = worker.write(
        [batch({"partition": 0, "value": b"1"}, large, {"partition": 0, "value": b"2"}, schema=schema)], order, 0
    )
    assert (outcome.how, outcome.count) == ("written", 3)
    assert [entry.value for entry in paper.broker.records("out")] == [b"1", b"2"]
    (dead,) = paper.broker.records(DEAD)
    headers = dict(dead.headers)
    assert (dead.key, dead.value, headers[naming.DEAD_OPERATOR]) == (b"k", b"x" * 6000, b"out")
    assert headers[naming.DEAD_ERROR] == b"6513 bytes are too large for topic 'out' (max.message.bytes 5000)"


def test_a_dead_letter_too_large_for_its_own_topic_is_cut(paper):
    worker, order = started(paper)
    worker.write([batch({"value": b"x" * 200_000}, {"value": b"y"})], order, 0)
    (dead,) = paper.broker.records(DEAD)
    assert len(dead.value) == 64 << 10 and dict(dead.headers)[naming.DEAD_TRUNCATED] == b"200000"
    assert [entry.value for entry in paper.broker.records("out")] == [b"y"]


def test_headers_count_for_the_size(paper):
    worker, order = started(paper)
    worker.write([batch({"value": b"v", "headers": [{"key": "h", "value": b"x" * 100_000}]})], order, 0)
    assert len(paper.broker.records(DEAD)) == 1 and paper.broker.records("out") == []


def test_a_full_queue_is_waited_for():
    undisturbed, order = started(Paper())
    undisturbed.write(arrow((("a0", "a2"),)), order, 0)
    produced = [k for k, point in enumerate(undisturbed.faults.points, 1) if point == "producer.produce"]
    assert len(produced) == 4, "a seat's note, two rows, the ledger's record"
    for k in produced:
        paper = Paper()
        worker, order = started(paper, Faults(fail={k: QUEUE_FULL}))
        assert worker.write(arrow((("a0", "a2"),)), order, 0).how == "written"
        assert worker.faults.points.count("producer.produce") == 5
        assert paper.written()["out", 0] == ["a0", "a2"]


def test_an_aborted_transaction_fails_the_attempt_and_the_seat_is_left(paper):
    worker, order = started(paper)
    worker.write(arrow((("a0",),)), order, 0)
    worker.faults._fail = {"producer.commit_transaction": ABORTABLE}
    with pytest.raises(Exception, match="The server encountered an error"):
        worker.write(arrow((("a2",),)), order, 1)
    assert paper.written()["out", 0] == ["a0"]
    worker.write(arrow((("a3",),)), order, 2)
    assert worker.faults.points.count("producer.init_transactions") == 2
    assert paper.written()["out", 0] == ["a0", "a3"]


def test_the_ledgers_record_is_in_the_same_transaction_and_the_last(paper):
    worker, order = started(paper)
    worker.write(arrow((("a0",), ("a1",))), order, 0)
    owner = {entry.producer_id for topic in ("out", "side", LEDGER) for entry in paper.broker.records(topic)[-1:]}
    assert len(owner) == 1
    points = worker.faults.points[worker.faults.points.index("consumer.close") :]
    assert points.count("producer.begin_transaction") == points.count("producer.commit_transaction") == 1
    assert points.index("producer.commit_transaction") > max(
        i for i, point in enumerate(points) if point == "producer.produce"
    )


ROWS = [(b"k%d" % (i % 3) if i % 4 else None, b"value %d" % i * (i % 5) if i % 7 else None) for i in range(40)]


def table(rows: list[tuple[bytes | None, bytes | None]]) -> pa.RecordBatch:
    keys, values = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays([pa.array(keys, pa.binary()), pa.array(values, pa.binary())], ["key", "value"])


def tallied(*batches: pa.RecordBatch) -> tuple[int, int]:
    tally = Tally()
    for each in batches:
        tally.add(each)
    return tally.count, tally.checksum


@pytest.mark.parametrize("ends", [(0, 40), (0, 1, 40), (0, 7, 7, 8, 25, 40), tuple(range(41))])
def test_a_checksum_does_not_depend_on_where_arrows_batches_end(ends):
    whole = table(ROWS)
    slices = [whole.slice(start, end - start) for start, end in pairwise(ends)]
    copies = [table(ROWS[start:end]) for start, end in pairwise(ends) if start < end]
    assert tallied(*slices) == tallied(*copies) == tallied(whole)


def test_a_checksum_does_not_depend_on_the_order_of_rows():
    """A shuffle may bring them in another order when a batch is repeated."""
    assert tallied(table(ROWS[::-1])) == tallied(table(ROWS))


@pytest.mark.parametrize(
    "rows",
    [
        ROWS[:-1],
        [*ROWS, (None, None)],
        [*ROWS[:-1], (ROWS[-1][0], b"value 38")],
        [*ROWS[:-1], (b"k9", ROWS[-1][1])],
        [(value, key) for key, value in ROWS],
    ],
)
def test_a_checksum_tells_other_rows_apart(rows):
    assert tallied(table(rows)) != tallied(table(ROWS))


def test_columns_of_nulls_have_a_checksum_too():
    assert tallied(table([(None, None)] * 3)) == tallied(*[table([(None, None)])] * 3)


CODECS = {"s": (JsonFormat(), Schema.of({"n": "long"})), "t": (TextFormat(), None)}
PLAIN = b"ValueError: the value is not what it should be"


def letter(operator: str, value: bytes | None, *own: dict[str, Any]) -> dict[str, Any]:
    said = {naming.DEAD_OPERATOR: operator.encode(), naming.DEAD_ERROR: PLAIN, naming.DEAD_TOPIC: b"in"}
    headers = [*own, *({"key": name, "value": data} for name, data in said.items())]
    return {"output": TOPICS.index(DEAD), "value": value, "timestamp": 5, "headers": headers}


@pytest.mark.parametrize(
    ("operator", "value", "words"),
    [
        ("s", b"no", b"ValueError: the value is not JSON"),
        ("s", b"[1]", b"ValueError: the value is JSON but not an object"),
        ("s", b'{"n": "many"}', b"ValueError: column 'n'"),
        ("s", None, b"ValueError: the record has no value (a tombstone)"),
        ("s", b'{"n": 1}', PLAIN),
        ("t", b"\xff", b"ValueError: the value is not UTF-8"),
        ("a step", b"no", PLAIN),
    ],
)
def test_the_writer_finds_out_why_a_record_is_no_row(paper, operator, value, words):
    worker, order = started(paper)
    older = {"key": naming.DEAD_ERROR, "value": b"of another day"}
    worker.write([batch({"value": b"1"}, letter(operator, value, older))], replace(order, readers=CODECS), 0)
    (dead,) = paper.broker.records(DEAD)
    assert (dead.value, dead.headers[0]) == (value, (naming.DEAD_ERROR, b"of another day"))
    assert dict(dead.headers)[naming.DEAD_ERROR].startswith(words)
    assert dict(dead.headers)[naming.DEAD_TOPIC] == b"in"
