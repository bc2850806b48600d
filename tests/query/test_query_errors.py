"""What Spark finds wrong is told with the line of the pipeline, Spark's error class and the column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hosts import AtRest

from whorl.errors import Location, OperatorFailed, PipelineError, Superseded, Unavailable
from whorl.query.errors import Path, as_whorl_error

pytestmark = pytest.mark.spark
Make = Callable[..., AtRest]


def pipeline(*operators: str) -> str:
    return (
        "name: demo\nsources: {s: {type: kafka, topic: s, schema: {who: string, x: double, n: long}}}\n"
        "operators:\n"
        + "".join(f"  - {each}\n" for each in operators)
        + "sinks: {out: {type: kafka, topic: out, from: last}}\n"
    )


def place(node: str, path: Path, offset: int) -> Location:
    return Location(f"{node}.{'.'.join(map(str, path))}", 1, offset + 1)


SQL = "SELECT who, count(*) AS n\nFROM s WHERE {} GROUP BY who"


@pytest.mark.parametrize(
    ("operator", "where", "said"),
    [
        (
            "{id: last, type: sql, mode: update, query: \"SELECT who, count(*) AS n\\nFROM s WHERE whom > '1' GROUP BY who\"}",
            "last.query:1:40",
            "'last': [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `whom` cannot be",
        ),
        (
            '{id: last, type: sql, mode: update, query: "SELECT who, sum(date_add(who, n)) AS n FROM s GROUP BY who"}',
            "last.query:1:17",
            "'last': [DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE]",
        ),
        (
            "{id: last, type: filter, from: s, host: query, where: nosuch(who) > 1}",
            "last.where:1:1",
            "'last': [UNRESOLVED_ROUTINE]",
        ),
        (
            "{id: last, type: map, from: s, host: query, columns: {a: upper(who), b: '1 + nosuch(x)'}}",
            "last.columns.b:1:5",
            "'last': [UNRESOLVED_ROUTINE]",
        ),
    ],
)
def test_analysis(at_rest: Make, operator: str, where: str, said: str) -> None:
    with pytest.raises(PipelineError) as raised:
        at_rest(pipeline(operator)).compiled(place)
    error = raised.value
    assert (error.where, error.code) == (where, "spark-sql")
    assert error.message.startswith(said)
    assert "__whorl" not in error.message and "\n" not in error.message and "SQLSTATE" not in error.message


def test_a_row_on_which_spark_fails(at_rest: Make) -> None:
    made = at_rest(
        pipeline(
            "{id: f, type: filter, from: s, host: query, where: '10 div n > 1', on_error: fail}",
            "{id: last, type: forward, from: f}",
        ),
        s=[{"n": 0}],
    )
    with pytest.raises(Exception) as raised:
        made.query()
    error = as_whorl_error(raised.value, made.component, place)
    assert isinstance(error, PipelineError) and error.where == "f.where:1:1"
    assert error.message.startswith("'f': [DIVIDE_BY_ZERO] Division by zero.")


class Told(Exception):
    pass


@pytest.mark.parametrize(
    ("text", "kind", "code", "said"),
    [
        (
            "x whorl-failed {f} {t/0/7} ValueError: no\n\tat org.x",
            OperatorFailed,
            "operator-failed",
            "operator 'f' failed: ValueError: no",
        ),
        (
            "[STREAM_FAILED] Query [id = 1] terminated with exception: [CAST_INVALID_INPUT] The value 'x' cannot be cast. SQLSTATE: 22018",
            PipelineError,
            "spark-sql",
            "[CAST_INVALID_INPUT] The value 'x' cannot be cast.",
        ),
        (
            "[KAFKA_DATA_LOSS.START_OFFSET_RESET] Some data may have been lost.",
            Unavailable,  # the next start counts what is gone, and goes by `on_gap`
            "data-lost",
            "[KAFKA_DATA_LOSS",
        ),
        (
            "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 7.",
            Superseded,
            "superseded",
            "another driver runs",
        ),
        (
            "Traceback (most recent call last):\n  File x\nValueError: it broke\n",
            PipelineError,
            "udf",
            "raised ValueError: it broke",
        ),
        (
            "org.apache.kafka.common.errors.TimeoutException: Timed out",
            Unavailable,
            "unavailable",
            "the query 'last' failed",
        ),
        ("java.lang.OutOfMemoryError: heap\n\tat x", Unavailable, "spark", "java.lang.OutOfMemoryError: heap"),
    ],
)
def test_whatever_ends_a_query(at_rest: Make, text: str, kind: Any, code: str, said: str) -> None:
    component = at_rest(
        pipeline("{id: last, type: python, from: s, host: query, function: json.dumps, returns: {a: string}}")
    ).component
    error = as_whorl_error(Told(text), component, place)
    assert type(error) is kind and error.code == code and said in error.message
    if isinstance(error, OperatorFailed):
        assert error.position == "t/0/7"
