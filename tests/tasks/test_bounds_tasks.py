"""A pipeline whose operator keeps so many keys at most: each logical partition its share, the same ones whatever crashes."""

from __future__ import annotations

from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import pytest
from helpers_crashes import after_each_crash

from whorl import Context, KeyedOperator, Row
from whorl.config.loader import load
from whorl.errors import CheckFailed
from whorl.flow.check import checked
from whorl.operators.registry import OPERATORS
from whorl.plan.planner import make_plan
from whorl.testing import PipelineHarness

PIPELINE = """
name: bounded
sources:
  in: {type: kafka, topic: in, key: k, schema: {k: string}}
operators:
  - {id: seen, type: count, key: k, max_keys: 4, evict: oldest, publish: shown}
sinks:
  out: {type: kafka, topic: out, from: seen}
settings: {state: {backend: memory}, commit_records: 8, bulk_records: 5}
"""
KEYS = "abcdefgabababcdefgah"


def prepared(folder: Path) -> PipelineHarness:
    file = folder / "bounded.yaml"
    file.write_text(PIPELINE)
    harness = PipelineHarness(file, partitions=2)
    harness.send("in", [{"k": key} for key in KEYS])
    return harness


def expected(harness: PipelineHarness) -> tuple[Counter[tuple[str, int]], set[str]]:
    """The rows, and the keys that are left, where each of two partitions keeps two keys."""
    rows, partitions = Counter[tuple[str, int]](), (OrderedDict[str, int](), OrderedDict[str, int]())
    for record in harness.broker.records("in"):
        kept, key = partitions[record.partition], record.key.decode()
        kept[key] = kept.get(key, 0) + 1
        kept.move_to_end(key)
        rows[key, kept[key]] += 1
        if len(kept) > 2:
            kept.popitem(last=False)
    return rows, {key for kept in partitions for key in kept}


def found(harness: PipelineHarness) -> tuple[Counter[Any], set[str]]:
    rows = Counter((row["k"], row["count"]) for row in harness.sink("out") if row)
    shown = {record.key.decode(): record.value for record in harness.broker.records("shown")}
    return rows, {key for key, value in shown.items() if value is not None}


def test_each_logical_partition_keeps_its_share(tmp_path: Path) -> None:
    harness = prepared(tmp_path)
    harness.run()
    assert found(harness) == expected(harness)
    assert len(found(harness)[1]) == 4
    harness.send("in", [{"k": key} for key in "xyza"])
    harness.run()
    assert found(harness) == expected(harness)


def test_a_crash_at_any_call_to_kafka(tmp_path: Path) -> None:
    undisturbed = prepared(tmp_path)
    undisturbed.run()
    for point, harness in after_each_crash(undisturbed.faults.points, lambda _: prepared(tmp_path)):
        assert found(harness) == expected(harness), point


class Keeper(KeyedOperator):
    def process(self, key: str, record: Row, context: Context) -> None:
        context.emit(record)


LIMITED = {
    "count": "key: k",
    "sum": "key: k, of: n",
    "min": "key: k, of: n",
    "max": "key: k, of: n",
    "average": "key: k, of: n",
    "reduce": "key: k, init: 0, with: acc + n, as: n",
    "latest": "key: k",
    "limit": "key: k, rows: 3",
    "deduplicate": "message_id: k",
    "python": "class: test_bounds_tasks.Keeper, key: k, returns: {k: string, n: long}",
}


def test_all_that_have_limits_are_listed() -> None:
    assert set(LIMITED) == {name for name, kind in OPERATORS.items() if "max_keys" in kind.Options.model_fields}


@pytest.mark.parametrize("limit", ["max_keys: 4", "max_bytes: 1MB"])
@pytest.mark.parametrize("type", LIMITED)
def test_it_is_of_tasks(tmp_path: Path, type: str, limit: str) -> None:
    """Without a limit each runs in a query, too."""
    source = "in: {type: kafka, topic: in, key: k, schema: {k: string, n: long}}"
    (tmp_path / "p.yaml").write_text(f"""
name: limited
sources: {{{source}}}
operators:
  - {{id: it, type: {type}, {LIMITED[type]}, host: query, {limit}}}
sinks: {{out: {{type: kafka, topic: out}}}}
""")
    with pytest.raises(CheckFailed, match="cannot run in a query") as refused:
        checked(load(tmp_path / "p.yaml"))
    assert len(refused.value.findings) == 1
    (tmp_path / "p.yaml").write_text((tmp_path / "p.yaml").read_text().replace(f", {limit}", ""))
    assert make_plan(checked(loaded := load(tmp_path / "p.yaml")), loaded.settings).queries
