from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typer
from typer.testing import CliRunner

from whorl.cli.check import check

app = typer.Typer()
app.command()(check)
BROKEN = Path(__file__).parents[2] / "examples" / "broken.yaml"
RIGHT = "sources: {s: {type: rate}}\nsinks: {o: {type: list}}\n"
WRONG = "sources: {s: {type: rat}}\nsinks: {o: {type: list}}\n"


def run(*arguments):
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout.splitlines()


def test_a_right_file(write):
    write(p=RIGHT)
    assert run("p.yaml") == (0, ["p.yaml: ok"])


def test_wrong_and_right_files(write):
    write(p=RIGHT, q=WRONG)
    code, lines = run("p.yaml", "q.yaml")
    assert code == 1
    assert lines == [
        "p.yaml: ok",
        "q.yaml:1:21: [unknown-type] source 's' has no known type: 'rat' (did you mean 'rate'?)",
        "1 finding in 2 files",
    ]


def test_options(write):
    write(p=RIGHT, other="profiles: {x: {tasks: 0}}\n")
    assert run("p.yaml", "--set", "tasks=2")[0] == 0
    code, lines = run("p.yaml", "--config", "other.yaml", "--profile", "x", "--set", "edges=topic")
    assert code == 1 and lines[-1] == "2 findings in 1 file"


def test_the_broken_example_has_many_findings_of_different_codes():
    code, lines = run(str(BROKEN))
    codes = [line.split("[")[1].split("]")[0] for line in lines[:-1]]
    assert code == 1 and len(set(codes)) >= 8
    assert all(line.startswith(f"{BROKEN}:") and line.endswith(")") for line in lines[:-1])


def test_check_needs_no_spark():
    loaded = "import sys, whorl.cli.check; print({'pyspark', 'confluent_kafka'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
