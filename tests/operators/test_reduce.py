from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from helpers_operators import assert_survives, faults, operator, sent

from whorl.schema import TEXT, Schema
from whorl.testing import OperatorHarness

SCHEMA = {"account": "string", "amount": "double", "n": "int", "price": "decimal(12,2)"}


def values(rows: list[dict[str, Any]], schema: dict[str, str] | None = None, **options: Any) -> list[Any]:
    harness = OperatorHarness.of("reduce", schema, **options)
    return [given["reduce"] for row in rows for given in harness.send("k", row)]


def ns(*numbers: Any) -> list[dict[str, Any]]:
    return [{"n": n} for n in numbers]


@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_an_expression_over_the_value_before_and_the_row(schema: dict[str, str] | None) -> None:
    assert values(ns(1, 2, 3), schema, init=1, with_="acc * 2 + n") == [3, 8, 19]
    assert values(ns(5, 3, 7), schema, with_="greatest(acc, n)") == [5, 5, 7]
    assert values(ns(1, 2), schema, init="", with_="concat(acc, '-', CAST(n AS string))") == ["-1", "-1-2"]


def test_by_key_under_a_name_with_columns_of_the_record() -> None:
    harness = OperatorHarness.of("reduce", SCHEMA, key="account", keep="n", init=0, with_="acc + n", as_="total")
    assert harness.send(None, {"account": "a", "n": 2}) == [{"account": "a", "n": 2, "total": 2}]
    assert harness.send(None, {"account": "b", "n": 1}) == [{"account": "b", "n": 1, "total": 1}]
    assert harness.send(None, {"account": "a", "n": 2}) == [{"account": "a", "n": 2, "total": 4}]
    assert harness.state("a", "acc") == 4


def test_null_starts_anew_with_init() -> None:
    assert values(ns(1, None, 2), SCHEMA, init=10, with_="acc + n") == [11, None, 12]


@pytest.mark.parametrize(
    ("init", "sql", "kind"),
    [
        (0, "acc + n", "long"),
        (0, "acc + amount", "double"),
        (0, "acc + price", "decimal(38,2)"),
        ("", "concat(acc, account)", "string"),
        (None, "coalesce(acc, 0) + amount", "double"),
        (False, "acc OR n > 3", "boolean"),
    ],
)
def test_the_type_is_the_one_that_the_expression_comes_to(init: Any, sql: str, kind: str) -> None:
    made = operator("reduce", key="account", init=init, with_=sql).output(Schema.of(SCHEMA))
    assert made == Schema.of({"account": "string", "reduce": kind})
    assert faults("reduce", SCHEMA, init=init, with_=sql) == []


def test_it_begins_in_that_type() -> None:
    rows = [{"amount": 0.5, "price": Decimal("0.50")}]
    assert values(rows, SCHEMA, init=1, with_="acc / 2 + amount") == [1.0]
    assert str(values(rows, SCHEMA, init=1, with_="acc + price")[0]) == "1.50"


def test_text_stays_text() -> None:
    harness = OperatorHarness.of("reduce", TEXT, init=0, with_="acc + CAST(value AS bigint)")
    assert [harness.send("k", {"value": text}) for text in ("1", "41")] == [[{"value": "1"}], [{"value": "42"}]]
    with pytest.raises(ValueError, match="'x'"):
        harness.send("k", {"value": "x"})
    assert harness.state("k", "acc") == 42


@pytest.mark.parametrize(
    ("schema", "options", "code", "words"),
    [
        (SCHEMA, {"with_": "acc + nn"}, "column", "there is no column 'nn'"),
        (SCHEMA, {"with_": "acc +"}, "expression", "does not parse"),
        (SCHEMA, {"with_": "rand()"}, "replay", "another value"),
        (SCHEMA, {"init": "x", "with_": "acc || n > 1"}, "type", ""),
        ({**SCHEMA, "Acc": "int"}, {"with_": "acc + 1"}, "column", "a column 'acc' of their own"),
    ],
)
def test_what_is_wrong_is_told(schema: dict[str, str], options: dict[str, Any], code: str, words: str) -> None:
    (fault,) = faults("reduce", schema, **options)
    assert (fault.path, fault.code) == (("with",), code)
    assert words in fault.message


def test_a_crash_anywhere_changes_nothing() -> None:
    acts = sent(*((key, {"n": n}) for key, n in (("a", 1), ("b", None), ("a", 2), ("b", 5), ("a", None), ("a", 1))))
    assert_survives(lambda: OperatorHarness.of("reduce", SCHEMA, init=1, with_="acc * 3 + n"), acts, "ab")
