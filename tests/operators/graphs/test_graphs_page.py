"""What docs/graphs.md shows does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

from whorl.testing import PipelineHarness

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "graphs.md").read_text("utf-8")
EDGES = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "c"), ("e", "e"), ("b", "f"), ("a", "b")]


def block(kind: str, holding: str) -> str:
    return next(text for text in re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) if holding in text)


@pytest.mark.parametrize("tasks", [1, 2])
def test_transitive_closure_by_a_join_that_leads_back(tasks: int, tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(block("yaml", "closure.Meet"))
    (tmp_path / "closure.py").write_text(block("python", "class Meet"))
    harness = PipelineHarness(tmp_path / "pipeline.yaml", partitions=3, tasks=tasks)
    for part in (EDGES[:3], EDGES[3:]):
        harness.send("edges", [{"src": a, "dst": b} for a, b in part])
        harness.run()
    found = [(row["src"], row["dst"]) for row in harness.sink("paths")]
    assert sorted(found) == sorted(nx.transitive_closure(nx.DiGraph(EDGES)).edges)


def test_the_plan_is_as_the_tool_draws_it() -> None:
    command = [sys.executable, "-m", "whorl", "plan", "examples/graphstream/pipeline.yaml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    shown = PAGE.partition(f"$ {' '.join(['whorl', *command[3:]])}\n")[2].partition("```")[0]
    picture = shown.strip("\n")
    assert picture and picture in done.stdout, done.stdout + done.stderr
