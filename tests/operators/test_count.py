from __future__ import annotations

import pytest
from helpers_operators import assert_survives, faults, operator, sent

from whorl import UsageError
from whorl.schema import TEXT, Schema
from whorl.testing import OperatorHarness

SCHEMA = {"account": "string", "at": "timestamp", "n": "int"}


def test_records_are_counted_by_key_columns() -> None:
    harness = OperatorHarness.of("count", SCHEMA, key="account", keep="n", as_="seen")
    assert harness.send(None, {"account": "a", "n": 7}) == [{"account": "a", "n": 7, "seen": 1}]
    assert harness.send(None, {"account": "b", "n": None}) == [{"account": "b", "n": None, "seen": 1}]
    assert harness.send(None, {"account": "a"}) == [{"account": "a", "n": None, "seen": 2}]
    assert (harness.state("a", "count"), harness.state("b", "count"), harness.state("c", "count")) == (2, 1, None)


def test_several_key_columns() -> None:
    harness = OperatorHarness.of("count", SCHEMA, key=["account", "n"])
    rows = [{"account": "a", "n": 1}, {"account": "a", "n": 2}, {"account": "a", "n": 1}]
    assert [row["count"] for given in rows for row in harness.send(None, given)] == [1, 1, 2]


def test_by_the_records_own_key_which_stays_with_the_row() -> None:
    harness = OperatorHarness.of("count", SCHEMA)
    assert harness.send("k", {"account": "a"}) == [{"count": 1}]
    assert harness.send("k", {"account": "b"}) == [{"count": 2}]
    assert [metadata.key for _, _, metadata in harness.emitted] == [b"k", b"k"]
    with pytest.raises(ValueError, match="the record has no key"):
        harness.send(None, {"account": "a"})


def test_text_stays_text() -> None:
    harness = OperatorHarness.of("count", TEXT)
    assert [harness.send("k", {"value": word}) for word in ("x", "y")] == [[{"value": "1"}], [{"value": "2"}]]
    assert operator("count").output(TEXT) == TEXT


def test_words_that_are_their_own_key() -> None:
    harness = OperatorHarness.of("count", TEXT, key="value")
    assert harness.send(None, {"value": "x"}) == [{"value": "x", "count": 1}]
    assert operator("count", key="value").output(TEXT) == Schema.of({"value": "string", "count": "long"})


def test_a_key_that_is_not_seen_for_so_long_starts_anew() -> None:
    harness = OperatorHarness.of("count", ttl="10m")
    harness.send("k", {})
    harness.pass_time("9m")
    assert harness.send("k", {}) == [{"count": 2}]
    harness.pass_time("10m")
    assert harness.send("k", {}) == [{"count": 1}]


def test_what_leaves() -> None:
    made = operator("count", key="account", keep=["n", "account"], as_="seen").output(Schema.of(SCHEMA))
    assert made == Schema.of({"account": "string", "n": "int", "seen": "long"})
    assert operator("count", key="k").output(None) == Schema.of({"k": "unknown", "count": "long"})
    assert operator("count").keyed_by() == ()
    assert operator("count", key=["a", "b"]).keyed_by() == ("a", "b")


def test_what_is_checked() -> None:
    made = operator("count", key=["account", "who"], keep="what")
    assert list(made.columns()) == [(("key", 0), "account"), (("key", 1), "who"), (("keep",), "what")]
    (fault,) = faults("count", SCHEMA, key="account", keep="n", as_="N")
    assert (fault.path, fault.code, fault.message) == (
        ("as",),
        "column",
        "two columns get the same name: account, n, N",
    )
    assert faults("count", SCHEMA, key="account") == []


def test_a_crash_anywhere_changes_nothing() -> None:
    acts = sent(("a", {}), ("b", {}), ("a", {}), ("a", {}), ("b", {}))
    assert_survives(lambda: OperatorHarness.of("count"), acts, "ab")


def test_a_harness_of_what_keeps_no_state() -> None:
    with pytest.raises(UsageError, match="type 'filter' keeps no state"):
        OperatorHarness.of("filter", where="true")
    with pytest.raises(UsageError, match="no operator of type 'cuont'"):
        OperatorHarness.of("cuont")
