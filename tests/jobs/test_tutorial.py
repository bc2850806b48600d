"""docs/moving.md: its files, its commands, and what they print. Numbers that differ from run to run are not compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
PAGE = (Path(__file__).parents[2] / "docs" / "moving.md").read_text("utf-8")
FILES = re.findall(r"^```\w*\n# (\S+\.\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
VARYING = (
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"(file:)?/\S*/(?=\.whorl|pipeline\.yaml)", "FOLDER/"),
    (r"\.[0-9a-f]{12}\.", ".UID."),
    (r"\d+(\.\d+)?K?B\b", "SIZE"),
    (r"\d+\.\d+ ?s\b", "SECONDS"),
    (r"local-\d+ on local\[\d+\]", "APPLICATION"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME"),
    (r" +\d+$", " NUMBER"),
    (r" {2,}", "  "),
)


def test_the_tutorial(tmp_path: Path) -> None:
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    bin = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"}
    try:
        for command, shown in commands():
            done = subprocess.run(
                command, shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
            )
            assert told(done.stdout + done.stderr) == told(shown), log(tmp_path, command, done)
    finally:
        for stop in ("whorl stop visits --no-savepoint", "whorl broker stop"):
            subprocess.run(stop, shell=True, cwd=tmp_path, env=env, capture_output=True, timeout=60)


def commands() -> list[tuple[str, str]]:
    found = [part for block in BLOCKS for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in found)]


def told(text: str) -> list[str]:
    """Lines as the page has them; those on the way of a run, of which there are more or fewer, are left out."""
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    steps = ("starting", "joining", "restoring", "running", "latency")
    passing = ("created topic", *(f"visits: {step}" for step in steps))
    return [line for line in text.splitlines() if line.strip() and not line.startswith((*passing, ".", "="))]


def log(folder: Path, command: str, done: subprocess.CompletedProcess[str]) -> str:
    ran = folder / "run.log"
    return f"$ {command}\n{done.stdout}{done.stderr}\n{ran.read_text() if ran.exists() else ''}"
