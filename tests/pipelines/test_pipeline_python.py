"""A pipeline built in Python is the pipeline that its YAML is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import Ran, whorl  # noqa: F401

from whorl import CheckFailed, Pipeline, PipelineError
from whorl.broker import Broker
from whorl.config.document import parse
from whorl.config.loader import load
from whorl.config.spec import PipelineSpec
from whorl.config.writing import to_yaml
from whorl.pipelines.running import start

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/pipeline.yaml"))
WRITTEN = """
name: shop
sources:
  orders: {type: kafka, topic: orders, key: customer, schema: {customer: string, amount: double, at: timestamp}}
  refunds: {type: kafka, topic: refunds, key: customer, schema: {customer: string, amount: double, at: timestamp}}
operators:
  - {id: large, type: filter, from: orders, where: amount > 100}
  - {id: given, type: rename, from: refunds, columns: {amount: back, at: back_at}}
  - {id: size, type: branch, from: large, outputs: [{name: huge, where: amount > 1000}], default: rest}
  - {id: both, type: join, from: [size.huge, given], on: customer, within: 10m, time: [at, back_at]}
  - {id: spent, type: sum, from: size.rest, key: customer, of: amount, as: spent}
sinks:
  totals: {type: kafka, topic: totals, from: spent, key: customer}
  back: {type: kafka, topic: back, from: both}
settings:
  tasks: 2
  restart: {attempts: 3}
"""


def shop() -> Pipeline:
    columns = {"customer": "string", "amount": "double", "at": "timestamp"}
    return (
        Pipeline("shop", tasks=2)
        .set(restart={"attempts": 3})
        .source("orders", topic="orders", key="customer", schema=columns)
        .source("refunds", topic="refunds", key="customer", schema=columns)
        .filter("large", from_="orders", where="amount > 100")
        .rename("given", from_="refunds", columns={"amount": "back", "at": "back_at"})
        .branch("size", from_="large", outputs=[{"name": "huge", "where": "amount > 1000"}], default="rest")
        .join("both", from_=["size.huge", "given"], on="customer", within=timedelta(minutes=10), time=["at", "back_at"])
        .sum("spent", from_="size.rest", key="customer", of="amount", as_="spent")
        .sink("totals", topic="totals", from_="spent", key="customer")
        .sink("back", topic="back", from_="both")
    )


def without_places(spec: PipelineSpec) -> dict[str, object]:
    parts = spec.model_dump(exclude={"file", "folder"}, by_alias=True)
    typed = [part.options for part in (*spec.sources, *spec.sinks)]
    return {**parts, "typed": typed}


def test_python_and_yaml_say_the_same(folder: Path) -> None:
    Path("shop.yaml").write_text(WRITTEN)
    assert without_places(shop().loaded().spec) == without_places(load("shop.yaml").spec)
    assert shop().loaded().settings == load("shop.yaml").settings
    assert shop().check() == []


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.parent.name)
def test_every_example_goes_round(file: Path, tmp_path: Path) -> None:
    once = Pipeline.load(file)
    again = tmp_path / "pipeline.yaml"
    again.write_text(once.to_yaml(), "utf-8")
    assert without_places(load(again).spec) == without_places(load(file).spec) == without_places(once.loaded().spec)
    assert load(again).settings == load(file, config="/dev/null").settings


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-10**9, 10**9) | st.text(st.characters(codec="utf-8", exclude_categories=("C",)) | st.just("\n")) | st.sampled_from(["no", "1e3", "0o7", "${HOME}", "$${", "~", "12:30", "1_000", ".inf", "2026-01-01"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    max_leaves=8,
))  # fmt: skip
def test_any_value_reads_back_as_it_was(value: object) -> None:
    assert parse(to_yaml({"value": value}), "x", {}).data == {"value": value}


def test_a_loop_and_the_order_of_calls(folder: Path) -> None:
    """Who says nothing reads what stands before; ids are made where none is given."""
    made = (
        Pipeline("walk")
        .source("hops", type="rate", rows_per_second=5)
        .map(columns={"left": "value"})
        .filter(where="left > 0")
        .filter(where="left > 1")
        .sink("out", type="console")
    )
    spec = made.loaded().spec
    assert [operator.id for operator in spec.operators] == ["map", "filter", "filter_2"]
    assert [operator.from_[0].id for operator in spec.operators] == ["hops", "map", "filter"]
    assert spec.sinks[0].from_[0].id == "filter_2"
    looped = Pipeline("loop").source("in", topic="in").forward("round", from_=["in", {"id": "step", "feedback": True}])
    assert looped.map("step", columns={"n": "n"}).loaded().spec.operators[0].from_[1].feedback


MODULE = """
from whorl import Pipeline


def double(row):
    return {**row, "value": row["value"] * 2}


pipeline = (
    Pipeline("doubles")
    .source("numbers", type="list", rows=[{"value": 1}])
    .python("double", function=double)
    .sink("out", type="console")
)
wrong = Pipeline("wrong").source("numbers", type="list", rows=[{"value": 1}]).filter(where="valu > 1").sink("out", type="consol")
"""


def test_the_command_line_takes_a_module(folder: Path, whorl: Callable[..., Ran]) -> None:  # noqa: F811
    Path("doubles.py").write_text(MODULE)
    assert whorl("check", "doubles:pipeline") == (0, "doubles:pipeline: ok\n", "")
    assert whorl("check", "doubles.py:pipeline").code == 0
    plan = whorl("plan", "doubles:pipeline").out
    assert "pipeline 'doubles': 1 component" in plan and "double from numbers: python" in plan
    wrong = whorl("check", "doubles:wrong")
    assert wrong.code == 1
    assert "doubles.py:15:1: [column]" in wrong.out and "doubles.py:15:1: [unknown-type]" in wrong.out
    assert "did you mean 'double'?" in whorl("plan", "doubles:doubl").err + whorl("check", "doubles:doubl").out
    assert "it holds pipeline, wrong" in whorl("check", "doubles.py").out


def test_a_package_is_imported_from_its_root(folder: Path, whorl: Callable[..., Ran]) -> None:  # noqa: F811
    Path("shop").mkdir()
    Path("shop/__init__.py").touch()
    Path("shop/flow.py").write_text(MODULE)
    assert whorl("check", "shop.flow:pipeline").code == 0
    assert Path(load("shop.flow:pipeline").spec.home) == folder


def method(row: dict[str, object]) -> dict[str, object]:
    return row


def test_code_is_given_as_objects_and_kept_as_import_paths() -> None:
    made = Pipeline("x").source("in", topic="in").python("step", function=method)
    assert made.loaded().spec.operators[0].options["function"] == f"{__name__}:method"


def test_code_without_an_import_path_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def inner(row: dict[str, object]) -> dict[str, object]:
        return row

    base = Pipeline("x").source("in", topic="in")
    with pytest.raises(PipelineError, match=r"test_pipeline_python.py:\d+:1: \[import\] a lambda has no name"):
        base.python(function=lambda row: row)
    with pytest.raises(PipelineError, match="'inner' is made inside a function"):
        base.python(function=inner)
    monkeypatch.setattr(method, "__module__", "__main__")
    monkeypatch.delattr(sys.modules["__main__"], "__file__")
    with pytest.raises(PipelineError, match="defined in a notebook"):
        base.python(function=method)
    with pytest.raises(PipelineError, match="is nothing that a pipeline could say"):
        base.filter(where=object())  # type: ignore[arg-type]


def test_what_is_wrong_is_told_with_the_line_of_code() -> None:
    made = Pipeline("x").source("in", type="list", rows=[{"value": 1}])
    made.filter(where="valu > 7")
    line = next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if 'valu > 7")' in text)
    found = made.sink("out", type="console").check()
    assert [(finding.code, finding.at.line) for finding in found if finding.at] == [("column", line)]
    with pytest.raises(PipelineError, match="the id 'in' is taken"):
        made.source("in", topic="other")


def test_a_notebook_shows_the_graph_and_what_is_wrong() -> None:
    page = shop()._repr_html_()
    assert page.startswith("<pre") and "large" in page and "kafka orders" in page
    assert "[column]" in Pipeline("x").source("in", type="list", rows=[{"v": 1}]).filter(where="w > 1")._repr_html_()
    assert shop().mermaid().startswith("flowchart LR")
    assert repr(shop()) == "<whorl.Pipeline 'shop': 2 sources, 5 operators, 2 sinks>"


def test_an_unknown_option_of_a_run_is_refused() -> None:
    with pytest.raises(Exception, match="a run has no option 'untl_quiet'"):
        start(shop().loaded(), untl_quiet=True)


def test_the_short_form_is_refused(folder: Path) -> None:
    Path("pipeline.yaml").write_text("- {id: a, type: forward, to: sink}\n")
    with pytest.raises(Exception, match="short form"):
        Pipeline.load("pipeline.yaml")
    with pytest.raises(CheckFailed, match="cannot be read"):
        Pipeline.load("nowhere.yaml")


IN_THE_BACKGROUND = """
import sys

from whorl import Pipeline

made = (
    Pipeline("py-doubles", broker=sys.argv[1], tasks=1)
    .source("numbers", type="list", rows=[{"value": 1}, {"value": 2}])
    .map(columns={"value": "value * 2"})
    .sink("out", type="list")
)
running = made.start(until_caught_up=True).wait()
assert running.rows["out"] == [{"value": 2}, {"value": 4}]
assert [(line.host, line.read) for line in running.lines()] == [("tasks", 2)]
assert "<td>tasks</td>" in running._repr_html_() and "py-doubles" in repr(running)
"""


@pytest.mark.kafka
def test_it_runs_in_the_background_and_shows_a_table(folder: Path, broker: Broker) -> None:
    """In a process of its own, as in a notebook: it starts and ends Spark, which other tests have here."""
    command = [sys.executable, "-c", IN_THE_BACKGROUND, broker.address]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180)
    assert ran.returncode == 0, ran.stderr
