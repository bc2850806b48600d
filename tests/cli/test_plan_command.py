from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Whorl = Callable[..., tuple[int, str, str]]
PIPELINE = """
name: demo
sources: {in: {type: kafka, topic: a}}
operators: [{id: one, type: forward}]
sinks: {out: {type: kafka, topic: b}}
settings: {tasks: 3}
"""


@pytest.fixture(autouse=True)
def pipeline(folder: Path) -> None:
    (folder / "pipeline.yaml").write_text(PIPELINE)
    (folder / "whorl.yaml").write_text("commit_interval: 1s\nprofiles:\n  fast:\n    commit_interval: 5ms\n")


def test_text(whorl: Whorl) -> None:
    code, out, _ = whorl("plan", "pipeline.yaml")
    assert code == 0
    assert "│ kafka a ├" not in out and "├───▶│ one" in out
    assert "1 Spark job 'demo/one layout n' of 3 long-running tasks" in out
    assert "a commit every 1s" in out


def test_a_profile_and_set_count(whorl: Whorl) -> None:
    assert "a commit every 5ms" in whorl("plan", "pipeline.yaml", "--profile", "fast")[1]
    assert "of 7 long-running tasks" in whorl("plan", "pipeline.yaml", "--set", "tasks=7")[1]


def test_json_and_mermaid(whorl: Whorl) -> None:
    assert json.loads(whorl("plan", "pipeline.yaml", "--json")[1])["pipeline"] == "demo"
    assert whorl("plan", "pipeline.yaml", "--mermaid")[1].startswith("flowchart LR\n")


def test_settings_tell_where_each_value_came_from(whorl: Whorl) -> None:
    arguments = ["--profile", "fast", "--set", "guarantee=at_least_once", "--set", "kafka.sasl.password=hidden"]
    code, out, _ = whorl("plan", "pipeline.yaml", "--settings", *arguments)
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    assert code == 0
    assert rows["SETTING"] == ["VALUE", "FROM"]
    assert rows["commit_interval"] == ["5ms", "whorl.yaml:4:22"]
    assert rows["tasks"] == ["3", "pipeline.yaml:6:19"]
    assert rows["guarantee"] == ["at_least_once", "--set"]
    assert rows["broker"] == ["-", "default"]
    assert rows["kafka.sasl.password"] == ["***", "--set"]


def test_one_form_at_a_time(whorl: Whorl) -> None:
    assert whorl("plan", "pipeline.yaml", "--json", "--mermaid")[0] == 2


def test_a_wrong_pipeline_is_told_with_its_line(whorl: Whorl, folder: Path) -> None:
    (folder / "pipeline.yaml").write_text(PIPELINE.replace("forward", "forwad"))
    code, out, err = whorl("plan", "pipeline.yaml")
    assert (code, out) == (1, "")
    assert err.startswith("pipeline.yaml:4:") and "[unknown-type]" in err


def test_a_missing_file_is_told(whorl: Whorl) -> None:
    code, _, err = whorl("plan", "nothing.yaml")
    assert code == 1
    assert "nothing.yaml" in err and "Traceback" not in err
