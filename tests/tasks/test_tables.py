"""Tables: topics of which operators with state look up the last row of their key, read to the end before any stream is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers_crashes import after_each_crash

from whorl import Context, KeyedOperator, Row
from whorl.errors import CheckFailed
from whorl.tasks.signals import Figures, Orders
from whorl.testing import Given, PipelineHarness

PIPELINE = """
name: looking
sources:
  orders: {{type: kafka, topic: orders, key: {key}, schema: {{id: string, customer: string}}}}
tables:
  customers: {{topic: customers, key: customer, schema: {{customer: string, city: string}}}}
operators:
  - {{id: enrich, type: python, class: test_tables.Enrich, key: customer, from: [orders, customers]}}
sinks:
  out: {{type: kafka, topic: out, from: enrich}}
settings: {{state: {{backend: memory}}, commit_records: 2, bulk_records: 3}}
"""


class Enrich(KeyedOperator):
    def process(self, key: str, record: Row, context: Context) -> None:
        row = context.table("customers")
        context.emit({"id": record["id"], "city": row and row["city"]})


def prepared(folder: Path, key: str = "customer", text: str = "") -> PipelineHarness:
    file = folder / "looking.yaml"
    file.write_text(text or PIPELINE.format(key=key))
    harness = PipelineHarness(file)
    # The stream first: it waits all the same.
    harness.send("orders", [{"id": f"o{n}", "customer": "abc"[n % 3]} for n in range(9)])
    harness.send("customers", [{"customer": "a", "city": "old"}, {"customer": "b", "city": "Bern"}])
    harness.send("customers", [{"customer": "a", "city": "Ulm"}, {"customer": "c", "city": "gone"}])
    harness.send("customers", [Given(None, key="c")])
    return harness


EXPECTED = {f"o{n}": ("Ulm", "Bern", None)[n % 3] for n in range(9)}


def written(harness: PipelineHarness) -> list[tuple[Any, Any]]:
    return sorted((row["id"], row["city"]) for row in harness.sink("out") if row)


JOINED = {
    "inner": [f"o{n}" for n in range(9) if n % 3 < 2],
    "left": [f"o{n}" for n in range(9)],
    "semi": [f"o{n}" for n in range(9) if n % 3 < 2],
}


@pytest.mark.parametrize("kind", JOINED)
def test_a_join_needs_no_code(tmp_path: Path, kind: str) -> None:
    join = f"{{id: enrich, type: join, kind: {kind}, on: customer, from: [orders, customers]}}"
    text = PIPELINE.format(key="id")
    harness = prepared(
        tmp_path, text="\n".join(f"  - {join}" if "enrich, type" in line else line for line in text.splitlines())
    )
    harness.run()
    found = {row["id"]: row for row in harness.sink("out") if row}
    assert sorted(found) == JOINED[kind]
    rows = [{"id": id, "customer": "abc"[int(id[1:]) % 3]} for id in sorted(found)]
    assert [found[id] for id in sorted(found)] == [
        row if kind == "semi" else {**row, "city": EXPECTED[row["id"]]} for row in rows
    ]


@pytest.mark.parametrize(
    ("join", "words"),
    [
        ("{id: enrich, type: join, on: customer, from: [customers, orders]}", "in this order"),
        (
            "{id: enrich, type: join, on: customer, kind: full, from: [orders, customers]}",
            "'kind' does not go with a table",
        ),
        (
            "{id: enrich, type: join, on: orders.id = 1, from: [orders, customers]}",
            "found by its key, not by a condition",
        ),
    ],
)
def test_what_a_join_with_a_table_cannot_do(tmp_path: Path, join: str, words: str) -> None:
    text = PIPELINE.format(key="id")
    text = "\n".join(f"  - {join}" if "enrich, type" in line else line for line in text.splitlines())
    with pytest.raises(CheckFailed, match=words):
        prepared(tmp_path, text=text)


@pytest.mark.parametrize("key", ["customer", "id"])
def test_the_table_is_read_before_the_stream(tmp_path: Path, key: str) -> None:
    """Also where the stream has another key and is sorted by a topic of its own."""
    harness = prepared(tmp_path, key)
    harness.run()
    assert written(harness) == sorted(EXPECTED.items())
    harness.send("customers", [{"customer": "c", "city": "Rom"}])
    harness.send("orders", [{"id": "p", "customer": "c"}])
    harness.run()
    assert ("p", "Rom") in written(harness)


PUBLISHING = """
name: publishing
sources:
  moves: {type: kafka, topic: moves, key: customer, schema: {customer: string, city: string}}
operators:
  - {id: home, type: latest, from: moves, publish: customers}
  - {id: moved, type: count, key: customer, from: moves, ttl: 1h, publish: counted}
sinks:
  homes: {type: kafka, topic: homes, from: home}
  out: {type: kafka, topic: moved, from: moved}
settings: {state: {backend: memory}, commit_records: 2, bulk_records: 3}
"""


def test_what_one_pipeline_publishes_is_the_table_of_another(tmp_path: Path) -> None:
    file = tmp_path / "publishing.yaml"
    file.write_text(PUBLISHING)
    first = PipelineHarness(file)
    moves = [("a", "old"), ("b", "Bern"), ("a", "Ulm"), ("a", "Ulm")]
    first.send("moves", [{"customer": who, "city": city} for who, city in moves])
    first.run()
    counted = {entry.key: entry.value for entry in first.broker.records("counted")}
    assert counted == {b"a": b'{"count":3}', b"b": b'{"count":1}'}
    looking = tmp_path / "looking.yaml"
    looking.write_text(PIPELINE.format(key="customer"))
    second = PipelineHarness(looking, first.broker)
    second.send("orders", [{"id": who, "customer": who} for who in "abc"])
    second.run()
    assert written(second) == [("a", "Ulm"), ("b", "Bern"), ("c", None)]


def test_a_crash_at_any_point(tmp_path: Path) -> None:
    undisturbed = prepared(tmp_path)
    undisturbed.run()
    for point, harness in after_each_crash(undisturbed.faults.points, lambda _: prepared(tmp_path)):
        assert written(harness) == sorted(EXPECTED.items()), point


def test_how_much_was_read_before_the_first_record(tmp_path: Path) -> None:
    harness = prepared(tmp_path)

    def readings() -> dict[str, Any]:
        process, orders, figures = harness.process(), Orders(), Figures()

        def look(timeout: float) -> None:
            harness.clock.wait(timeout)
            orders.stopping = figures.committed == harness.ground().ends(harness.plan.components[0])

        harness.broker.idle = look
        with harness.user_code():
            process.start()
            process.task(harness.plan.components[0], 0, orders, figures).run()
        told = figures.snapshot()["readings"]
        assert all(reading["over"] and reading["read"] == reading["total"] for reading in told.values())
        return {what: reading["records"] for what, reading in told.items()}

    first, again = readings(), readings()
    assert first == {"state": 1, "tables": 5}, "the record of positions, and all of the table"
    assert again["tables"] == 0 and again["state"] > 5
