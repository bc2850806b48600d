from __future__ import annotations

import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from whorl.errors import PipelineError
from whorl.operators.expressions import FUNCTIONS, ExpressionError, compile_expression, compile_row
from whorl.schema import UNKNOWN, Schema

SCHEMA = Schema.of(
    {"account": "string", "amount": "double", "n": "int", "big": "long", "price": "decimal(10,2)", "at": "timestamp"}
)


def run(sql: str, row: dict[str, Any], schema: Schema | None = SCHEMA) -> Any:
    return compile_expression(sql, schema).function(row)


def refused(sql: str, schema: Schema | None = SCHEMA) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(sql, schema)
    return caught.value


@pytest.mark.parametrize(
    ("sql", "row", "expected"),
    [
        ("amount > 1000", {"amount": 1500.0}, True),
        ("amount > 1000", {"amount": None}, None),
        ("amount > 1000 or account = 'a'", {"amount": None, "account": "a"}, True),
        ("amount > 1000 and account = 'a'", {"amount": None, "account": "b"}, False),
        ("n / 2", {"n": 3}, 1.5),
        ("n % 3", {"n": -7}, -1),
        ("n div 2", {"n": -7}, -3),
        ("price * 2", {"price": Decimal("1.25")}, Decimal("2.50")),
        ("amount > 5", {"amount": float("nan")}, True),
        ("n in (1, 2, null)", {"n": 3}, None),
        ("upper(account) || '-' || n", {"account": "ab", "n": 7}, "AB-7"),
        ("case when n > 0 then 'plus' else 'none' end", {"n": None}, "none"),
        ("year(at)", {"at": datetime(2024, 5, 6, tzinfo=UTC)}, 2024),
        ("cast('2024-05-06' as date)", {}, date(2024, 5, 6)),
        ("`account`", {"account": "x"}, "x"),
        ("ACCOUNT", {"account": "x"}, "x"),
    ],
)
def test_values(sql: str, row: dict[str, Any], expected: Any) -> None:
    assert run(sql, row) == expected


@pytest.mark.parametrize(
    ("sql", "row", "error"),
    [
        ("n / 0", {"n": 1}, ZeroDivisionError),
        ("n % 0", {"n": 1}, ZeroDivisionError),
        ("n + 1", {"n": 2**31 - 1}, OverflowError),
        ("big + 1", {"big": 2**63 - 1}, OverflowError),
        ("cast(account as int)", {"account": "abc"}, ValueError),
        ("price * price", {"price": "no number"}, TypeError),
    ],
)
def test_what_raises_on_a_row(sql: str, row: dict[str, Any], error: type[Exception]) -> None:
    compiled = compile_expression(sql, SCHEMA)
    with pytest.raises(error):
        compiled.function(row)


def test_a_missing_column_is_null() -> None:
    assert run("coalesce(account, 'none')", {}) == "none"


def test_columns_and_type() -> None:
    compiled = compile_expression("amount * 2 > n and account like 'a%'", SCHEMA)
    assert compiled.columns == {"amount", "n", "account"}
    assert compiled.type == "boolean"
    assert compile_expression("n + big", SCHEMA).type == "long"
    assert compile_expression("price + 1.5", SCHEMA).type == "decimal(11,2)"
    assert compile_expression("null", SCHEMA).type == UNKNOWN


@pytest.mark.parametrize(
    ("sql", "code", "words"),
    [
        ("amount +", "expression", "line 1, column 8"),
        ("amount amount", "expression", "not an expression"),
        ("", "expression", "empty"),
        ("'open", "expression", "quotes"),
        ("select 1", "expression", "not an expression"),
        ("amuont > 1", "column", "did you mean 'amount'"),
        ("nothing_alike", "column", "columns: account"),
        ("sum(amount)", "unsupported", "'sum'"),
        ("uper(account)", "unsupported", "did you mean 'upper'"),
        ("length()", "unsupported", "does not take 0 arguments"),
        ("amount over ()", "expression", "does not parse"),
        ("account + account", "unsupported", "cast one of them"),
        ("account and true", "unsupported", "boolean"),
        ("cast(n as smallint)", "unsupported", "smallint"),
        ("account rlike '\\\\p{L}'", "unsupported", "\\p"),
        ("account rlike '('", "expression", "not a regular expression"),
        ("current_timestamp()", "replay", "current_timestamp"),
        ("current_date", "replay", "current_date"),
        ("rand() > 0.5", "replay", "rand"),
        ("uuid()", "replay", "uuid"),
        ("unix_timestamp()", "replay", "unix_timestamp"),
        ("'a' || n + 1", "unsupported", "parentheses"),
    ],
)
def test_refusals(sql: str, code: str, words: str) -> None:
    error = refused(sql)
    assert error.code == code
    assert words in str(error)


def test_errors_are_the_pipelines_and_cross_processes() -> None:
    error = refused("amuont > 1")
    assert isinstance(error, PipelineError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_deep_nesting_is_refused_in_words() -> None:
    error = refused("abs(" * 300 + "n" + ")" * 300)
    assert "nested too deep" in str(error)


def test_long_chains_compile() -> None:
    assert run(" or ".join(f"n = {each}" for each in range(300)), {"n": 299}) is True
    assert run(" || ".join(["account"] * 300), {"account": "x"}) == "x" * 300


class TestUndeclared:
    def test_the_values_say_the_type(self) -> None:
        compiled = compile_expression("amount * 1.5", None)
        assert compiled.type == UNKNOWN
        assert [compiled.function({"amount": each}) for each in (2, 2.0, None, "4")] == [3.0, 3.0, None, 6.0]
        assert compiled.function({}) is None

    def test_a_value_that_does_not_fit_raises(self) -> None:
        with pytest.raises(ExpressionError, match="boolean"):
            run("amount + 1", {"amount": True}, None)

    def test_nested_parts(self) -> None:
        assert run("user.address.city", {"user": {"address": {"city": "Ulm"}}}, None) == "Ulm"
        assert run("user.address.city", {"user": None}, None) is None
        assert run("items[1].price + 1", {"items": [{}, {"price": 4}]}, None) == 5
        assert run("size(items)", {"items": [1, 2]}, None) == 2
        with pytest.raises(IndexError):
            run("items[5] + 1", {"items": [1]}, None)

    def test_an_unknown_column_of_a_known_schema(self) -> None:
        schema = Schema.of({"a": "long", "b": "unknown"})
        compiled = compile_expression("a + b", schema)
        assert [compiled.function({"a": 1, "b": each}) for each in (2, 2.5)] == [3, 3.5]

    def test_the_subset_is_checked_all_the_same(self) -> None:
        assert refused("sum(a)", None).code == "unsupported"
        assert refused("current_timestamp", None).code == "replay"

    def test_a_bare_column_takes_anything(self) -> None:
        thing = object()
        assert run("x", {"x": thing}, None) is thing


def test_rows_see_the_values_that_came() -> None:
    made = compile_row({"n": "n + 1", "m": "n"}, Schema.of({"n": "long"}), keep=True)
    assert made.function({"n": 1, "other": 0}) == {"n": 2, "other": 0, "m": 1}
    assert made.types == {"n": "long", "m": "long"}


def test_every_function_is_described() -> None:
    for name, function in FUNCTIONS.items():
        assert function.signature.startswith(f"{name}(") and " -> " in function.signature
        assert function.summary.endswith(".")
