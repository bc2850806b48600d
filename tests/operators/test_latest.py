from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from helpers_operators import assert_survives, faults, operator, sent
from hypothesis import given, settings
from hypothesis import strategies as st

from whorl.operators.record import Row
from whorl.schema import TEXT, Schema
from whorl.testing import OperatorHarness

SCHEMA = {"account": "string", "at": "timestamp", "tags": "array<string>"}
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def row(minutes: int, **more: Any) -> Row:
    return {"at": NOON + timedelta(minutes=minutes), **more}


def test_by_order_of_arrival_every_record_is_the_last() -> None:
    harness = OperatorHarness.of("latest", SCHEMA, key="account")
    for record in (row(5, account="a", tags=["x"]), row(1, account="a", tags=None), row(0, account="b")):
        assert harness.send(None, record) == [record]
    assert harness.state("a", "record") == row(1, account="a", tags=None)
    assert [metadata.key for _, _, metadata in harness.emitted] == [b"a", b"a", b"b"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), min_size=1))
def test_by_time_older_ones_are_left_out(records: list[tuple[str, int]]) -> None:
    harness, newest = OperatorHarness.of("latest", SCHEMA, time="at"), dict[str, int]()
    for number, (key, minutes) in enumerate(records):
        passes = minutes >= newest.get(key, 0)
        assert harness.send(key, row(minutes, number=number)) == ([row(minutes, number=number)] if passes else [])
        newest[key] = max(minutes, newest.get(key, 0))
    assert all(harness.state(key, "record")["at"] == row(minutes)["at"] for key, minutes in newest.items())


def test_what_is_kept_is_not_what_others_change_later() -> None:
    harness = OperatorHarness.of("latest", SCHEMA)
    (passed,) = harness.send("k", {"tags": ["x"]})
    passed["tags"].append("y")
    assert harness.state("k", "record") == {"tags": ["x"]}


def test_text_and_a_time_to_live() -> None:
    harness = OperatorHarness.of("latest", TEXT, ttl="10m")
    assert harness.send("k", {"value": "x"}) == [{"value": "x"}]
    harness.pass_time("10m")
    assert harness.state("k", "record") is None


def test_a_record_without_its_time_fails() -> None:
    with pytest.raises(ValueError, match="column 'at' holds 'noon', which is not a timestamp"):
        OperatorHarness.of("latest", time="at").send("k", {"at": "noon"})


def test_what_leaves_and_what_is_checked() -> None:
    schema = Schema.of(SCHEMA)
    assert operator("latest", key="account").output(schema) == schema
    assert list(operator("latest", key="account").columns()) == [(("key",), "account")]
    assert faults("latest", SCHEMA, time="at") == faults("latest", None, time="at") == []
    assert [(f.path, f.code) for f in faults("latest", SCHEMA, time="account")] == [(("time",), "type")]


def test_a_crash_anywhere_changes_nothing() -> None:
    acts = sent(
        *((key, row(minutes, n=[minutes])) for key, minutes in (("a", 2), ("b", 1), ("a", 1), ("a", 3), ("b", 0)))
    )
    assert_survives(lambda: OperatorHarness.of("latest", time="at"), acts, "ab")
