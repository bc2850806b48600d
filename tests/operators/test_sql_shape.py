"""What is known of SQL before Spark has seen it."""

from __future__ import annotations

import pytest

from whorl.operators.native import Select
from whorl.operators.sql import shape, wrong_statement
from whorl.schema import UNKNOWN, Schema

ORDERS = Schema.of({"id": "string", "amount": "double", "n": "int", "at": "timestamp", "s": "struct<x:long>"})
USERS = Schema.of({"id": "string", "name": "string"})


def columns(sql: str) -> list[tuple[str, str]] | None:
    found = shape(sql).columns({"orders": ORDERS, "users": USERS})
    return list(found.columns) if found else None


def lowered(sql: str) -> Select | None:
    rows = shape(sql).rows
    return rows.lowered(ORDERS) if rows else None


def test_statements_are_cut_where_semicolons_are() -> None:
    made = shape("CREATE TEMP VIEW v AS SELECT ';' AS x FROM a; -- ;\n SELECT x FROM v;\n")
    assert made.statements == ("CREATE TEMP VIEW v AS SELECT ';' AS x FROM a", "SELECT x FROM v")
    assert [(table.name, table.offset) for table in made.tables] == [("a", 43)]


def test_tables() -> None:
    sql = "WITH c AS (SELECT id FROM `my-src`) SELECT c.id FROM c, users u WHERE id IN (SELECT id FROM parquet.`/x`)"
    made = shape(sql)
    assert [(table.name, table.parent) for table in made.tables] == [("my-src", ""), ("users", ""), ("/x", "parquet")]
    assert [sql[table.offset] for table in made.tables] == ["`", "u", "p"]


@pytest.mark.parametrize(
    ("sql", "aggregates", "windowed", "joins"),
    [
        ("SELECT id FROM orders", False, False, False),
        ("SELECT count(*) AS n FROM orders", True, False, False),
        ("SELECT DISTINCT id FROM orders", True, False, False),
        ("SELECT id, sum(n) AS n FROM orders GROUP BY id", True, False, False),
        ("SELECT sum(n) AS n FROM orders GROUP BY window(at, '1 minute')", True, True, False),
        ("SELECT window(at, '1 minute').start AS w, max(n) AS n FROM orders GROUP BY ALL", True, True, False),
        ("SELECT sum(n) AS n FROM orders GROUP BY session_window(at, '5 s')", True, True, False),
        ("SELECT sum(n) OVER (ORDER BY id) AS n FROM orders", False, False, False),
        ("SELECT a.id FROM orders a JOIN users b ON a.id = b.id", False, False, True),
    ],
)
def test_kinds(sql: str, aggregates: bool, windowed: bool, joins: bool) -> None:
    made = shape(sql)
    assert made.known and (made.aggregates, made.windowed, made.joins) == (aggregates, windowed, joins)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM users", [("id", "string"), ("name", "string")]),
        ("SELECT n + 1 AS m, s.x, upper(id) u FROM orders", [("m", "int"), ("x", "long"), ("u", "string")]),
        ("SELECT o.*, u.name FROM orders o JOIN users u ON o.id = u.id", [*ORDERS.columns, ("name", "string")]),
        ("SELECT count(*) AS c, sum(n) t, avg(n) a, max(at) m FROM orders",
         [("c", "long"), ("t", "long"), ("a", "double"), ("m", "timestamp")]),
        ("SELECT window.end AS w, sum(amount) FILTER (WHERE n > 1) f FROM orders GROUP BY window(at, '1 minute')",
         [("w", "timestamp"), ("f", "double")]),
        ("WITH c (k, v) AS (SELECT id, n FROM orders) SELECT v, k FROM c", [("v", "int"), ("k", "string")]),
        ("SELECT x FROM (SELECT n AS x FROM orders)", [("x", "int")]),
        ("SELECT id FROM orders UNION ALL SELECT id FROM users", [("id", "string")]),
        ("CREATE TEMP VIEW v AS SELECT id AS k FROM users; SELECT k FROM v", [("k", "string")]),
        ("SELECT mystery(n) AS x FROM orders", [("x", UNKNOWN)]),
        ("SELECT n * 2 FROM orders", None),
        ("SELECT * EXCEPT (id) FROM orders", None),
        ("SELECT * FROM orders JOIN users USING (id)", None),
        ("SELECT * FROM nowhere", None),
        ("SELECT a.id, b.id FROM orders a JOIN users b ON a.id = b.id", None),
        ("SELECT id FROM orders MATCH (x", None),
    ],
)  # fmt: skip
def test_columns(sql: str, expected: list[tuple[str, str]] | None) -> None:
    assert columns(sql) == expected


def test_a_select_of_rows_keeps_the_users_words() -> None:
    made = lowered(
        "SELECT o.id,  o . amount*2 /* twice */ + 1 AS t, s.x\nFROM orders AS o -- all\nWHERE o.n>1 AND 'o.n' <> o.id"
    )
    assert made is not None
    assert made.condition == "n>1 AND 'o.n' <> id"
    assert made.columns == (("id", "id"), ("t", "amount*2 /* twice */ + 1"), ("x", "s.x"))


def test_a_star_is_all_columns() -> None:
    made = lowered("SELECT orders.*, n + 1 AS m FROM orders")
    assert made is not None and made.condition is None
    assert [name for name, _ in made.columns] == [*ORDERS.names, "m"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT n * 2 FROM orders",
        "SELECT max(n) AS n FROM orders",
        "SELECT DISTINCT id FROM orders",
        "SELECT explode(tags) AS t FROM orders",
        "SELECT id FROM orders LATERAL VIEW explode(tags) AS t",
        "SELECT row_number() OVER (ORDER BY at) AS n FROM orders",
        "SELECT id FROM orders WHERE id IN (SELECT id FROM users)",
        "SELECT id FROM orders LIMIT 1",
        "SELECT id FROM orders ORDER BY id",
        "SELECT id FROM orders GROUP BY id",
        "SELECT id FROM orders, users",
        "SELECT id FROM (SELECT id FROM orders)",
        "WITH c AS (SELECT 1 AS x) SELECT id FROM orders",
        "SELECT id FROM orders UNION ALL SELECT id FROM orders",
        "SELECT id FROM orders TABLESAMPLE (1 PERCENT)",
        "SELECT /*+ COALESCE(1) */ id FROM orders",
        "FROM orders SELECT id",
        "SELECT ALL id FROM orders",
        "SELECT * EXCEPT (id) FROM orders",
        "SELECT n AS k, k + 1 AS l FROM orders",
        "SELECT *, n + 1 AS N FROM orders",
        "SELECT n.x AS y FROM orders AS n",
        "SELECT 1 AS a; SELECT 2 AS b",
        "SELECT id FROM db.orders",
        "SELECT id FROM orders |> WHERE n > 1",
    ],
)
def test_what_is_more_than_rows(sql: str) -> None:
    assert lowered(sql) is None


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT rand(), randn(), uuid(), shuffle(a), monotonically_increasing_id(), spark_partition_id() FROM t",
         ["rand", "randn", "uuid", "shuffle", "monotonically_increasing_id", "spark_partition_id"]),
        ("SELECT current_timestamp, current_date(), now(), unix_timestamp() FROM t",
         ["current_timestamp", "current_date", "now", "unix_timestamp"]),
        ("SELECT unix_timestamp(at), t.now, 'rand()', `uuid`, n AS current_date FROM t", []),
        ("SELECT * FROM t TABLESAMPLE (5 ROWS)", ["TABLESAMPLE"]),
        ("SELECT * FROM t ORDER BY a LIMIT 3", ["ORDER BY", "LIMIT"]),
        ("SELECT * FROM (SELECT * FROM t SORT BY a)", ["SORT BY"]),
        ("SELECT rank() OVER (PARTITION BY a ORDER BY b) FROM t", []),
        ("SELECT first(a), last(a), any_value(a) FROM t", ["first", "last", "any_value"]),
        ("SELECT collect_list(a), collect_set(a), array_agg(a) FROM t", ["collect_list", "collect_set", "array_agg"]),
        ("SELECT sort_array(collect_list(a)), size(collect_set(a)) FROM t", []),
        ("SELECT listagg(a, ',') WITHIN GROUP (ORDER BY a), listagg(b) FROM t", ["listagg"]),
        ("SELECT THIS IS NOT SQL rand( FROM", ["rand"]),
    ],
)  # fmt: skip
def test_what_changes_on_replay(sql: str, words: list[str]) -> None:
    found = shape(sql).replay
    assert [each.word for each in found] == words
    assert all(sql[each.offset :].upper().startswith(each.word.upper()[:4]) and each.reason for each in found)


@pytest.mark.parametrize(
    ("sql", "offset"),
    [
        ("SELECT 1 AS a", None),
        ("WITH c AS (SELECT 1 AS x) SELECT x FROM c", None),
        ("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1 AS a; SELECT a FROM v", None),
        ("INSERT INTO t SELECT 1", 0),
        ("SELECT 1 AS a; SELECT 2 AS b", 0),
        ("CREATE VIEW v AS SELECT 1 AS a; SELECT 2 AS b", 0),
        ("SET x = 1; SELECT 2 AS b", 0),
        ("CREATE TEMP VIEW v AS SELECT 1 AS a; DROP VIEW v", 37),
        ("", 0),
        (" -- nothing\n", 0),
    ],
)
def test_statements_that_cannot_stand_there(sql: str, offset: int | None) -> None:
    wrong = wrong_statement(sql)
    assert (wrong[0] if wrong else None) == offset
