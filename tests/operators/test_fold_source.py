"""Many records at once come to the same as one after the other; or they raise, and nothing is kept."""

from __future__ import annotations

from typing import Any

import pytest
from helpers_operators import FakeMessage, operator
from hypothesis import given, settings
from hypothesis import strategies as st

from whorl.formats import Codec, codec, parse_format
from whorl.operators.fold import FoldStep
from whorl.operators.record import Metadata
from whorl.schema import TEXT, Schema
from whorl.state.backend import MemoryBackend, Meta
from whorl.state.partition import LpState
from whorl.state.room import Room
from whorl.state.values import Timed

JSON = Schema.of({"n": "long", "name": "string"})
TEXTS = st.one_of(st.integers(-(2**70), 2**70).map(str), st.floats(-1e6, 1e6).map(str), st.sampled_from([" 7 ", "1_0"]))
NUMBERS = st.one_of(st.integers(-(2**53), 2**53), st.none())
KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
CSV = {"type": "csv", "columns": ["count", "sum"]}


class Side:
    """A fold with its formats, over a store of its own; `room` bytes of committed values stay in memory."""

    def __init__(self, read: str, written: Any, type: str, room: int = 1 << 20, **options: Any) -> None:
        schema = TEXT if read == "text" else JSON
        made = operator(type, **options)
        self.read, self.written = codec(parse_format(read), None), codec(parse_format(written), made.output(schema))
        step = made.step(schema)
        assert step.keyed is not None
        found = step.keyed("it")
        assert isinstance(found, FoldStep)
        self.step = found
        self.lp = LpState(MemoryBackend(), Meta("uid", "topic", "id"), room=Room(room))
        self.step.enter(self.lp)
        self.many = self.step.fold_many(self.read, self.written)
        self.position = 0

    def one_by_one(self, records: list[tuple[bytes, bytes]]) -> list[bytes | None]:
        left = []
        for key, value in records:
            row = self.read.decode(value)
            assert row is not None
            left.append(self.written.encode(self.step.fold(row, Metadata(FakeMessage(), key))))
            self.lp.keep()
        return left

    def at_once(self, records: list[tuple[bytes, bytes]]) -> list[bytes | None]:
        left, kept = self.step.fold_all(self.many, [key for key, _ in records], [value for _, value in records])
        self.step.keep(kept)
        return left

    def commit(self) -> dict[bytes, bytes | None]:
        delta = self.lp.delta()
        self.position += len(delta)
        self.lp.store(self.position)
        return delta


FOLDS = [
    ("text", CSV, {"type": "sum", "as": "sum", "count": "count"}),
    ("text", "text", {"type": "sum"}),
    ("text", "text", {"type": "count"}),
    ("text", "json", {"type": "average"}),
    ("text", "json", {"type": "min"}),
    ("json", "json", {"type": "sum", "of": "n", "keep": ["name"], "count": "count"}),
    ("json", CSV, {"type": "sum", "of": "n", "count": "count"}),
    ("json", "json", {"type": "reduce", "init": 0, "with": "acc + coalesce(n, 0)"}),
]


def _values(read: str) -> st.SearchStrategy[bytes]:
    if read == "text":
        return TEXTS.map(str.encode)
    return NUMBERS.map(lambda n: b'{"n": %s, "name": "x"}' % (b"null" if n is None else b"%d" % n))


@pytest.mark.parametrize("room", [1 << 20, 1])
@pytest.mark.parametrize(("read", "written", "fold"), FOLDS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_many_at_once_are_as_one_after_the_other(
    read: str, written: Any, fold: dict[str, Any], room: int, data: st.DataObject
) -> None:
    bulks = data.draw(st.lists(st.lists(st.tuples(KEYS, _values(read)), min_size=1, max_size=12), max_size=4))
    alone, together = Side(read, written, **fold), Side(read, written, room=room, **fold)
    for bulk in bulks:
        assert together.at_once(bulk) == alone.one_by_one(bulk)
        if data.draw(st.booleans()):
            assert together.commit() == alone.commit()
    assert together.commit() == alone.commit()


@pytest.mark.parametrize("wrong", [b"x", None, b"\xff", b""])
def test_one_that_fails_leaves_no_trace_of_the_others(wrong: bytes | None) -> None:
    side = Side("text", CSV, "sum", **{"as": "sum", "count": "count"})
    with pytest.raises((ValueError, AttributeError)):
        side.at_once([(b"a", b"2"), (b"b", wrong)])  # type: ignore[list-item]
    assert side.lp.delta() == {}


def test_a_record_needs_a_key() -> None:
    side = Side("text", "text", "count")
    with pytest.raises(ValueError, match="no key"):
        side.step.fold_all(side.many, [b"a", None], [b"1", b"2"])


def test_a_tombstone_is_no_row() -> None:
    side = Side("json", "json", "count")
    with pytest.raises(ValueError, match="tombstone"):
        side.at_once([(b"a", None)])  # type: ignore[list-item]


def test_what_was_kept_for_a_time_is_taken_over_while_it_lasts() -> None:
    alone, together = Side("text", "text", "sum"), Side("text", "text", "sum")
    for side in (alone, together):
        table = side.lp.table("it", "sum")
        table.values.update({b"a": Timed(5, 10, False), b"b": Timed(7, 1000, False)})
        side.commit()
        side.lp.clocks.tick(100)
    records = [(b"a", b"1"), (b"b", b"1"), (b"b", b"1")]
    assert together.at_once(records) == alone.one_by_one(records) == [b"1", b"8", b"9"]


def test_source_is_only_a_shortcut() -> None:
    """A codec that offers none of it comes to the same."""
    side = Side("text", CSV, "sum", **{"as": "sum", "count": "count"})
    plain = side.step.fold_many(Codec(side.read.decode, lambda row: None), Codec(side.read.decode, side.written.encode))
    keys, values = [b"a", b"b", b"a"], [b"1", b"2", b"0.5"]
    assert side.step.fold_all(plain, keys, values) == side.step.fold_all(side.many, keys, values)  # type: ignore[arg-type]
