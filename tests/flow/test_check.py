from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

import whorl
from whorl.config.codes import CODES
from whorl.config.document import read
from whorl.config.loader import load
from whorl.config.validation import validate
from whorl.errors import CheckFailed, Location
from whorl.flow.check import check, checked
from whorl.units import Size

HEAD = """\
sources:
  s: {type: kafka, topic: t, schema: {id: string, amount: double, tags: array<string>}}
"""
TAIL = "sinks:\n  o: {type: list}\n"


def found(file="p.yaml", **options):
    findings = check(load(file, **options))
    assert all(finding.hint for finding in findings), findings
    assert {finding.code for finding in findings} <= set(CODES)
    return [f"{f.at.line}:{f.at.column} {f.code}" for f in findings]


def operators(*lines):
    """A pipeline with these operators, the first in line 4."""
    return HEAD + "operators:\n" + "".join(f"- {line}\n" for line in lines) + TAIL


CASES = {
    "a right one": (operators("{id: a, type: filter, where: amount > 1}"), []),
    # reading
    "unknown top key": ("name: x\nsource: {}\n" + HEAD + TAIL, ["2:1 unknown-key"]),
    "no map": ("just text\n", ["1:1 value"]),
    "empty": ("", ["1:1 value"]),
    "name": ("name: [a]\n" + HEAD + TAIL, ["1:7 value"]),
    "sources are no map": ("sources: [s]\n" + TAIL, ["1:10 value", "3:3 no-source"]),
    "source is no map": ("sources:\n  s: kafka\n" + TAIL, ["2:6 value"]),
    "operator is no map": (operators("filter"), ["4:3 value"]),
    "unknown source key": ("sources:\n  s: {type: kafka, tpoic: t}\n" + TAIL, ["2:20 unknown-key"]),
    "watermark without its column": ("sources:\n  s: {type: rate, watermark: {column: at}}\n" + TAIL, ["2:39 column"]),
    "watermark of a number": ("sources:\n  s: {type: rate, watermark: {column: value}}\n" + TAIL, ["2:39 type"]),
    "file without a schema": ("sources:\n  s: {type: file, path: in}\n" + TAIL, ["2:3 missing-key"]),
    "bad file format": ("sources:\n  s: {type: file, path: in, format: jsn, schema: {a: long}}\n" + TAIL, ["2:37 value"]),
    "header of a json file": (
        "sources:\n  s: {type: file, path: in, header: true, schema: {a: long}}\n" + TAIL, ["2:3 value"]
    ),
    "static file with a watermark": (
        "sources:\n  s: {type: file, path: in, static: true, schema: {t: timestamp}, watermark: {column: t}}\n" + TAIL,
        ["2:3 value"],
    ),
    "column of a file sink": (HEAD + "sinks:\n  o: {type: file, path: out, partition_by: [idd]}\n", ["4:45 column"]),
    "static file without a join": (
        "sources:\n  s: {type: file, path: in, static: true, schema: {a: long}}\n" + TAIL, ["4:6 inputs"]
    ),
    "text file of several columns": (HEAD + "sinks:\n  o: {type: file, path: out, format: text}\n", ["4:38 format"]),
    "csv file of an array": (HEAD + "sinks:\n  o: {type: file, path: out, format: csv}\n", ["4:38 format"]),
    "file of no columns": (
        HEAD + "sinks:\n  o: {type: file, path: out, partition_by: [id, amount, tags]}\n", ["4:6 format"]
    ),
    "watermark of a query": (
        operators("{id: a, type: sql, query: SELECT id FROM s, watermark: {column: amount}}"), ["4:67 type"]
    ),
    "bad trigger": (HEAD + TAIL + "settings: {trigger: slow}\n", ["5:21 value"]),
    "unknown operator key": (operators("{id: a, type: filter, were: amount > 1}"), ["4:25 unknown-key"]),
    "unknown edge key": (operators("{id: a, type: forward, from: {id: s, vai: topic}}"), ["4:40 unknown-key"]),
    "unknown error key": (operators("{id: a, type: forward, on_error: {action: retry, atempts: 2}}"), ["4:52 unknown-key"]),
    "unknown source type": ("sources:\n  s: {type: kafak, topic: t}\n" + TAIL, ["2:13 unknown-type"]),
    "unknown operator type": (operators("{id: a, type: tally}"), ["4:17 unknown-type"]),
    "unknown sink type": (HEAD + "sinks:\n  o: {type: fill}\n", ["4:13 unknown-type"]),
    "missing type": (operators("{id: a}"), ["4:3 missing-key"]),
    "missing id": (operators("{type: forward}"), ["4:3 missing-key"]),
    "missing option": (operators("{id: a, type: filter}"), ["4:3 missing-key"]),
    "missing topic": ("sources:\n  s: {type: kafka}\n" + TAIL, ["2:3 missing-key"]),
    "missing sink topic": (HEAD + "sinks:\n  o: {type: kafka}\n", ["4:3 missing-key"]),
    "two kinds of topic": ("sources:\n  s: {type: kafka, topic: t, pattern: x}\n" + TAIL, ["2:3 value"]),
    "bad topic name": ("sources:\n  s: {type: kafka, topic: a b}\n" + TAIL, ["2:27 value"]),
    "bad pattern": ("sources:\n  s: {type: kafka, pattern: '('}\n" + TAIL, ["2:29 value"]),
    "bad format": (HEAD + "sinks:\n  o: {type: kafka, topic: t, format: jsn}\n", ["4:38 unknown-type"]),
    "bad format in a map": (HEAD + "sinks:\n  o: {type: kafka, topic: t, format: {type: jsn}}\n", ["4:45 unknown-type"]),
    "format without a type": (HEAD + "sinks:\n  o: {type: kafka, topic: t, format: {delimiter: x}}\n", ["4:30 missing-key"]),
    "bad format option": (HEAD + "sinks:\n  o: {type: kafka, topic: t, format: {type: csv, delimitr: x}}\n", ["4:50 unknown-key"]),
    "format without columns": ("sources:\n  s: {type: kafka, topic: t, format: csv}\n" + TAIL, ["2:38 format"]),
    "format of a sink without columns": (
        "sources:\n  s: {type: kafka, topic: t}\nsinks:\n  o: {type: kafka, topic: t, format: csv}\n", ["4:38 format"]
    ),
    "bad column type": ("sources:\n  s: {type: kafka, topic: t, schema: {a: string, b: strng}}\n" + TAIL, ["2:53 value"]),
    "bad start": ("sources:\n  s: {type: kafka, topic: t, start: erliest}\n" + TAIL, ["2:37 value"]),
    "bad start time": ("sources:\n  s: {type: kafka, topic: t, start: {timestamp: noon}}\n" + TAIL, ["2:49 value"]),
    "bad offset": ("sources:\n  s: {type: kafka, topic: t, start: {offsets: {t: {0: x}}}}\n" + TAIL, ["2:55 value"]),
    "bad policy": (operators("{id: a, type: forward, on_error: skipp}"), ["4:36 value"]),
    "bad backoff": (operators("{id: a, type: forward, on_error: {action: retry, backoff: 5}}"), ["4:61 duration"]),
    "bad flag": (operators("{id: a, type: forward, isolate: perhaps}"), ["4:35 value"]),
    "dot in an id": (operators("{id: a.b, type: forward}"), ["4:8 value"]),
    "dot in a source's id": ("sources:\n  a.b: {type: rate}\n" + TAIL, ["2:3 value"]),
    "keys of a list": ("sources:\n  s: {type: list, rows: [1, 2], keys: [a]}\n" + TAIL, ["2:3 value"]),
    "settings": (HEAD + TAIL + "settings:\n  commit_interval: fast\n  taskz: 3\n", ["6:20 duration", "7:3 unknown-key"]),
    "contradiction": (HEAD + TAIL + "settings: {tasks: 4, max_tasks: 2}\n", ["5:19 contradiction"]),
    "timeout": (HEAD + TAIL + "settings: {timeout: 2m}\n", ["5:21 timeout"]),
    "duplicate key": (HEAD + TAIL + "sinks: {}\n", ["5:1 duplicate-key"]),
    "syntax": ("sources: [\n", ["2:1 yaml"]),
    "variable": ("sources:\n  s: {type: kafka, topic: '${NOT_SET}'}\n" + TAIL, ["2:27 variable"]),
    "variable of another type": (HEAD + TAIL + "settings:\n  tasks: ${NOT_SET}\n", ["6:10 variable"]),
    "include": ("include: no.yaml\n" + TAIL, ["1:10 include"]),
    # edges
    "unknown from": (operators("{id: a, type: forward, from: x}"), ["4:32 dangling-edge"]),
    "unknown from in a list": (operators("{id: a, type: forward, from: [s, {id: x, via: topic}]}"), ["4:41 dangling-edge"]),
    "unknown to": (operators("{id: a, type: forward, to: [o, x]}"), ["4:34 dangling-edge"]),
    "from a sink": (operators("{id: a, type: forward}", "{id: b, type: forward, from: [a, o]}"), ["5:36 dangling-edge"]),
    "to a source": (operators("{id: a, type: forward, to: [o, s]}"), ["4:34 dangling-edge"]),
    "duplicate id": (operators("{id: a, type: forward}", "{id: a, type: forward}"), ["5:3 duplicate-id"]),
    "id of a source": (operators("{id: s, type: forward, from: s}"), ["4:3 duplicate-id"]),
    "cycle": (
        operators("{id: a, type: forward, from: s}", "{id: b, type: forward, from: a}", "{id: c, type: forward, from: b, to: [a, o]}"),
        ["6:40 cycle"],
    ),
    "cycle of one": (operators("{id: a, type: forward, from: s, to: [a, o]}"), ["4:40 cycle"]),
    "loop without a source": (
        operators("{id: a, type: forward, from: b}", "{id: b, type: forward, from: a}", "{id: c, type: forward, from: s}"),
        ["4:3 no-source"],
    ),
    "feedback that leads on": (
        operators("{id: a, type: forward}", "{id: b, type: forward, from: {id: a, feedback: true}}"),
        ["5:3 no-source", "5:32 loop"],
    ),
    "a word about no loop": (operators("{id: a, type: forward, max_rounds: 3}"), ["4:38 loop"]),
    "no source": ("operators:\n- {id: a, type: forward}\n" + TAIL, ["2:3 no-source"]),
    "sink without a source": (TAIL, ["2:3 no-source"]),
    "nothing at all": ("name: x\n", ["1:1 missing-key", "1:1 missing-key"]),
    "no sinks": (HEAD + "operators:\n- {id: a, type: forward}\n", ["1:1 missing-key"]),
    "unused operator": (
        operators("{id: a, type: forward, from: s}", "{id: b, type: forward, from: s}"),
        ["4:3 unused"],
    ),
    "unused source": ("sources:\n  s: {type: rate}\n  t: {type: rate}\nsinks:\n  o: {type: list, from: t}\n", ["2:3 unused"]),
    "ambiguous": ("sources:\n  s: {type: rate}\n  t: {type: rate}\n" + TAIL, ["5:3 ambiguous"]),
    # columns and expressions
    "column of a key": ("sources:\n  s: {type: kafka, topic: t, key: idd, schema: {id: string}}\n" + TAIL, ["2:35 column"]),
    "column of an option": (operators("{id: a, type: drop, columns: [id, amout]}"), ["4:37 column"]),
    "column of an expression": (operators("{id: a, type: filter, where: amount > 1 AND idd = 'x'}"), ["4:47 column"]),
    "column that was dropped": (
        operators("{id: a, type: drop, columns: [id]}", '{id: b, type: filter, where: "id = \'x\'"}'),
        ["5:33 column"],
    ),
    "column of state": (operators("{id: a, type: sum, key: idd, of: amount}"), ["4:27 column"]),
    "no column to add up": (operators("{id: a, type: sum, key: id}"), ["4:3 missing-key"]),
    "column of a reduction": (operators("{id: a, type: reduce, init: 0, with: acc + amout}"), ["4:40 column"]),
    "column of a session": (operators("{id: a, type: sessionize, gap: 1m, aggregates: {x: sum(amout)}}"), ["4:54 column"]),
    "unknown aggregate": (operators("{id: a, type: sessionize, gap: 1m, aggregates: {x: mode(id)}}"), ["4:50 value"]),
    "column as a key": (operators("{id: a, type: rename, columns: {idd: x}}"), ["4:35 column"]),
    "unknown key beside right ones": (
        operators("{id: a, type: filter, where: amout > 1, foo: 1}"), ["4:32 column", "4:43 unknown-key"]
    ),
    "column of a sink": (HEAD + "sinks:\n  o: {type: kafka, topic: t, key: [id, nme]}\n", ["4:40 column"]),
    "column in a block": (
        operators("id: a\n  type: filter\n  where: |\n    amout > 1"), ["7:5 column"]
    ),
    "expression": (operators("{id: a, type: filter, where: amount >}"), ["4:39 expression"]),
    "expression in quotes": (operators('{id: a, type: filter, where: "amount > (1"}'), ["4:43 expression"]),
    "unsupported": (operators("{id: a, type: map, columns: {x: median(amount)}}"), ["4:35 unsupported"]),
    "no condition": (operators("{id: a, type: filter, where: amount + 1}"), ["4:32 type"]),
    "unsupported in tasks": (
        operators("{id: a, type: map, host: tasks, columns: {x: soundex(id)}}"), ["4:48 unsupported"]
    ),
    "replay outside the subset": (
        operators("{id: a, type: map, columns: {x: 'soundex(id) || uuid()'}}"), ["4:51 replay"]
    ),
    "replay in a query": (
        operators("id: a\n  type: sql\n  query: |\n    SELECT id,\n      rand() AS r\n    FROM s"), ["8:7 replay"]
    ),
    "replay in an aggregate": (
        operators("{id: a, type: aggregate, by: [id], columns: {x: 'first(amount)'}}"), ["4:52 replay"]
    ),
    "statement": (operators("{id: a, type: sql, query: 'SELECT 1 AS x; DROP TABLE t'}"), ["4:30 expression"]),
    "table": (operators("{id: a, type: sql, query: SELECT id FROM t}"), ["4:44 table"]),
    "table not read": (
        operators("{id: a, type: forward}", "{id: b, type: sql, from: a, query: SELECT s.id FROM s JOIN a USING (id)}"),
        ["5:55 table"],
    ),
    "udf": (
        operators("{id: a, type: sql, query: SELECT f(id) AS x FROM s, udfs: {f: {function: no_such_module.f}}}"),
        ["4:76 import"],
    ),
    "columns that a query must know": (
        "sources:\n  s: {type: kafka, topic: t}\noperators:\n- {id: a, type: distinct}\n" + TAIL, ["4:3 schema"]
    ),
    "columns that a file must know": (
        "sources:\n  s: {type: kafka, topic: t}\nsinks:\n  o: {type: file, path: out, from: s}\n", ["4:36 schema"]
    ),
    "columns of user code in a query": (
        operators("{id: a, type: python, function: json.dumps}", "{id: b, type: distinct, from: a}"), ["5:33 schema"]
    ),
    "types that a query must know": (
        "sources:\n  s: {type: list, rows: [{a: 1}, {a: x}]}\noperators:\n- {id: a, type: distinct}\n" + TAIL,
        ["4:3 schema"],
    ),
    "host of user code": (operators("{id: a, type: python, host: query, function: json.dumps}"), ["4:31 host"]),
    "host of a query": (operators("{id: a, type: distinct, host: tasks}"), ["4:33 host"]),
    "join of one": (operators("{id: a, type: join, on: id}"), ["4:3 inputs"]),
    "join by a column that one has not": (
        operators("{id: a, type: select, columns: [amount]}", "{id: b, type: join, from: [s, a], on: [id]}"),
        ["5:41 column", "5:42 column"],
    ),
    "window of no time": (
        operators("{id: a, type: aggregate, columns: {n: count(*)}, window: {column: id, size: 1m}}"), ["4:69 type"]
    ),
    "a file takes no updates": (
        operators("{id: a, type: aggregate, by: [id], columns: {n: count(*)}}").replace("type: list", "type: file, path: f"),
        ["6:3 mode"],
    ),
    "a registry that is away": (
        "sources:\n  s: {type: kafka, topic: t, format: {type: avro, registry: 'http://127.0.0.1:9', subject: t-value}}\n"
        "sinks:\n  o: {type: list, from: s}\n",
        ["2:38 registry"],
    ),
    "replay": (operators("{id: a, type: filter, where: amount > rand()}"), ["4:41 replay"]),
    "type": (operators("{id: a, type: fill, columns: {tags: x}}"), ["4:39 type"]),
    "import": (operators("{id: a, type: python, function: no_such_module.f}"), ["4:35 import"]),
    "output": (
        operators("{id: a, type: branch, outputs: [{name: big, where: amount > 9}]}", "{id: b, type: forward, from: a.bg}"),
        ["5:32 branch-output"],
    ),
    "no output": (
        operators("{id: a, type: branch, outputs: [{name: big, where: amount > 9}]}", "{id: b, type: forward}"),
        ["5:3 branch-output"],
    ),
    "output of a source": (operators("{id: a, type: forward, from: s.big}"), ["4:32 branch-output"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_findings_and_their_places(write, name):
    text, expected = CASES[name]
    write(p=text)
    assert found() == expected


def test_every_code_is_provoked():
    provoked = {place.split()[1] for _, places in CASES.values() for place in places}
    elsewhere = {"contradiction", "file", "profile", "size"}
    assert provoked | elsewhere == set(CODES)


def test_every_code_that_is_written_is_explained():
    package = Path(whorl.__file__).parent if whorl.__file__ else Path(whorl.__path__[0])
    written = set()
    for path in [*(package / "config").glob("*.py"), *(package / "graph").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding":
                written |= {node.args[0].value} if isinstance(node.args[0], ast.Constant) else set()
            if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.Constant):
                written.add(node.value.value)
    assert written and written <= set(CODES)


def test_sizes_have_a_code_of_their_own(write):
    class Sized(BaseModel):
        limit: Size

    write(p="limit: 3 feet\n")
    tree = read("p.yaml").tree
    (finding,) = validate(Sized, tree, tree.at, "it")[1]
    assert (finding.code, finding.at) == ("size", Location("p.yaml", 1, 8))


def test_a_file_that_is_not_there():
    assert found("nope.yaml") == ["1:1 file"]


def test_what_was_not_read_is_not_missed(write):
    write(
        p="include: [a.yaml, b.yaml]\nsinks:\n  o: {type: list, from: x}\n",
        a="sources: {s: {type: rate}}\n",
        b="x: [\n",
    )
    assert found() == ["2:1 yaml"]


def test_all_findings_come_at_once_by_place(write):
    write(
        p="settings: {tasks: x}\n"
        + operators(
            "{id: a, type: filter, where: amout > 1}", "{id: b, type: frward}", "{id: c, type: forward, from: z}"
        )
    )
    assert found() == ["1:19 value", "5:32 column", "6:17 unknown-type", "7:32 dangling-edge"]


def test_messages_name_what_was_meant(write):
    write(
        p=operators(
            "{id: alpha, type: filtr}",
            "{id: b, type: drop, columns: [amout], from: s}",
            "{id: c, type: union, from: [b, alfa]}",
        )
    )
    by_code = {finding.code: finding for finding in check(load("p.yaml"))}
    assert by_code["unknown-type"].hint == "did you mean 'filter'?"
    assert by_code["column"].hint == "did you mean 'amount'?"
    assert by_code["dangling-edge"].hint == "did you mean 'alpha'?"
    assert "'amout'" in by_code["column"].message and "unused" not in by_code


def test_the_nearest_key_is_one_of_the_chosen_format(write):
    write(p=HEAD + "sinks:\n  o: {type: kafka, topic: t, format: {type: csv, delimitr: x}}\n")
    (finding,) = check(load("p.yaml"))
    assert finding.hint == "did you mean 'delimiter'?"


def test_an_operator_of_another_version_is_told_the_known_types(write):
    write(p=operators("{id: a, type: pattern_match}"))
    (finding,) = check(load("p.yaml"))
    assert finding.hint.startswith("known types: add, aggregate, average, branch, cast")


def test_a_cycle_names_its_way(write):
    write(
        p=operators("{id: a, type: forward, from: s}", "{id: b, type: forward}", "{id: c, type: forward, to: [a, o]}")
    )
    (finding,) = check(load("p.yaml"))
    assert finding.message == "edges form a cycle: a -> b -> c -> a"


def test_a_python_operator_may_end_a_pipeline(write, folder):
    (folder / "effects.py").write_text("def call(row): ...\n")
    write(p=HEAD + "operators:\n- {id: a, type: python, function: effects.call}\n")
    assert found() == []


def test_user_code_is_found_beside_the_file_and_forgotten(write, folder):
    for name in ("one", "two"):
        write(**{f"{name}__p": operators(f"{{id: a, type: python, function: mine.{name}}}")})
        (folder / name / "mine.py").write_text(f"def {name}(row): return row\n")
    path, modules = list(sys.path), set(sys.modules)
    assert found("one/p.yaml") == [] and found("two/p.yaml") == []
    assert sys.path == path and set(sys.modules) == modules


def test_user_code_that_raises_is_a_finding_with_its_line(write, folder):
    (folder / "bad.py").write_text("x = 1\nraise RuntimeError('no')\n")
    write(p=operators("{id: a, type: python, function: bad.f}"))
    (finding,) = check(load("p.yaml"))
    assert finding.code == "import" and "bad.py:2" in finding.hint


def test_the_short_form_is_checked_too(write):
    write(
        procs="- {id: p1, type: forward, to: [p2, p9]}\n- {id: p2, type: sum, valu: 3}\n- {id: sink, type: avrage, to: sink}\n",
        config="source_topic: in\nsink_topic: out\n",
    )
    findings = check(load("procs.yaml"))
    assert [f"{f.at} {f.code}" for f in findings] == [
        "config.yaml:2:1 duplicate-id",
        "procs.yaml:1:36 dangling-edge",
        "procs.yaml:2:23 unknown-key",
        "procs.yaml:3:20 unknown-type",
    ]


def test_a_sink_of_the_short_form_that_nobody_writes(write):
    write(procs="- {id: p1, type: forward}\n", config="source_topic: in\nsink_topic: out\n")
    findings = check(load("procs.yaml"))
    assert [f"{f.at} {f.code}" for f in findings] == ["config.yaml:2:1 no-source", "procs.yaml:1:3 unused"]


def test_checked_gives_the_graph_or_raises_all(write):
    write(
        p=operators("{id: a, type: filter, where: amount > 1}"), q=operators("{id: a, type: filter, where: amont > 1}")
    )
    assert list(checked(load("p.yaml")).nodes) == ["s", "a", "o"]
    with pytest.raises(CheckFailed) as raised:
        checked(load("q.yaml"))
    assert [finding.code for finding in raised.value.findings] == ["column"]
