"""Components that are more than row by row, over records at rest."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from hosts import AtRest
from pyspark.sql import SparkSession

from whorl.errors import OperatorFailed, PipelineError
from whorl.formats import codec
from whorl.plan.plan import OutputKind
from whorl.query.dead import dead_letters
from whorl.query.errors import as_whorl_error
from whorl.schema import Schema
from whorl.testing import Given

pytestmark = pytest.mark.spark
Make = Callable[..., AtRest]
SOURCE = """
name: demo
sources:
  s: {type: kafka, topic: s, schema: {who: string, x: double, n: long}}
"""
ROWS: list[Any] = [
    {"who": "a", "x": 1.5, "n": 1},
    {"who": "b", "x": 2.0, "n": 2},
    {"who": "a", "x": 3.0, "n": 0},
    Given("bad", key="k", headers={"h": "1"}, timestamp=5),
    {"who": "a", "x": 1.5, "n": 1},
]


def pipeline(operators: str, sinks: str = "out: {type: kafka, topic: out, from: last, key: who}") -> str:
    return f"{SOURCE}operators:\n{operators}\nsinks:\n  {sinks}\n"


def rows_of(pair: AtRest, topic: str = "out") -> list[Any]:
    return sorted(((key, orjson.loads(value)) for _, key, value, _, _ in pair.query()[topic]), key=repr)


def test_sql_over_a_filter(at_rest: Make) -> None:
    pair = at_rest(
        pipeline(
            "  - {id: f, type: filter, from: s, where: x > 1}\n"
            "  - {id: last, type: sql, from: f, query: 'SELECT who, sum(x) AS total, count(*) AS n FROM f GROUP BY who'}"
        ),
        s=ROWS,
    )
    assert rows_of(pair) == [(b"a", {"who": "a", "total": 6.0, "n": 3}), (b"b", {"who": "b", "total": 2.0, "n": 1})]
    compiled = pair.compiled()
    assert compiled.schemas == {"out": Schema.of({"who": "string", "total": "double", "n": "long"})}
    assert not compiled.row_by_row
    assert compiled.written is not None and compiled.written.columns == ["output", "partition", "key", "value"]


def test_views_of_one_step_are_not_seen_by_the_next(at_rest: Make) -> None:
    query = "CREATE TEMPORARY VIEW v AS SELECT who, x * 2 AS x FROM input; SELECT who, max(x) AS x FROM v GROUP BY who"
    pair = at_rest(
        pipeline(
            f"  - {{id: one, type: sql, from: s, query: '{query}'}}\n  - {{id: last, type: sql, from: one, query: '{query}'}}"
        ),
        s=ROWS,
    )
    assert rows_of(pair) == [(b"a", {"who": "a", "x": 12.0}), (b"b", {"who": "b", "x": 8.0})]
    assert pair.session.sql("SHOW VIEWS").collect() == []


PYTHON = """
from __future__ import annotations

from whorl import Record

def each(row, metadata):
    if row["n"] == 0:
        raise ValueError(f"no {row['who']}")
    if row["n"] == 2:
        return [Record({"who": "r", "x": row["x"]}, key="new", headers=[("t", metadata.topic.encode())], timestamp=7), {"who": "s"}]
    return {"who": row["who"], "x": row["x"] * 2, "extra": 1}

def wrong(row):
    return {"who": row["who"], "x": "text" if row["n"] == 2 else 1}

def shout(text):
    return text.upper() + "!"
"""


@pytest.fixture(scope="module")
def query_steps(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """User code that driver and workers import."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "query_steps.py").write_text(PYTHON)
    spark.sparkContext.addPyFile(str(folder / "query_steps.py"))
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))


def test_a_udf_by_import_path(at_rest: Make, query_steps: None) -> None:
    query = "SELECT shout(who) AS who, count(*) AS n FROM s GROUP BY 1"
    pair = at_rest(
        pipeline(f"  - {{id: last, type: sql, query: '{query}', udfs: {{shout: {{function: query_steps.shout}}}}}}"),
        s=ROWS,
    )
    assert rows_of(pair) == [(b"A!", {"who": "A!", "n": 3}), (b"B!", {"who": "B!", "n": 1})]


def test_each_value_once(at_rest: Make) -> None:
    pair = at_rest(pipeline("  - {id: last, type: deduplicate, from: s, columns: [who]}"), s=ROWS)
    assert [key for key, _ in rows_of(pair)] == [b"a", b"b"]
    pair = at_rest(pipeline("  - {id: last, type: distinct, from: s}"), s=ROWS)
    assert len(rows_of(pair)) == 3
    pair = at_rest(pipeline("  - {id: last, type: distinct, from: s, columns: [who]}"), s=ROWS)
    assert rows_of(pair) == [(b"a", {"who": "a"}), (b"b", {"who": "b"})]


MIXED = pipeline(
    "  - {id: f, type: validate, from: s, rules: {whole: '10 / n > 0', small: x < 3}}\n"
    "  - {id: last, type: sql, from: f, query: 'SELECT who, count(*) AS n FROM f GROUP BY who'}"
)


def test_rows_that_fail_before_an_aggregation_are_counted_and_found_again(at_rest: Make) -> None:
    pair = at_rest(MIXED, s=ROWS)
    compiled = pair.compiled()
    assert compiled.observed == ("f: s", "f: f..last")
    assert rows_of(pair) == [(b"a", {"who": "a", "n": 2}), (b"b", {"who": "b", "n": 1})]
    frame, topics = dead_letters(pair.session, pair.component, pair.reading(), lambda *_: None)
    assert topics == ("demo.dead",) and frame.columns == ["output", "partition", "key", "value", "timestamp", "headers"]
    found = {bytes(row.value): row for row in frame.collect()}
    assert len(found) == 2
    bad = found[b"bad"]
    headers = {h["key"]: bytes(h["value"]).decode() for h in bad.headers}
    assert (bytes(bad.key), bad.timestamp, headers["h"], headers["whorl-operator"]) == (b"k", 5, "1", "s")
    assert headers["whorl-error"] == "ValueError: the value is not json that fits the columns of 's'"
    (other,) = (row for value, row in found.items() if value != b"bad")
    told = {h["key"]: bytes(h["value"]).decode() for h in other.headers}
    assert told["whorl-operator"] == "f" and "10 / n > 0" in told["whorl-error"]


def test_a_rule_after_an_aggregation_has_the_row_as_dead_letter(at_rest: Make) -> None:
    operators = (
        "  - {id: sums, type: sql, from: s, query: 'SELECT who, sum(x) AS x FROM s GROUP BY who'}\n"
        "  - {id: last, type: validate, from: sums, rules: {small: x < 5}}"
    )
    written = at_rest(pipeline(operators), s=ROWS).query()
    assert [orjson.loads(record[2]) for record in written["out"]] == [{"who": "b", "x": 2.0}]
    ((_, _, value, _, headers),) = written["demo.dead"]
    assert orjson.loads(value) == {"who": "a", "x": 6.0} and ("whorl-operator", b"last") in headers


def test_rows_of_an_aggregation_beside_rows_of_records(at_rest: Make) -> None:
    """One fails in each branch, and one record is no row: three letters, each once."""
    operators = (
        "  - {id: sums, type: sql, from: s, query: 'SELECT who, sum(x) AS x FROM s GROUP BY who'}\n"
        "  - {id: plain, type: sql, from: s, query: 'SELECT who, x FROM s'}\n"
        "  - {id: last, type: validate, from: [sums, plain], rules: {small: x < 3}}"
    )
    pair = at_rest(pipeline(operators), s=ROWS)
    written = pair.query()
    assert sorted(orjson.loads(value)["x"] for _, _, value, _, _ in written["out"]) == [1.5, 1.5, 2.0, 2.0]
    letters = [
        (orjson.loads(value), dict(headers)["whorl-operator"]) for _, _, value, _, headers in written["demo.dead"]
    ]
    assert sorted(letters, key=repr) == [({"who": "a", "x": 3.0}, b"last"), ({"who": "a", "x": 6.0}, b"last")]
    frame, _ = dead_letters(pair.session, pair.component, pair.reading(), lambda *_: None)
    assert [bytes(row.value) for row in frame.collect()] == [b"bad"]


@pytest.mark.parametrize(("policy", "kept"), [("skip", [b"b"]), ("dead_letter", None)])
def test_a_rule_between_two_aggregations(at_rest: Make, policy: str, kept: Any) -> None:
    operators = (
        "  - {id: sums, type: sql, from: s, query: 'SELECT who, sum(x) AS x FROM s GROUP BY who'}\n"
        f"  - {{id: rule, type: validate, from: sums, rules: {{small: x < 5}}, on_error: {policy}}}\n"
        "  - {id: last, type: sql, from: rule, query: 'SELECT who, max(x) AS x FROM rule GROUP BY who'}"
    )
    pair = at_rest(pipeline(operators), s=ROWS)
    if kept is None:
        with pytest.raises(PipelineError, match="come from no record"):
            pair.compiled()
    else:
        assert [key for key, _ in rows_of(pair)] == kept


FAILING = {
    "s": "name: demo\nsources:\n  s: {type: kafka, topic: s, schema: {who: string, x: double, n: long}, on_error: fail}\n"
    "operators: [{id: last, type: filter, from: s, where: x > 0}]\nsinks: {out: {type: kafka, topic: out, from: last}}\n",
    "rule": pipeline("  - {id: rule, type: validate, from: s, rules: {small: x < 2}, on_error: fail}",
                     "out: {type: kafka, topic: out, from: rule}"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("who", "said"),
    [
        ("s", "ValueError: the value is not json that fits the columns of 's'"),
        ("rule", "ValueError: rule 'small' is not kept: x < 2"),
    ],
)
def test_fail_names_the_record(at_rest: Make, who: str, said: str) -> None:
    pair = at_rest(FAILING[who], s=[Given("bad")] if who == "s" else [ROWS[0], ROWS[1]])
    with pytest.raises(Exception) as raised:
        pair.query()
    error = as_whorl_error(raised.value, pair.component, lambda *_: None)
    assert isinstance(error, OperatorFailed)
    assert (error.operator, error.error, error.position) == (who, said, "s/0/0" if who == "s" else "s/0/1")


def test_where_nobody_writes_dead_letters_none_is_lost(at_rest: Make) -> None:
    text = pipeline("  - {id: last, type: filter, from: s, where: x > 0}")
    made = at_rest(text, s=[ROWS[0]])
    made.with_kind(OutputKind.FILE)
    compiled = made.compiled()
    assert compiled.written is None and compiled.rows is not None
    assert [tuple(row) for row in compiled.rows.collect()] == [("a", 1.5, 1)]
    made.send("s", [Given("bad")])
    with pytest.raises(Exception, match="the value is not json that fits"):
        made.compiled().rows.collect()


def test_what_a_query_does_not_know_it_refuses(at_rest: Make) -> None:
    text = (
        "name: demo\nsources: {s: {type: kafka, topic: s}}\noperators: [{id: f, type: filter, from: s, where: x > 1}]\n"
    )
    with pytest.raises(PipelineError, match="the columns of 's' are not known"):
        at_rest(text + "sinks: {out: {type: kafka, topic: out, from: f}}\n").compiled()
    text = pipeline(
        "  - {id: f, type: filter, from: s, where: x > 1}", "out: {type: kafka, topic: out, from: f, format: text}"
    )
    with pytest.raises(PipelineError, match="there is no column 'value' to write to 'out'"):
        at_rest(text).compiled()


def test_between_components_every_value_comes_back(at_rest: Make) -> None:
    schema = "{d: double, f: float, m: 'decimal(30,10)', t: timestamp, b: binary, a: array<double>, st: 'struct<x:double,m:decimal(20,6)>'}"
    text = f"""
name: demo
sources: {{s: {{type: kafka, topic: s, schema: {schema}}}}}
operators: [{{id: f, type: filter, from: s, where: "true"}}]
sinks: {{out: {{type: kafka, topic: out, from: f}}}}
"""
    rows = [
        {"d": "NaN", "f": 0.1, "m": "12345678901234567890.0123456789", "t": "2024-01-01T00:00:00.000001Z", "b": "aGk="},
        {"d": "-Infinity", "a": [1.5, None, "NaN"], "st": {"x": "Infinity", "m": "12345678901234.654321"}},
    ]
    pair = at_rest(text, s=rows)
    pair.with_kind(OutputKind.EDGE)
    encoded = [record[2] for record in pair.query()["out"]]
    (input,) = pair.component.inputs
    decode = codec(input.format, input.schema).decode
    given = [decode(entry.value) for entry in pair.topics["s"]]
    assert [repr(decode(value)) for value in encoded] == [repr(row) for row in given]


def test_python_in_a_query(at_rest: Make, query_steps: None) -> None:
    call = "{id: last, type: python, from: s, host: query, returns: {who: string, x: double}, function: query_steps."
    pair = at_rest(pipeline(f"  - {call}each}}", "out: {type: kafka, topic: out, from: last}"), s=ROWS)
    written = pair.query()
    assert sorted((orjson.loads(v)["who"], orjson.loads(v)["x"], k, t) for _, k, v, t, _ in written["out"])[-2:] == [
        ("r", 2.0, b"new", 7),
        ("s", None, None, written["out"][0][3]),
    ]
    errors = sorted(dict(headers)["whorl-error"] for *_, headers in written["demo.dead"])
    assert errors == [b"ValueError: no a", b"ValueError: the value is not json that fits the columns of 's'"]
    pair = at_rest(pipeline(f"  - {call}wrong}}", "out: {type: kafka, topic: out, from: last}"), s=ROWS)
    written = pair.query()
    assert len(written["out"]) == 3 and len(written["demo.dead"]) == 2
