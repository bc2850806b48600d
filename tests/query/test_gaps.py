"""A checkpoint is told to read on behind what is gone; a batch that was begun is withdrawn where nothing of it was written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from whorl.errors import WorldError
from whorl.query.checkpoint import Logs, Manifest
from whorl.query.gaps import past_gaps
from whorl.spark.local import LocalFolder

HEAD = 'v1\n{"batchWatermarkMs":0}\n'


class Answers:
    def __init__(self, **first: int) -> None:
        self._first = {(topic, 0): at for topic, at in first.items()}

    def earliest(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return {place: self._first.get(place, 0) for place in places}


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    """Batch 0 is done and ends at 5 and 7; batch 1 was begun."""
    for name, text in {
        "offsets/0": HEAD + '{"a":{"0":5,"1":1}}\n{"b":{"0":7}}',
        "offsets/1": HEAD + '{"a":{"0":9,"1":2}}\n{"b":{"0":8}}',
        "offsets/.0.crc": "checksum",
        "offsets/.1.crc": "checksum",
        "commits/0": 'v1\n{"nextBatchWatermarkMs":0}',
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    logs = Logs(LocalFolder(str(tmp_path)))
    logs.write(Manifest("p", "c", "u", "f", ("a", "b"), {"a": {"a": {"0": 0, "1": 0}}, "b": {"b": {"0": 0}}}, base=10))
    return logs


def go(logs: Logs, cluster: Answers, accepted: set[str], written: set[int]) -> list[str]:
    told, manifest = list[str](), logs.manifest()
    assert manifest is not None
    checkpoint: Any = logs
    past_gaps(cluster, checkpoint, manifest, accepted, written, told.append)  # type: ignore[arg-type]
    return told


def test_without_a_gap_nothing_is_touched(logs: Logs, tmp_path: Path) -> None:
    assert go(logs, Answers(a=5), {"a"}, {10}) == []
    assert logs.progress().in_doubt == 1 and (tmp_path / "offsets" / ".0.crc").exists()


def test_a_gap_is_an_error_with_its_number(logs: Logs) -> None:
    with pytest.raises(WorldError, match="3 records of a/0 from offset 5 on are gone from Kafka"):
        go(logs, Answers(a=8), {"b"}, {10})
    assert logs.progress().in_doubt == 1


def test_a_gap_that_is_accepted_is_passed(logs: Logs, tmp_path: Path) -> None:
    assert go(logs, Answers(a=8), {"a"}, {10}) == [
        "3 records of a/0 from offset 5 on are gone from Kafka; goes on without them"
    ]
    assert logs.read_up_to() == {("a", 0): 8, ("a", 1): 1, ("b", 0): 7}
    assert logs.progress().in_doubt is None, "the batch that was begun is made anew"
    assert not list((tmp_path / "offsets").glob(".*.crc")), "a checksum of before would not fit"


def test_what_is_half_written_is_not_passed(logs: Logs) -> None:
    with pytest.raises(WorldError, match="batch 1 of 'c' is half written"):
        go(logs, Answers(a=8), {"a"}, {11})
    assert logs.progress().in_doubt == 1
