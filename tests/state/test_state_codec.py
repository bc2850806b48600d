"""Golden bytes: what version 1 wrote is read for ever."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whorl.errors import PipelineError, WhorlError
from whorl.state import codec
from whorl.state.codec import check, decode, encode, expiry, map_group, short, table_prefix, user_key
from whorl.state.values import Timed, own

GOLDEN = [
    ("01c0", None),
    ("0107", 7),
    ("01cb3ff8000000000000", 1.5),
    ("01a3c3a962", "éb"),
    ("01c40100", b"\0"),
    ("0182a16101029103", {"a": 1, 2: [3]}),
    ("01d6ff5e0be100", datetime(2020, 1, 1, tzinfo=UTC)),
    ("01d601000b4091", date(2020, 1, 1)),
    ("01d602312e3530", Decimal("1.50")),
    ("01c70303920102", (1, 2)),
    ("01c70904010000000000000000", 1 << 64),
    ("11000000000000000907", Timed(7, 9, False)),
    ("31fffffffffffffffe07", Timed(7, -2, True)),
]
SQUEEZED = "41d30700005fda07d061620200ffffffffffffffbd506261626162"
"""Of "ab" a thousand times; another lz4 may write it otherwise."""
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters()),
    st.binary(),
    st.datetimes(timezones=st.just(UTC)),
    st.dates(),
    st.decimals(allow_nan=False),
)
KEYS = st.one_of(st.text(), st.integers(), st.binary(), st.dates(), st.tuples(st.integers(), st.text()))
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(KEYS, inner), st.lists(inner).map(tuple)),
    max_leaves=20,
)


@pytest.mark.parametrize(("raw", "value"), GOLDEN)
def test_old_bytes_are_read_and_still_written(raw, value):
    assert decode(bytes.fromhex(raw)) == value
    assert encode(value).hex() == raw


def test_old_squeezed_bytes_are_read():
    assert decode(bytes.fromhex(SQUEEZED)) == "ab" * 1000


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_a_value_comes_back_as_it_was(value):
    back = decode(encode(own(value)))
    assert back == value and type(back) is type(value)
    assert decode(encode(Timed(own(value), 5, True))) == Timed(value, 5, True)


def test_large_values_are_squeezed_where_it_helps():
    text, noise = "a" * 5000, random.Random(1).randbytes(5000)
    assert len(encode(text)) < 100 and decode(encode(text)) == text
    assert len(encode(noise)) < 5010 and decode(encode(noise)) == noise
    timed = Timed(text, 77, False)
    assert len(encode(timed)) < 110 and decode(encode(timed)) == timed and expiry(encode(timed)) == (77, False)


def test_a_lone_surrogate_is_kept():
    assert decode(encode("\ud800")) == "\ud800"


def test_the_expiry_is_seen_without_decoding():
    assert expiry(encode("x")) is None
    assert expiry(encode(Timed("x", 12, True))) == (12, True)


@pytest.mark.parametrize("first", [2, 0x12, 0x82, 0xF2])
def test_what_a_newer_one_wrote_is_refused_with_a_remedy(first):
    raw = bytes((first,)) + encode(1)[1:]
    for read in (check, decode):
        with pytest.raises(WhorlError, match="use the newer Whorl"):
            read(raw)


def test_nothing_is_unpickled():
    assert "pickle" not in vars(codec)
    with pytest.raises(WhorlError, match="unknown kind 99"):
        decode(b"\x01\xd4\x63\x00")


def test_the_prefix_of_a_table_can_be_read_and_no_other_begins_with_it():
    assert table_prefix("alert", "total") == b"alert/total\0"
    for operator, state in (("a/b", "c"), ("a\0", "c"), ("a", "c\0")):
        with pytest.raises(PipelineError, match="cannot name a state"):
            table_prefix(operator, state)


def test_the_users_key_of_any_entry():
    key = b"k\0y"
    assert user_key(table_prefix("a", "b") + key) == key
    assert user_key(table_prefix("a", "b{}") + map_group(key) + b"more") == key
    assert user_key(b"_timers\0e" + bytes(8) + b"op\0" + key) == key
    assert user_key(b"_lp") is None


def test_short_keys_stay_and_long_ones_have_one_length_and_their_beginning():
    assert short(b"x" * 510) == b"x" * 510
    one, two = short(b"x" * 511), short(b"x" * 5000)
    assert len(one) == len(two) == 511 and one != two
    assert one.startswith(b"x" * 495) and two.startswith(b"x" * 495)
