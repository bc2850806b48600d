from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from bench.batches import Batch, BatchLog, cycles_ms, rate
from bench.failures import TooSlow

from bench import records


def _commit(folder: Path, number: int, at: float, *ends: int) -> None:
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    positions = json.dumps({"topic": {str(partition): end for partition, end in enumerate(ends)}})
    (folder / "offsets" / str(number)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{positions}')
    (folder / "commits" / str(number)).write_text("v1\n{}")
    os.utime(folder / "commits" / str(number), (at, at))


def test_batches_are_read_off_the_checkpoint_and_kept_when_spark_drops_them(tmp_path: Path) -> None:
    log = BatchLog(tmp_path)
    assert log.look() == []
    _commit(tmp_path / "component", 0, 100, 3, 4)
    assert log.look() == [Batch(0, 100, 7)]
    (tmp_path / "component" / "commits" / "0").unlink()
    _commit(tmp_path / "component", 1, 101, 5, 6)
    (tmp_path / "component" / "commits" / ".2.tmp").touch()
    assert log.look() == [Batch(0, 100, 7), Batch(1, 101, 11)]


def test_the_rate_leaves_out_warm_up_and_batches_without_records() -> None:
    batches = [
        Batch(0, 50, 20),
        Batch(1, 60, 40),
        Batch(2, 61, 60),
        Batch(3, 62, 80),
        Batch(4, 64, 100),
        Batch(5, 90, 100),
    ]
    assert rate(batches, 0.3) == 15
    assert cycles_ms(batches, 0.3) == [1000, 1000, 2000]


def test_a_run_of_one_batch_has_no_rate() -> None:
    with pytest.raises(TooSlow, match="--records"):
        rate([Batch(0, 1, 100)], 0.3)


def test_sums_are_final_when_the_watermark_has_passed_their_minute() -> None:
    count = 2 * records.PER_MINUTE
    late = records.PER_MINUTE * records.LATE_MS // 60_000
    assert records.closed(count) == records.KEYS
    assert records.closed(count + late) == records.KEYS
    assert records.closed(count + late + 2) == 2 * records.KEYS


def test_timed_records_say_their_minute() -> None:
    values = [value for _, value in records.timed(records.PER_MINUTE + 1)]
    assert b'"at": "2026-01-01T00:00:00.000Z"' in values[0]
    assert b'"at": "2026-01-01T00:00:59.998Z"' in values[-2]
    assert b'"at": "2026-01-01T00:01:00.000Z"' in values[-1]
