"""Durations and sizes as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from whorl.units import Duration, Size, format_duration, format_size, parse_duration, parse_size


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("100ms", 0.1), ("5s", 5), ("1h30m", 5400), ("1h 30m", 5400), ("1.5s", 1.5), ("250us", 0.00025), ("2d", 172800), ("1W", 604800), (0, 0)],
)  # fmt: skip
def test_a_duration(written: Any, seconds: float) -> None:
    assert parse_duration(written) == pytest.approx(seconds)


@pytest.mark.parametrize("written", [5, 1.5, True, None, "", "5", "s", "5 parsecs", "5s!", "-1s", "1h oops", ["5s"]])
def test_what_is_no_duration(written: Any) -> None:
    with pytest.raises(ValueError, match="is not a duration such as 100ms"):
        parse_duration(written)


@pytest.mark.parametrize(
    ("written", "size"), [("512KB", 512 << 10), ("64MB", 64 << 20), ("1g", 1 << 30), ("1.5kb", 1536), (4096, 4096), (0, 0)]
)  # fmt: skip
def test_a_size(written: Any, size: int) -> None:
    assert parse_size(written) == size


@pytest.mark.parametrize("written", [True, 1.5, "64", "MB", "64 MiB", None])
def test_what_is_no_size(written: Any) -> None:
    with pytest.raises(ValueError, match="is not a size such as 512KB"):
        parse_size(written)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.1, "100ms"), (1.0, "1s"), (90, "1.5m"), (5400, "1.5h"), (86400, "1d"), (0.00025, "250us"), (0, "0s"), (60.5, "60.5s")],
)  # fmt: skip
def test_a_duration_is_written_shortly(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(min_value=0, max_value=999_999))
def test_a_duration_that_was_written_reads_the_same(milliseconds: int) -> None:
    seconds = milliseconds / 1000
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds)


@pytest.mark.parametrize(("size", "text"), [(17, "17B"), (1024, "1KB"), (64 << 20, "64MB"), (3 << 29, "1.5GB")])
def test_a_size_is_written_shortly(size: int, text: str) -> None:
    assert format_size(size) == text


class _Model(BaseModel):
    wait: Duration = 1.0
    room: Size = 1 << 20


def test_models_take_them_and_keep_their_own_numbers() -> None:
    made = _Model.model_validate({"wait": "250ms", "room": "2MB"})
    assert (made.wait, made.room) == (0.25, 2 << 20)
    assert _Model.model_validate(made.model_dump()) == made


def test_a_model_refuses_a_number_without_its_unit() -> None:
    with pytest.raises(ValidationError, match="5 is not a duration"):
        _Model.model_validate({"wait": 5})
