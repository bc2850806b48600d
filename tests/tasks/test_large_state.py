"""State that is too large for its topic: one record fails, or the run ends, and either says whose it is."""

from __future__ import annotations

import shutil
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from helpers_crashes import after_each_crash

from whorl import Context, KeyedOperator, ListState, OperatorFailed, PipelineError, Row, ValueState
from whorl.kafka.reading import read_bulks_on
from whorl.state.partition import LpState
from whorl.testing import PipelineHarness

MB = 1 << 20
PIPELINE = """
name: large
sources:
  in: {{type: kafka, topic: in, key: who, schema: {{who: string, n: long}}}}
operators:
  - {{id: it, type: python, class: test_large_state.{operator}, key: who, {options}}}
sinks:
  out: {{type: kafka, topic: out}}
settings: {{state: {{backend: memory}}, bulk_records: 2, commit_records: 2}}
"""


@cache
def noise(bytes: int) -> bytes:
    """Nothing makes it smaller."""
    return Random(1).randbytes(bytes)


class Blob(KeyedOperator):
    """Keeps as many bytes as it is told."""

    blob = ValueState(bytes)

    def process(self, key: str, record: Row, context: Context) -> None:
        before = self.blob.get(b"")
        self.blob.set(noise(record["n"]))
        context.emit({"who": key, "before": len(before), "n": record["n"]})


class Growing(KeyedOperator):
    blobs = ListState(bytes)

    def process(self, key: str, record: Row, context: Context) -> None:
        self.blobs.append(noise(record["n"]))
        context.emit({"who": key, "n": sum(map(len, self.blobs.get()))})


class LateBlob(KeyedOperator):
    blob = ValueState(bytes)

    def process(self, key: str, record: Row, context: Context) -> None:
        context.timers.after("1m")

    def on_timer(self, key: str, time: Any, context: Context) -> None:
        self.blob.set(noise(9 * MB))
        context.emit({"who": key})


def fed(folder: Path, rows: list[tuple[str, int]], operator: str = "Blob", options: str = "ttl: 1h") -> PipelineHarness:
    file = folder / "large.yaml"
    file.write_text(PIPELINE.format(operator=operator, options=options))
    harness = PipelineHarness(file)
    harness.send("in", [{"who": who, "n": n} for who, n in rows])
    return harness


SENT = [("a", 1), ("b", 3 * MB), ("a", 9 * MB), ("c", 5), ("a", 2), ("b", 4)]
EXPECTED = [("a", 0, 1), ("b", 0, 3 * MB), ("c", 0, 5), ("a", 1, 2), ("b", 3 * MB, 4)]


def written(harness: PipelineHarness) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in harness.sink("out") if row]


def test_what_is_as_large_as_other_topics_take_is_kept_and_what_is_larger_fails_its_record(tmp_path: Path) -> None:
    harness = fed(tmp_path, SENT)
    harness.run()
    assert written(harness) == EXPECTED
    (dead,) = harness.dead()
    assert (dead.operator, dead.offset) == ("it", 2)
    for words in ("state 'blob' of operator 'it'", "key b'a'", "9,437,", "8,388,608", "MapState"):
        assert words in dead.error


def test_a_crash_at_any_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whorl.testing.ground.LARGEST", {"max.message.bytes": "50000"})
    sent = [("a", 1), ("b", 90_000), ("a", 2), ("c", 30_000), ("b", 3)]
    undisturbed = fed(tmp_path, sent)
    undisturbed.run()
    assert len(written(undisturbed)) == 4
    for point, harness in after_each_crash(undisturbed.faults.points, lambda _: fed(tmp_path, sent)):
        assert (written(harness), len(harness.dead())) == (written(undisturbed), 1), point


def test_of_a_list_that_grows_the_record_fails_that_makes_it_too_large(tmp_path: Path) -> None:
    harness = fed(tmp_path, [("a", 3 * MB), ("a", 3 * MB), ("a", 3 * MB), ("a", MB)], "Growing")
    harness.run()
    assert written(harness) == [("a", 3 * MB), ("a", 6 * MB), ("a", 7 * MB)]
    assert [dead.offset for dead in harness.dead()] == [2]


def test_a_timer_that_writes_it_fails(tmp_path: Path) -> None:
    harness = fed(tmp_path, [("a", 1)], "LateBlob")
    harness.run()
    harness.clock.wait(61)
    harness.send("in", [{"who": "b", "n": 1}])
    harness.run()
    assert written(harness) == []
    assert ["state 'blob' of operator 'it' for key b'a'" in dead.error for dead in harness.dead()] == [True]


def test_on_error_fail_ends_the_run_and_keeps_what_went_before(tmp_path: Path) -> None:
    harness = fed(tmp_path, SENT, options="on_error: fail")
    with pytest.raises(OperatorFailed, match=r"state 'blob' of operator 'it' .* key b'a'"):
        harness.run()
    assert written(harness) == EXPECTED[:2]


def test_what_is_published_and_too_large_ends_the_run_with_one_error(tmp_path: Path) -> None:
    """As text it takes more than it does in state."""
    harness = fed(tmp_path, [("a", 7 * MB)], options="publish: shown")
    with pytest.raises(PipelineError, match=r"operator 'it' .* key b'a' .* 'shown'") as ended:
        harness.run()
    assert ended.value.code == "state-size"


def test_a_restore_holds_no_more_than_memory_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its entries are few, and large."""
    file = fed(tmp_path, []).plan and tmp_path / "large.yaml"
    state = f"backend: disk, dir: {tmp_path / 'state'}, memory: 1MB"
    file.write_text(file.read_text().replace("backend: memory", state).replace("bulk_records: 2, ", ""))
    harness = PipelineHarness(file)
    harness.send("in", [{"who": str(number), "n": 100_000} for number in range(40)])
    harness.run()
    shutil.rmtree(tmp_path / "state")
    held: list[int] = []
    absorb = LpState.absorb

    def watched(state: LpState, entries: Any, *rest: Any, **more: Any) -> None:
        held.append(sum(len(value or b"") for value in dict(entries).values()))
        absorb(state, entries, *rest, **more)

    monkeypatch.setattr(LpState, "absorb", watched)
    monkeypatch.setattr("whorl.tasks.states.read_bulks_on", partial(read_bulks_on, most=5))
    harness.send("in", [{"who": str(number), "n": 1} for number in range(40)])
    harness.run()
    assert sum(held) > 40 * 100_000 and max(held) < 2 << 20
    assert [before for _, before, _ in written(harness)[40:]] == [100_000] * 40
