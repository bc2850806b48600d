"""State in tasks when the world is unkind: a full disk, a copy that is not to be trusted, a clock that is set back, a key with half of all
records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import lmdb
import pytest

from whorl import Context, KeyedOperator, Row, ValueState
from whorl.errors import WorldError
from whorl.state.backend import Meta
from whorl.state.codec import decode, encode
from whorl.state.disk import LmdbBackend
from whorl.tasks.changelog import DELETIONS_KEPT
from whorl.testing import PipelineHarness


class Counting(KeyedOperator):
    count = ValueState(int)

    def process(self, key: str, record: Row, context: Context) -> None:
        context.emit({"k": key, "count": self.count.update(lambda count: (count or 0) + 1)})


class Fading(KeyedOperator):
    """Tells whether the value of the record before is still there, and rings five seconds after each."""

    last = ValueState(int, ttl="10s")

    def process(self, key: str, record: Row, context: Context) -> None:
        context.emit({"k": key, "last": self.last.get(), "now": context.now.timestamp()})
        self.last.set(record["n"])
        context.timers.after("5s")

    def on_timer(self, key: str, time: Any, context: Context) -> None:
        context.emit({"k": key, "rings": time.timestamp(), "now": context.now.timestamp()})


SOURCE = """
name: hard
sources: {{in: {{type: kafka, topic: in, key: k, schema: {{k: string, n: long}}}}}}
operators: [{{id: it, type: python, class: test_hard_times.{operator}, key: k, from: in}}]
sinks: {{out: {{type: kafka, topic: out, from: it, format: json, key: k}}}}
settings: {{state: {{backend: disk, dir: {dir}}}, commit_records: 10, bulk_records: 10}}
"""


@pytest.fixture
def of(tmp_path: Path) -> Callable[..., PipelineHarness]:
    def make(operator: type, **options: int) -> PipelineHarness:
        file = tmp_path / "hard.yaml"
        file.write_text(SOURCE.format(operator=operator.__name__, dir=tmp_path / "copies"))
        return PipelineHarness(file, **options)

    return make


def rows(keys: str) -> list[Row]:
    return [{"k": key, "n": n} for n, key in enumerate(keys)]


def counts(harness: PipelineHarness) -> list[tuple[str, int]]:
    return [(row["k"], row["count"]) for row in harness.sink("out") if row]


# -- a full disk ----------------------------------------------------------------------------------------------------------------------


def test_a_full_disk_ends_the_task_and_spoils_nothing(of, tmp_path, monkeypatch):
    """Kafka has committed when the copy cannot be written: the next start reads from the changelog what the copy lacks."""
    harness = of(Counting, partitions=2)
    harness.send("in", rows("abcd" * 10))
    harness.run()

    def full(backend: LmdbBackend, *_: Any) -> None:
        raise lmdb.DiskError(f"{backend.folder}: No space left on device")

    harness.send("in", rows("abcd" * 10))
    with monkeypatch.context() as patch, pytest.raises(WorldError, match="No space left on device") as error:
        patch.setattr(LmdbBackend, "_write_once", full)
        harness.run()
    assert str(tmp_path / "copies") in str(error.value) and "make room on the disk" in str(error.value)
    assert harness.broker.open_transactions() == []
    harness.run()
    harness.send("in", rows("abcd"))
    harness.run()
    assert sorted(counts(harness)) == [(key, n) for key in "abcd" for n in range(1, 22)]
    owners = sorted(file.parent.name for file in (tmp_path / "copies").glob("*/*/*/*/owner"))
    assert owners == ["0", "1"], "the folders were let go of, so that they are taken again"


# -- a copy that is not to be trusted -------------------------------------------------------------------------------------------------

HALF = round(DELETIONS_KEPT / 2 * 1000)


@pytest.mark.parametrize(
    ("what", "used"),
    [
        (lambda meta: meta, True),
        (lambda meta: replace(meta, lineage="of another pipeline"), False),
        (lambda meta: replace(meta, topic_id="of another changelog"), False),
        (lambda meta: replace(meta, position=meta.position + 1_000_000), False),
        (lambda meta: replace(meta, current_at=meta.current_at - HALF + 60_000), True),
        (lambda meta: replace(meta, current_at=meta.current_at - HALF - 60_000), False),
        (lambda meta: replace(meta, boot="before the machine was started anew"), False),
    ],
    ids=["as it was", "lineage", "changelog", "beyond the end", "not too old", "older than deletions", "reboot"],
)
def test_only_a_copy_that_fits_is_used(of, tmp_path, what: Callable[[Meta], Meta], used: bool):
    """A value that stands only in the copy shows which it was."""
    harness = of(Counting)
    harness.send("in", rows("aab"))
    harness.run()
    (folder,) = (tmp_path / "copies").glob("*/*/it/0")
    copy = LmdbBackend(folder)
    (entry,) = (key for key, raw in copy.scan(b"it/count\0a") if decode(raw) == 2)
    assert copy.meta is not None
    copy.write({entry: encode(1000)}, what(copy.meta))
    copy.close()
    harness.send("in", rows("a"))
    harness.run()
    assert counts(harness)[-1] == ("a", 1001 if used else 3)


# -- a clock that is set back ---------------------------------------------------------------------------------------------------------


def test_a_clock_that_is_set_back_makes_nothing_last_longer(of):
    """Processing time stands still until the clock is where it was; then it goes on."""
    harness = of(Fading)
    began = harness.clock()
    harness.send("in", rows("a"))
    harness.run()
    harness.clock.now = began - 3600
    harness.send("in", rows("a"))
    harness.run()
    assert [row for row in harness.sink("out") if row and "rings" in row] == []
    harness.clock.now = began + 20
    harness.send("in", rows("a"))
    harness.run()
    told = [row for row in harness.sink("out") if row]
    assert [row["last"] for row in told if "last" in row] == [None, 0, None]
    assert [row["rings"] for row in told if "rings" in row] == sorted({row["now"] + 5 for row in told[:2]})
    assert min(row["now"] for row in told) == told[0]["now"] and told[1]["now"] < began + 1


# -- a key with half of all records ---------------------------------------------------------------------------------------------------


def test_a_hot_key_costs_one_entry_of_the_changelog_for_each_commit(of):
    harness = of(Counting, partitions=4, tasks=2)
    keys = [f"hot,k{n % 50}".split(",")[n % 2] for n in range(2000)]
    harness.send("in", [{"k": key, "n": n} for n, key in enumerate(keys)])
    harness.run()
    assert Counter(counts(harness)) == Counter(
        (key, n + 1) for key, total in Counter(keys).items() for n in range(total)
    )
    (changelog,) = (name for name in harness.broker.topics() if name.endswith(".changelog"))
    written = Counter(entry.key.rpartition(b"\0")[2] for entry in harness.broker.records(changelog))
    assert written[b"hot"] <= harness.faults.points.count("producer.commit_transaction")
    assert 10 <= written[b"hot"] <= 250, "1000 records in transactions of about ten"
