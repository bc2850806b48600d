from __future__ import annotations

from collections import Counter, OrderedDict, namedtuple
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum

import pytest

from whorl.errors import PipelineError
from whorl.state.codec import decode, encode
from whorl.state.values import DEEPEST, own

PLACE = timezone(timedelta(hours=5))
Point = namedtuple("Point", "x y")


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Stamp(datetime):
    """As pandas has one."""


def test_a_copy_shares_nothing_that_can_be_changed():
    value = {"a": [1, {"b": [2]}], "t": ([3],)}
    copy = own(value)
    value["a"][1]["b"].append(9)
    value["t"][0].append(9)
    assert copy == {"a": [1, {"b": [2]}], "t": ([3],)}


def test_what_cannot_change_is_not_copied():
    text = "x" * 1000
    assert own(text) is text


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (OrderedDict(a=1), {"a": 1}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (Point(1, [2]), (1, [2])),
        (bytearray(b"x"), b"x"),
        (datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)),
        (datetime(2020, 1, 1, 5, tzinfo=PLACE), datetime(2020, 1, 1, tzinfo=UTC)),
        (Stamp(2020, 1, 1, 5, 0, 0, 7, tzinfo=PLACE), datetime(2020, 1, 1, 0, 0, 0, 7, tzinfo=UTC)),
        ([date(2020, 1, 1), Decimal("1.50")], [date(2020, 1, 1), Decimal("1.50")]),
    ],
)
def test_kinds_derived_from_known_ones_are_those(given, kept):
    copy = own(given)
    assert copy == kept and type(copy) is type(kept)
    assert decode(encode(copy)) == kept


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"a": v}, lambda v: (v,)])
def test_what_is_deep_is_refused_before_msgpack_would(wrap):
    value = 1
    for _ in range(DEEPEST):
        value = wrap(value)
    assert decode(encode(own(value))) == value
    with pytest.raises(PipelineError, match="levels"):
        own(wrap(value))


@pytest.mark.parametrize("value", [{1, 2}, object(), [1, {"x": {3}}], 1j, lambda: 0])
def test_what_cannot_be_kept_is_refused_at_once(value):
    with pytest.raises(PipelineError, match="cannot be kept in state"):
        own(value)
