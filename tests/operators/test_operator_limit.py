from __future__ import annotations

import pytest
from helpers_operators import assert_survives, operator, sent
from pydantic import ValidationError

from whorl.operators.native import Keyed
from whorl.schema import Schema
from whorl.testing import OperatorHarness

SCHEMA = {"account": "string", "n": "long"}


def test_the_first_of_each_key() -> None:
    harness = OperatorHarness.of("limit", SCHEMA, key="account", rows=2)
    passed = [harness.send(None, {"account": "ab"[n % 2], "n": n}) for n in range(8)]
    assert [rows != [] for rows in passed] == [True] * 4 + [False] * 4
    assert harness.state("a", "passed") == 2


def test_anew_after_its_time() -> None:
    harness = OperatorHarness.of("limit", SCHEMA, rows=1, ttl="10m")
    assert harness.send("k", {"n": 1}) and not harness.send("k", {"n": 2})
    harness.pass_time("10m")
    assert harness.send("k", {"n": 3}) == [{"n": 3}]


def test_over_crashes() -> None:
    acts = sent(*[("ab"[n % 2], {"n": n}) for n in range(6)])
    assert_survives(lambda: OperatorHarness.of("limit", SCHEMA, rows=2), acts, ["a", "b"])


def test_in_a_query_it_keeps_state_by_the_same_key() -> None:
    assert operator("limit", rows=3, key="account").native(Schema.of(SCHEMA)) == Keyed(("account",))
    with pytest.raises(ValidationError):
        operator("limit", rows=0)
