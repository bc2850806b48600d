"""Every example does what its page says: on the broker in memory, and once for real with Spark and Kafka."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from whorl.broker import Broker
from whorl.config.loader import load
from whorl.graph.check import check
from whorl.testing.harness import PipelineHarness

EXAMPLES = Path(__file__).parent.parent / "examples"
PIPELINES = (
    EXAMPLES / "greenhouse" / "pipeline.yaml",
    EXAMPLES / "payments" / "pipeline.yaml",
    EXAMPLES / "short" / "processors.yaml",
)
READINGS = [json.loads(line) for line in (EXAMPLES / "greenhouse" / "readings.jsonl").read_text().splitlines()]
ADVICE = {"basil": ["open the roof", "nothing"], "fern": ["nothing", "open the roof"]}


def named(file: Path) -> str:
    return file.parent.name


@pytest.fixture
def whorl(broker: Broker) -> Iterator[object]:
    """`whorl(file, *words, given="")` as a user types it, in the example's folder; gives back what it printed."""

    def call(folder: Path, *words: str, given: str = "") -> str:
        command = [sys.executable, "-m", "whorl", *words, "--broker", broker.address]
        done = subprocess.run(command, cwd=folder, input=given, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    yield call


@pytest.mark.parametrize("file", PIPELINES, ids=named)
def test_an_example_checks(file: Path) -> None:
    assert check(load(file)) == []


def test_all_examples_are_here() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {named(file) for file in PIPELINES}


def by_sensor(rows: list[dict[str, object]]) -> dict[object, list[object]]:
    return {
        sensor: [row["do"] for row in rows if row["sensor"] == sensor] for sensor in {row["sensor"] for row in rows}
    }


def test_greenhouse_in_memory() -> None:
    harness = PipelineHarness(EXAMPLES / "greenhouse" / "pipeline.yaml")
    harness.send("readings", READINGS)
    harness.run()
    assert by_sensor(harness.sink("advice")) == ADVICE
    assert harness.sink("screen") == harness.sink("advice")


def test_the_cases_of_greenhouse_pass() -> None:
    command = [sys.executable, "-m", "whorl", "test", "pipeline.yaml"]
    done = subprocess.run(command, cwd=EXAMPLES / "greenhouse", capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "3 passed, 0 failed", done.stdout + done.stderr


def test_short_form_in_memory() -> None:
    harness = PipelineHarness(EXAMPLES / "short" / "processors.yaml")
    harness.send("source", [{"value": "1"}, {"value": "41"}])
    harness.run()
    assert [row["value"] for row in harness.sink("sink")] == ["2", "11", "42", "51"]


@pytest.mark.kafka
@pytest.mark.spark
def test_greenhouse_for_real(whorl) -> None:
    folder = EXAMPLES / "greenhouse"
    whorl(folder, "topics", "create", "readings", "--partitions", "2")
    whorl(folder, "produce", "readings", "readings.jsonl", "--key", "sensor")
    assert "read 6, written 9, 1 to 'greenhouse.dead'" in whorl(folder, "run", "pipeline.yaml", "--until-caught-up")
    records = [json.loads(line) for line in whorl(folder, "consume", "advice", "--json").splitlines()]
    assert by_sensor([record["value"] for record in records]) == ADVICE
    assert all(record["headers"][0][1].startswith("readings/") for record in records)
    assert "KeyError: 'moss'" in whorl(folder, "dead", "list", "pipeline.yaml")


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.parametrize("edges", ["fused", "topics"])
def test_short_form_for_real(whorl, edges: str, tmp_path: Path) -> None:
    folder = _renamed(EXAMPLES / "short", tmp_path, edges)
    whorl(folder, "topics", "create", f"numbers-{edges}", "--partitions", "2")
    given = "".join(f"{key}:{number}\n" for key, number in [("a", 1), ("b", 41), ("a", 2)])
    whorl(folder, "produce", f"numbers-{edges}", "-", "--key-separator", ":", "--format", "text", given=given)
    whorl(folder, "run", "processors.yaml", "--until-caught-up", "--set", f"edges={edges}")
    lines = whorl(folder, "consume", f"sums-{edges}", "--keys").splitlines()
    assert sorted(lines) == sorted(["a\t2", "a\t11", "b\t42", "b\t51", "a\t3", "a\t12"])
    plus_one = [line for line in lines if line in ("a\t2", "a\t3")]
    assert plus_one == ["a\t2", "a\t3"]
    if edges == "topics":
        assert {"p1_p2", "p1_p3", "p2_p4", "p3_p4"} <= set(whorl(folder, "topics", "list").split())


def _renamed(example: Path, into: Path, edges: str) -> Path:
    """The example with topics and a name of its own, since all tests share one broker."""
    config = (
        (example / "config.yaml")
        .read_text()
        .replace(": numbers", f": numbers-{edges}")
        .replace(": sums", f": sums-{edges}")
    )
    (into / "config.yaml").write_text(f"name: short-{edges}\n{config}")
    (into / "processors.yaml").write_text((example / "processors.yaml").read_text())
    return into


@pytest.mark.kafka
@pytest.mark.spark
def test_the_demo_ends_well() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py")],
        capture_output=True,
        text=True,
        timeout=420,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().splitlines()[-1].startswith("demo ok: 20000 payments in, ")
