"""The deduplicate operator with an id, which runs in tasks; as an operator of queries it is in test_query_operators.py."""

from __future__ import annotations

from typing import Any

import pytest
from helpers_operators import assert_survives, operator, sent
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from whorl.operators.native import Keyed, Unique
from whorl.schema import Schema
from whorl.testing import OperatorHarness

SCHEMA = {"id": "string", "part": "int", "n": "int"}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers())))
def test_the_first_record_of_each_id_passes_whole(records: list[tuple[str, int]]) -> None:
    harness, seen = OperatorHarness.of("deduplicate", SCHEMA, message_id="id"), set[str]()
    for id, n in records:
        assert harness.send(None, {"id": id, "n": n}) == ([] if id in seen else [{"id": id, "n": n}])
        seen.add(id)


def test_an_id_of_several_columns() -> None:
    harness = OperatorHarness.of("deduplicate", SCHEMA, message_id=["id", "part"])
    rows = [{"id": "a", "part": 1}, {"id": "a", "part": 2}, {"id": "a", "part": 1}]
    assert [len(harness.send(None, row)) for row in rows] == [1, 1, 0]
    with pytest.raises(ValueError, match="the record has no key"):
        harness.send(None, {"id": "a", "part": None})


def test_the_time_to_live_counts_from_the_first() -> None:
    harness = OperatorHarness.of("deduplicate", message_id="id", ttl="10m")
    passed = []
    for _ in range(4):
        passed.append(len(harness.send(None, {"id": "a"})))
        harness.pass_time("4m")
    assert passed == [1, 0, 0, 1]


def test_which_host_it_is_for() -> None:
    with_id, without = operator("deduplicate", message_id="id"), operator("deduplicate", columns=["id"])
    assert with_id.in_tasks and with_id.native(None) == Keyed(("id",)) and with_id.keyed_by() == ("id",)
    assert not without.in_tasks and without.native(None) == Unique(("id",)) and without.keyed_by() is None
    assert list(with_id.columns()) == [(("message_id",), "id")]
    assert with_id.output(Schema.of(SCHEMA)) == Schema.of(SCHEMA)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"message_id": "a", "columns": ["b"]}, "'columns' is for queries, and with 'message_id' it runs in tasks"),
        ({"message_id": "a", "within_watermark": True}, "'within_watermark' is for queries"),
        ({"columns": ["b"], "ttl": "1h"}, "'ttl' goes with a 'message_id'"),
    ],
)
def test_no_mixtures_of_hosts(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        operator("deduplicate", **options)


def test_a_crash_anywhere_changes_nothing() -> None:
    acts = sent(*((None, {"id": id, "n": n}) for n, id in enumerate("abacbb")))
    assert_survives(lambda: OperatorHarness.of("deduplicate", SCHEMA, message_id="id", ttl="1h"), acts, "abc")
