"""Which host runs what, where that makes topics, and what query components are like."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from whorl.config.loader import load
from whorl.errors import CheckFailed
from whorl.flow.check import checked
from whorl.plan.plan import Component, Delivery, Host, OutputKind, Plan
from whorl.plan.planner import examine

MakePlan = Callable[..., Plan]
TIMED = "schema: {a: long, at: timestamp}, watermark: {column: at, delay: 10s}"
IN = f"sources: {{in: {{type: kafka, topic: orders, {TIMED}}}}}"
OUT = "sinks: {out: {type: kafka, topic: done}}"
SQL = "{id: spend, type: sql, query: SELECT a FROM input WHERE a > 1}"
PYTHON = "{id: alert, type: python, function: json.dumps, returns: {a: long, at: timestamp}}"
FILTER = "{id: large, type: filter, where: a > 1}"
WINDOW = "{id: spend, type: aggregate, by: [a], columns: {n: count(*)}, window: {column: at, size: 1m}}"
GROUP = "{id: spend, type: aggregate, by: [a], columns: {n: count(*)}}"


def pipeline(*operators: str, source: str = IN, sinks: str = OUT) -> str:
    return f"{source}\noperators: [{', '.join(operators)}]\n{sinks}\n"


def hosts(plan: Plan) -> dict[str, tuple[str, list[str]]]:
    return {c.id: (c.host.value, [placed.node.id for placed in c.operators]) for c in plan.components}


def reasons(plan: Plan) -> dict[tuple[str, str], str]:
    return {(cut.source, cut.target): cut.reason for cut in plan.cuts}


def only(plan: Plan) -> Component:
    (component,) = plan.components
    return component


# -- hosts ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operators", "expected"),
    [
        ([FILTER], {"large": ("tasks", ["large"])}),
        ([SQL], {"spend": ("query", ["spend"])}),
        ([FILTER, SQL], {"large": ("query", ["large", "spend"])}),
        ([FILTER, PYTHON], {"large": ("tasks", ["large", "alert"])}),
        ([PYTHON, FILTER, SQL], {"alert": ("tasks", ["alert", "large"]), "spend": ("query", ["spend"])}),
        ([SQL, FILTER, PYTHON], {"spend": ("query", ["spend", "large"]), "alert": ("tasks", ["alert"])}),
        ([FILTER.replace("}", ", host: query}")], {"large": ("query", ["large"])}),
        ([PYTHON.replace("alert,", "alert, host: query,"), SQL], {"alert": ("query", ["alert", "spend"])}),
        ([FILTER.replace("}", ", host: tasks}"), SQL], {"large": ("tasks", ["large"]), "spend": ("query", ["spend"])}),
    ],
)
def test_row_operators_go_with_their_neighbours(
    plan_of: MakePlan, operators: list[str], expected: dict[str, tuple[str, list[str]]]
) -> None:
    assert hosts(plan_of(pipeline(*operators))) == expected


def test_an_expression_that_tasks_do_not_compile_is_run_by_spark(plan_of: MakePlan) -> None:
    plan = plan_of(pipeline("{id: large, type: filter, where: 'bit_count(a) > 1'}"))
    assert hosts(plan) == {"large": ("query", ["large"])}
    assert "bit_count(a) > 1" in only(plan).reason


def test_the_reason_of_a_cut_names_both_sides(plan_of: MakePlan) -> None:
    plan = plan_of(pipeline(SQL, FILTER, PYTHON))
    assert reasons(plan) == {
        ("large", "alert"): "'large' runs in a query with 'spend'; 'alert' is python, which runs in tasks"
    }
    assert [component.reason for component in plan.components] == [
        "'spend' is sql, which runs in a query",
        "'alert' is python, which runs in tasks",
    ]


BOTH = f"""
{IN}
operators:
  - {FILTER}
  - {SQL.replace("sql,", "sql, from: large,")}
  - {PYTHON.replace("python,", "python, from: large,")}
sinks:
  one: {{type: kafka, topic: one, from: spend}}
  two: {{type: kafka, topic: two, from: alert}}
"""


def test_before_both_hosts_an_operator_runs_in_tasks(plan_of: MakePlan) -> None:
    plan = plan_of(BOTH)
    assert hosts(plan) == {"large": ("tasks", ["large", "alert"]), "spend": ("query", ["spend"])}
    assert reasons(plan) == {
        (
            "large",
            "spend",
        ): "'large' runs in tasks: what follows it is on both hosts; 'spend' is sql, which runs in a query"
    }


def test_a_source_is_read_by_each_host_on_its_own(plan_of: MakePlan) -> None:
    plan = plan_of(BOTH.replace(f"  - {FILTER}\n", "").replace("from: large", "from: in"))
    assert hosts(plan) == {"spend": ("query", ["spend"]), "alert": ("tasks", ["alert"])}
    assert [[input.id for input in component.inputs] for component in plan.components] == [["in"], ["in"]]
    assert plan.cuts == ()


# -- ends that one host alone has -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source", ["{type: list, rows: [{a: 1}, {a: 2}]}", "{type: rate, limit: 10}"], ids=["list", "rate"]
)
def test_a_counted_source_is_dealt_out_by_tasks(plan_of: MakePlan, source: str) -> None:
    sql = "{id: all, type: sql, query: SELECT * FROM input}"
    plan = plan_of(pipeline(sql, source=f"sources: {{trial: {source}}}"))
    assert hosts(plan) == {"trial": ("tasks", []), "all": ("query", ["all"])}
    (reason,) = reasons(plan).values()
    assert reason.startswith("'trial' is a ") and "which runs in tasks; 'all' is sql, which runs in a query" in reason
    trial, query = plan.components
    assert [(wire.source, wire.target) for wire in trial.wires] == [("trial", "demo.trial_all")]
    assert trial.outputs[0].format.type == query.inputs[0].format.type == "json"
    assert plan.upstream(query) == [trial]


def test_a_rate_without_end_runs_where_it_is_wanted(plan_of: MakePlan) -> None:
    plan = plan_of(pipeline("{id: all, type: sql, query: SELECT * FROM input}", source="sources: {r: {type: rate}}"))
    assert hosts(plan) == {"all": ("query", ["all"])}


FILES = "sources: {in: {type: file, path: data/in, schema: {a: long}}}"


def test_files_are_read_by_a_query(plan_of: MakePlan) -> None:
    assert hosts(plan_of(f"{FILES}\n{OUT}")) == {"out": ("query", [])}
    assert hosts(plan_of(pipeline(FILTER, source=FILES))) == {"large": ("query", ["large"])}
    plan = plan_of(pipeline(PYTHON, source=FILES))
    assert hosts(plan) == {"in": ("query", []), "alert": ("tasks", ["alert"])}
    assert reasons(plan) == {
        ("in", "alert"): "'in' is a file source, which runs in a query; 'alert' is python, which runs in tasks"
    }


TO_FILES = "sinks: {out: {type: file, path: data/out, format: parquet}}"


def test_a_folder_is_written_by_the_query_that_feeds_it(plan_of: MakePlan) -> None:
    for plan in (plan_of(f"{IN}\n{TO_FILES}"), plan_of(pipeline(FILTER, sinks=TO_FILES))):
        component = only(plan)
        assert (component.host, component.delivery) == (Host.QUERY, Delivery.FILES)
        (output,) = component.outputs
        assert (output.kind, output.topic) == (OutputKind.FILE, "")
        assert output.sink == plan.graph.nodes["out"].what


def test_behind_tasks_a_folder_is_a_component_of_its_own(plan_of: MakePlan) -> None:
    plan = plan_of(pipeline(PYTHON, sinks=TO_FILES))
    assert hosts(plan) == {"alert": ("tasks", ["alert"]), "out": ("query", [])}
    assert reasons(plan) == {
        ("alert", "out"): "'alert' is python, which runs in tasks; 'out' is a file sink, which runs in a query"
    }
    assert plan.components[1].delivery is Delivery.FILES


def test_beside_other_outputs_a_folder_is_a_component_of_its_own(plan_of: MakePlan) -> None:
    sinks = "sinks: {out: {type: file, path: data/out, from: spend}, also: {type: kafka, topic: also, from: spend}}"
    plan = plan_of(pipeline(SQL, sinks=sinks))
    assert hosts(plan) == {"spend": ("query", ["spend"]), "out": ("query", [])}
    assert reasons(plan) == {("spend", "out"): "'out' is a file sink, which is the only output of its query"}
    assert [component.delivery for component in plan.components] == [Delivery.LEDGER, Delivery.FILES]


def test_a_folder_has_one_writer(plan_of: MakePlan) -> None:
    """Two queries that write one folder would each take the other's log for its own."""
    two = SQL.replace("spend", "two")
    sinks = "sinks: {out: {type: file, path: data/out, from: [spend, two]}}"
    apart = pipeline(
        SQL.replace("sql,", "sql, from: in, isolate: true,"), two.replace("sql,", "sql, from: in,"), sinks=sinks
    )
    assert hosts(plan_of(apart)) == {"spend": ("query", ["spend"]), "two": ("query", ["two"]), "out": ("query", [])}


def test_folders_fed_from_one_source_need_no_topic(plan_of: MakePlan) -> None:
    one, two = (SQL.replace("sql,", "sql, from: in,").replace("spend", id) for id in ("one", "two"))
    sinks = "sinks: {x: {type: file, path: x, from: one}, y: {type: file, path: y, from: two}}"
    plan = plan_of(pipeline(one, two, sinks=sinks))
    assert hosts(plan) == {"one": ("query", ["one"]), "two": ("query", ["two"])}
    assert plan.cuts == ()


def test_components_without_operator_have_names_of_their_own(plan_of: MakePlan) -> None:
    sources = "sources: {files: {type: file, path: in, schema: {a: long}}, topic: {type: kafka, topic: t}}"
    plan = plan_of(f"{sources}\nsinks: {{out: {{type: kafka, topic: done, from: [files, topic]}}}}")
    assert sorted((component.id, component.host.value) for component in plan.components) == [
        ("out", "query"), ("topic", "tasks"),
    ]  # fmt: skip


# -- queries --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operator", "source", "mode"),
    [
        (SQL, IN, "append"),
        (WINDOW, IN, "append"),
        (WINDOW, IN.replace(", watermark: {column: at, delay: 10s}", ""), "update"),
        (WINDOW.replace("size: 1m}", "size: 1m}, watermark: {column: at}"), IN.replace("watermark: {column: at, delay: 10s}", ""), "append"),
        (GROUP, IN, "update"),
        (GROUP.replace("by:", "mode: append, by:"), IN, "append"),
        (WINDOW.replace("by:", "mode: update, by:"), IN, "update"),
        ("{id: spend, type: deduplicate, columns: [a]}", IN, "append"),
    ],
)  # fmt: skip
def test_mode(plan_of: MakePlan, operator: str, source: str, mode: str) -> None:
    assert only(plan_of(pipeline(operator, source=source))).mode == mode


def test_rows_that_leave_once_are_not_in_a_query_with_rows_that_change(plan_of: MakePlan) -> None:
    shared = [
        FILTER,
        WINDOW.replace("by:", "from: large, by:"),
        GROUP.replace("spend", "count").replace("by:", "from: large, by:"),
    ]
    plan = plan_of(pipeline(*shared, sinks=OUT.replace("done}", "done, from: [spend, count]}")))
    assert hosts(plan) == {"large": ("query", ["large", "spend"]), "count": ("query", ["count"])}
    assert [component.mode for component in plan.components] == ["append", "update"]
    assert reasons(plan) == {
        ("large", "count"): "rows of 'spend' leave once (append), those of 'count' each time they change (update)"
    }


@pytest.mark.parametrize(
    ("settings", "delivery"),
    [
        ({}, Delivery.LEDGER),
        ({"guarantee": "at_least_once"}, Delivery.NATIVE),
        ({"guarantee": "at_least_once", "trigger": "realtime"}, Delivery.REALTIME),
    ],
)
def test_delivery(plan_of: MakePlan, settings: dict[str, str], delivery: Delivery) -> None:
    component = only(plan_of(pipeline(SQL), **settings))
    assert component.delivery is delivery
    assert component.mode == ("update" if delivery is Delivery.REALTIME else "append")


@pytest.mark.parametrize(
    ("operator", "row_by_row", "stateful"),
    [
        (SQL, True, False),
        (FILTER.replace("}", ", host: query}"), True, False),
        (PYTHON.replace("alert,", "alert, host: query,"), False, False),
        (GROUP, False, True),
        ("{id: one, type: distinct}", False, True),
    ],
)
def test_what_is_kept(plan_of: MakePlan, operator: str, row_by_row: bool, stateful: bool) -> None:
    component = only(plan_of(pipeline(operator)))
    assert (component.is_query, component.row_by_row, component.stateful) == (True, row_by_row, stateful)


@pytest.mark.parametrize(("static", "stateful"), [(True, False), (False, True)])
def test_a_join_with_what_stays_keeps_nothing(plan_of: MakePlan, static: bool, stateful: bool) -> None:
    names = f"names: {{type: file, path: names, schema: {{a: long, name: string}}, static: {str(static).lower()}}}"
    source = IN.replace("}}}", f"}}}}, {names}}}").replace("delay: 10s}, names", "delay: 10s}}, names")
    plan = plan_of(pipeline("{id: both, type: join, from: [in, names], on: [a]}", source=source))
    assert only(plan).stateful is stateful


def test_topics_at_a_query_and_what_it_shows_are_json(plan_of: MakePlan) -> None:
    plan = plan_of(pipeline(PYTHON, SQL, sinks="sinks: {out: {type: console}}"))
    assert [[output.format.type for output in component.outputs] for component in plan.components] == [
        ["json"],
        ["json"],
    ]
    assert not any(input.raw for component in plan.components for input in component.inputs)


def test_nothing_is_copied_as_bytes_in_a_query(plan_of: MakePlan) -> None:
    text = "{sources: {in: {type: kafka, topic: a, format: text}}, sinks: {out: {type: kafka, topic: b}}}"
    copied = pipeline("{id: one, type: forward, host: query}", source=text[1:].split(", sinks")[0], sinks=OUT)
    assert only(plan_of(text)).raw is True
    assert only(plan_of(copied)).raw is False


@pytest.mark.parametrize(
    ("returns", "column"), [("a: long, at: timestamp", "at"), ("a: long, at: string", None), ("a: long", None)]
)
def test_a_watermark_is_kept_while_its_column_is(plan_of: MakePlan, returns: str, column: str | None) -> None:
    plan = plan_of(pipeline(PYTHON.replace("a: long, at: timestamp", returns), GROUP))
    marks = [input.watermark for component in plan.components for input in component.inputs]
    assert marks[0] is None, "tasks know no watermark"
    assert (marks[1].column if marks[1] else None) == column


def test_nothing_waits_for_a_watermark_where_rows_are_made_one_by_one(plan_of: MakePlan) -> None:
    assert only(plan_of(pipeline(SQL))).inputs[0].watermark is None
    assert only(plan_of(pipeline(SQL, GROUP.replace("spend", "count")))).inputs[0].watermark is not None


def test_of_two_watermarks_the_longer_holds(plan_of: MakePlan) -> None:
    late = f"late: {{type: kafka, topic: late, {TIMED}}}".replace("10s", "1h")
    source = f"sources: {{in: {{type: kafka, topic: orders, {TIMED}}}, {late}}}"
    plan = plan_of(pipeline("{id: both, type: union, from: [in, late], host: tasks}", GROUP, source=source))
    mark = plan.components[1].inputs[0].watermark
    assert mark and (mark.column, mark.delay) == ("at", 3600.0)


# -- refusals -------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def findings_of(plan_of: MakePlan) -> Callable[..., list[tuple[str, str, str]]]:
    """(code, message, hint) of all that the planner finds, and `make_plan` refuses."""

    def find(text: str, **settings: object) -> list[tuple[str, str, str]]:
        Path("demo.yaml").write_text(text)
        loaded = load("demo.yaml", overrides=[f"{name}={value}" for name, value in settings.items()])
        _, findings = examine(checked(loaded), loaded.settings)
        if findings:
            with pytest.raises(CheckFailed):
                plan_of(text, **settings)
        assert all(finding.at and finding.hint for finding in findings)
        return [(finding.code, finding.message, finding.hint) for finding in findings]

    return find


Findings = Callable[..., list[tuple[str, str, str]]]


@pytest.mark.parametrize(
    ("text", "settings", "words"),
    [
        (pipeline(GROUP), {}, ["operator 'spend'", "one row at a time"]),
        (pipeline(PYTHON.replace("alert,", "alert, host: query,")), {}, ["operator 'alert'", "Python"]),
        (pipeline(SQL, sinks=TO_FILES), {}, ["sink 'out'", "writes topics alone"]),
        (pipeline("{id: s, type: sql, query: SELECT a FROM input}", source=FILES), {}, ["source 'in'", "reads topics alone"]),
        (pipeline(SQL), {"max_per_batch": 5}, ["source 'in'", "no batches"]),
        (pipeline(SQL), {"guarantee": "exactly_once"}, ["sink 'out'", "repeat"]),
    ],
)  # fmt: skip
def test_real_time_is_refused_with_the_reason(
    findings_of: Findings, text: str, settings: dict[str, object], words: list[str]
) -> None:
    ((code, message, hint),) = findings_of(text, **{"trigger": "realtime", "guarantee": "at_least_once", **settings})
    assert code == "realtime"
    assert all(word in message for word in words)
    assert "`trigger`" in hint


def test_state_by_key_takes_rocksdb(findings_of: Findings) -> None:
    kept = pipeline("{id: seen, type: count, from: in, key: [a], host: query}")
    in_memory = {"state.query_backend": "filesystem"}
    ((code, message, hint),) = findings_of(kept, **in_memory)
    assert code == "host" and "operator 'seen' keeps state by key in a query" in message and "rocksdb" in hint
    assert findings_of(kept) == findings_of(kept.replace("host: query", "host: tasks"), **in_memory) == []
    assert findings_of(pipeline(GROUP), **in_memory) == []


def test_real_time_does_not_concern_tasks(findings_of: Findings) -> None:
    assert findings_of(pipeline(PYTHON), trigger="realtime") == []
    assert findings_of(pipeline(SQL), trigger="realtime", guarantee="at_least_once") == []


def test_a_query_reads_a_stream(findings_of: Findings) -> None:
    ((code, message, _),) = findings_of(pipeline(SQL, source=FILES.replace("}}}", "}, static: true}}")))
    assert code == "inputs"
    assert "'spend' reads no stream" in message


def test_dynamic_allocation_is_for_queries_alone(plan_of: MakePlan) -> None:
    sql = """
        sources: {in: {type: kafka, topic: in, format: json, schema: {n: long}}}
        operators: [{id: sql, type: sql, query: SELECT n FROM in}]
        sinks: {out: {type: kafka, topic: out, from: OF}}
        settings: {dynamic_allocation: true}
        """
    assert plan_of(sql.replace("OF", "sql")).settings.dynamic_allocation
    with pytest.raises(CheckFailed, match="'two' runs in tasks, which hold their executors for ever"):
        plan_of(
            sql.replace(
                "query: SELECT n FROM in}",
                "query: SELECT n FROM in}, {id: two, type: python, from: sql, function: 'builtins:dict'}",
            ).replace("OF", "two")
        )
