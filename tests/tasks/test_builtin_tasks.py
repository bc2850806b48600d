"""The operators with state that need no code, in tasks: by the key of their topic, by another, and on text without any option."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from whorl.testing import Given, PipelineHarness

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SOURCE = """
name: built_in
sources:
  payments:
    type: kafka
    topic: payments
    key: {key}
    schema: {{account: string, id: string, amount: long, at: timestamp}}
    watermark: {{column: at, delay: 0s}}
operators:
  - {{id: it, from: payments, {operator}}}
sinks:
  out: {{type: kafka, topic: out, from: it, format: json}}
settings: {{commit_records: 2, bulk_records: 3}}
"""
ROWS = [("a", "1", 5, 0), ("b", "2", 7, 1), ("a", "1", 5, 2), ("a", "3", 2, 20), ("b", "4", 1, 60)]
VISIT = {"account": "a", "session_start": NOON, "session_end": NOON + timedelta(minutes=2), "count": 2}


def ran(folder: Path, operator: str, key: str) -> PipelineHarness:
    (folder / "p.yaml").write_text(SOURCE.format(operator=operator, key=key))
    harness = PipelineHarness(folder / "p.yaml")
    rows = [{"account": a, "id": i, "amount": n, "at": NOON + timedelta(minutes=minutes)} for a, i, n, minutes in ROWS]
    harness.send("payments", rows)
    harness.run()
    assert harness.dead() == []
    return harness


@pytest.mark.parametrize("key", ["account", "id"])
@pytest.mark.parametrize(
    ("operator", "column", "values"),
    [
        ("type: count, key: account", "count", [1, 1, 2, 3, 2]),
        ("type: sum, key: account, of: amount, as: spent", "spent", [5, 7, 10, 12, 8]),
        ("type: min, key: account, of: amount", "min", [5, 7, 5, 2, 1]),
        ("type: reduce, key: account, init: 1, with: acc * amount, as: product", "product", [5, 7, 25, 50, 7]),
        ("type: average, key: account, of: amount, window: 10m, time: at", "average", [5.0, 7.0, 5.0, 2.0, 1.0]),
        ("type: latest, key: account, time: at", "id", ["1", "2", "1", "3", "4"]),
        ("type: deduplicate, message_id: id, ttl: 1h", "id", ["1", "2", "3", "4"]),
        ("type: sessionize, key: account, gap: 10m, time: at", "count", [1, 2, 1]),
    ],
)
def test_by_columns(tmp_path: Path, operator: str, column: str, values: list[Any], key: str) -> None:
    rows = ran(tmp_path, operator, key).sink("out")
    assert sorted(row[column] for row in rows if row) == sorted(values)
    if "sessionize" in operator:
        assert VISIT in rows


SHORT = "- {{id: it, type: {type}, to: [sink]}}\n"


@pytest.mark.parametrize(
    ("type", "values"),
    [
        ("count", ["1", "1", "2"]),
        ("min", ["3", "5", "2.5"]),
        ("max", ["3", "5", "3"]),
        ("average", ["3.0", "5.0", "2.75"]),
        ("latest", ["3", "5", "2.5"]),
    ],
)
def test_text_in_and_text_out_by_the_records_own_key(tmp_path: Path, type: str, values: list[str]) -> None:
    (tmp_path / "config.yaml").write_text("source_topic: in\nsink_topic: out\n")
    (tmp_path / "p.yaml").write_text(SHORT.format(type=type))
    harness = PipelineHarness(tmp_path / "p.yaml")
    records = [Given("3", key="a"), Given("5", key="b"), Given("2.5", key="a")]
    harness.send("source", records)
    harness.run()
    written = [(str(record.key, "utf-8"), str(record.value, "utf-8")) for record in harness.records("sink")]
    assert written == list(zip("aba", values, strict=True))


FOLDS = [
    ("type: count", "count", [1, 2, 3, 1]),
    ("type: sum, of: n, as: spent", "spent", [5, 7, 10, 4]),
    ("type: max, of: n", "max", [5, 5, 5, 4]),
    ("type: average, of: n", "average", [5.0, 3.5, 10 / 3, 4.0]),
    ("type: reduce, init: 0, with: acc + n, as: level", "level", [5, 7, 10, 4]),
]


@pytest.mark.parametrize(("before", "after"), [(", ttl: 10m", ""), ("", ", ttl: 10m"), (", ttl: 10m", ", ttl: 1h")])
@pytest.mark.parametrize(("operator", "column", "values"), FOLDS)
def test_another_ttl_finds_what_was_kept_before(
    tmp_path: Path, operator: str, column: str, values: list[Any], before: str, after: str
) -> None:
    """What was written with a time to live still ends by it; what was written without does not."""
    first = _with_ttl(tmp_path, operator + before, PipelineHarness)
    first.send("in", [{"k": "a", "n": 5}, {"k": "b", "n": 5}])
    first.run()
    second = _with_ttl(tmp_path, operator + after, lambda file: PipelineHarness(file, first.broker))
    second.clock.now = first.clock.now
    second.send("in", [{"k": "a", "n": 2}])
    second.run()
    second.clock.wait(5 * 60)
    second.send("in", [{"k": "a", "n": 3}])
    second.run()
    second.clock.wait(6 * 60)
    second.send("in", [{"k": "b", "n": 4}])
    second.run()
    assert second.dead() == []
    *of_a, of_b = [row[column] for row in second.sink("out") if row and row["k"] in "ab"]
    assert of_a == [values[0], values[0], *values[1:3]]
    assert (of_b == values[3]) == bool(before)


def _with_ttl(folder: Path, operator: str, make: Callable[[Path], PipelineHarness]) -> PipelineHarness:
    (folder / "p.yaml").write_text(f"""
name: lasting
sources: {{in: {{type: kafka, topic: in, key: k, schema: {{k: string, n: long}}}}}}
operators: [{{id: it, key: k, {operator}}}]
sinks: {{out: {{type: kafka, topic: out}}}}
settings: {{state: {{backend: memory}}}}
""")
    return make(folder / "p.yaml")
