"""A pipeline whose operator keeps so many keys at most: each logical partition its share, the same ones whatever crashes."""

from __future__ import annotations

from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import pytest
from helpers_crashes import after_each_crash

from whorl.errors import CheckFailed
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


def test_it_is_of_tasks(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PIPELINE.replace("max_keys: 4", "max_keys: 4, host: query"))
    with pytest.raises(CheckFailed, match="cannot run in a query"):
        PipelineHarness(tmp_path / "p.yaml")
