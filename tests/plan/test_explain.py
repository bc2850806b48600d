"""Plans as text, JSON and Mermaid against golden files; `WHORL_UPDATE_GOLDEN=1 pytest tests/plan` writes them anew."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from whorl.plan.explain import explain
from whorl.plan.plan import Plan
from whorl.plan.structured import as_json, as_mermaid

MakePlan = Callable[..., Plan]
GOLDEN = Path(__file__).with_name("golden")
FORMS = {"txt": explain, "json": as_json, "mmd": as_mermaid}
FRAUD = """
name: fraud
sources:
  transactions:
    {type: kafka, topic: transactions, key: account, schema: {account: string, amount: double}, on_error: fail}
  trial: {type: list, rows: [{account: a, amount: 2000.0}]}
operators:
  - {id: both, type: union, from: [transactions, trial]}
  - {id: large, type: filter, where: amount > 1000, on_error: skip}
  - {id: route, type: branch, outputs: [{name: huge, where: amount > 10000}], default: rest}
  - {id: mark, type: select, from: route.huge, columns: [account], isolate: true}
sinks:
  alerts: {type: kafka, topic: alerts, from: mark, key: account}
  shown: {type: console, from: [route.rest, large]}
settings: {commit_interval: 50ms, guarantee: at_least_once}
"""
SHORT = """
- {id: p1, type: forward, to: [p2, p3]}
- {id: p2, type: sum, to: p4}
- {id: p3, type: forward, to: p4}
- {id: p4, type: sum, value: 10, to: sink}
"""
CONFIG = "{source_topic: in, sink_topic: out, parallelism: 2}"
COPY = (
    "{name: copy, sources: {in: {type: kafka, pattern: logs-.*, format: bytes}}, sinks: {out: {type: kafka, topic: b}}}"
)
TRANSACTIONS = """
sources:
  transactions:
    type: kafka
    topic: transactions
    key: account
    schema: {account: string, amount: double, at: timestamp}
    watermark: {column: at, delay: 10s}
"""
SPEND = "SELECT account, window.end AS until, sum(amount) AS total FROM large GROUP BY account, window(at, '1 minute')"
SQL_ONLY = f"""
name: spend
{TRANSACTIONS}
operators:
  - {{id: large, type: filter, where: amount > 1000}}
  - {{id: spend, type: sql, query: "{SPEND}"}}
sinks:
  totals: {{type: kafka, topic: totals, key: account}}
settings: {{trigger: 1s, state_partitions: 8}}
"""
SQL_PYTHON_SQL = f"""
name: mixed
{TRANSACTIONS}
operators:
  - {{id: large, type: sql, query: SELECT * FROM transactions WHERE amount > 1000}}
  - {{id: alert, type: python, function: json.dumps, returns: {{account: string, at: timestamp}}}}
  - {{id: alerts, type: sql, query: "SELECT account, count(*) AS alerts FROM alert GROUP BY account"}}
sinks:
  counted: {{type: kafka, topic: alerts, key: account}}
settings: {{tasks: 2}}
"""
FILE_TO_KAFKA = """
name: import
sources: {orders: {type: file, path: data/orders, format: csv, schema: {order: long, amount: double}, on_error: skip}}
operators: [{id: large, type: filter, where: amount > 1000}]
sinks: {out: {type: kafka, topic: orders, key: order}}
settings: {guarantee: at_least_once}
"""
KAFKA_TO_FILE = f"""
name: export
{TRANSACTIONS}
sinks: {{archive: {{type: file, path: data/archive, format: parquet}}}}
"""
STORES = """
name: shop
sources:
  payments: {type: kafka, topic: payments, schema: {id: long, account: string, amount: long, country: string}}
  accounts: {type: jdbc, url: 'jdbc:postgresql://db/shop?password=secret', table: accounts, schema: {account: string, name: string}, refresh: 10m}
  lands: {type: delta, path: lands, static: true, schema: {country: string, land: string}}
operators:
  - {id: named, type: join, from: [payments, accounts], on: account, kind: left}
  - {id: landed, type: join, from: [named, lands], on: country, kind: left}
  - {id: total, type: aggregate, from: payments, by: [account], columns: {n: count(*)}}
sinks:
  totals: {type: jdbc, url: 'jdbc:postgresql://db/shop?password=secret', table: totals, key: account, from: total}
  hook: {type: http, url: 'https://example.com/in', from: landed}
  visits: {type: hive, table: visits, partition_by: country, from: landed}
  lake: {type: delta, path: lake, from: payments}
"""
LIST_TO_SQL = """
name: trial
sources: {words: {type: list, rows: [{word: a}, {word: b}, {word: a}]}}
operators: [{id: counted, type: sql, query: "SELECT word, count(*) AS n FROM words GROUP BY word"}]
sinks: {shown: {type: console}}
"""
BOTH_HOSTS = f"""
name: both
{TRANSACTIONS}
operators:
  - {{id: large, type: filter, where: amount > 1000}}
  - {{id: spend, type: sql, from: large, query: "{SPEND}"}}
  - {{id: alert, type: python, from: large, function: json.dumps}}
sinks:
  alerts: {{type: kafka, topic: alerts, from: alert}}
  totals: {{type: kafka, topic: totals, from: spend, key: account}}
  spend_files: {{type: file, path: data/spend, format: parquet, from: spend}}
"""
REALTIME = f"""
name: fast
{TRANSACTIONS}
operators: [{{id: large, type: sql, query: "SELECT account, amount FROM transactions WHERE amount > 1000"}}]
sinks: {{out: {{type: kafka, topic: large}}}}
settings: {{trigger: realtime, guarantee: at_least_once}}
"""


def same_as_golden(name: str, text: str) -> None:
    file = GOLDEN / name
    if os.environ.get("WHORL_UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "text", "config", "settings"),
    [
        ("fraud", FRAUD, "", {}),
        ("short", SHORT, CONFIG, {}),
        ("short_topics", SHORT, CONFIG, {"edges": "topics"}),
        ("copy", COPY, "", {}),
        ("sql_only", SQL_ONLY, "", {}),
        ("sql_python_sql", SQL_PYTHON_SQL, "", {}),
        ("file_to_kafka", FILE_TO_KAFKA, "", {}),
        ("kafka_to_file", KAFKA_TO_FILE, "", {}),
        ("list_to_sql", LIST_TO_SQL, "", {}),
        ("stores", STORES, "", {}),
        ("both_hosts", BOTH_HOSTS, "", {}),
        ("realtime", REALTIME, "", {}),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else "",
)
def test_golden(plan_of: MakePlan, name: str, text: str, config: str, settings: dict[str, str], form: str) -> None:
    same_as_golden(f"{name}.{form}", FORMS[form](plan_of(text, config, **settings)))


def test_json_is_json(plan_of: MakePlan) -> None:
    content = json.loads(as_json(plan_of(SHORT, CONFIG, edges="topics")))
    assert content["slots"] == {"spare": 2, "total": 4 * 2 + 2}
    assert [component["spark"]["tasks"] for component in content["components"]] == [2, 2, 2, 2]


def test_slots_are_told_as_a_rule_where_the_broker_decides(plan_of: MakePlan) -> None:
    text = explain(plan_of(COPY))
    assert "of min(partitions, cores) long-running tasks, one slot each" in text
    assert json.loads(as_json(plan_of(COPY)))["slots"]["total"] is None


def test_standbys_take_slots(plan_of: MakePlan) -> None:
    plan = plan_of(
        "{name: p, sources: {in: {type: kafka, topic: in, key: k, schema: {k: string}}}, "
        "operators: [{id: n, type: count, key: k}], sinks: {out: {type: kafka, topic: out}}, "
        "settings: {tasks: 3, state: {standby: 2}}}"
    )
    assert json.loads(as_json(plan))["slots"]["total"] == 3 + 3 * 2 + 2
    text = explain(plan)
    assert "of 3 long-running tasks and 2 standby for each, one slot each" in text
    assert "1 component of 3 tasks each, 2 standby for each task of 1 component, + 2 spare" in text


def test_mermaid_escapes_what_it_would_take_for_its_own(plan_of: MakePlan) -> None:
    odd = "{sources: {'a\"#<b>': {type: list, rows: [1]}}, sinks: {out: {type: console}}}"
    assert "a#quot;#35;#lt;b#gt;<br/>list" in as_mermaid(plan_of(odd))
