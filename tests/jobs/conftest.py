"""Pipelines for the real broker, and `whorl run` for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from running import Running

from whorl.broker import Broker


@pytest.fixture
def whorl_run(broker: Broker) -> Iterator[Callable[..., Running]]:
    """`whorl_run(file, *arguments)`; whatever it started is dead afterwards."""
    started: list[Running] = []

    def start(file: Path, *arguments: str, verb: str = "run", env: dict[str, str] | None = None) -> Running:
        started.append(Running(file, broker.address, *arguments, verb=verb, env=env))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.kill_all()


@pytest.fixture
def forward(tmp_path: Path, topic: Callable[..., str]) -> tuple[Path, str, str]:
    """A pipeline file that copies JSON records, its source and its sink topic."""
    source, sink = topic(4), topic(4)
    file = tmp_path / "forward.yaml"
    file.write_text(
        f"name: {source}\n"
        f"sources: {{in: {{type: kafka, topic: {source}, format: json}}}}\n"
        "operators: [{id: copy, type: map, from: in, columns: {seen: 'true'}}]\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: copy}}}}\n"
        "settings: {tasks: 2, partitions: 4}\n"
    )
    return file, source, sink


@pytest.fixture
def query(tmp_path: Path, topic: Callable[..., str]) -> tuple[Path, str, str]:
    """As `forward`, by SQL in a query."""
    source, sink = topic(2), topic(2)
    file = tmp_path / "query.yaml"
    file.write_text(
        f"name: {source}\n"
        "sources:\n"
        f"  numbers: {{type: kafka, topic: {source}, format: json, schema: {{key: string, n: long}}}}\n"
        "operators:\n"
        "  - {id: copy, type: sql, query: 'SELECT key, n, true AS seen FROM numbers WHERE n >= 0'}\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: copy}}}}\n"
    )
    return file, source, sink


@pytest.fixture
def shipped(tmp_path: Path, topic: Callable[..., str]) -> Callable[[str], tuple[Path, str, str]]:
    """`shipped(settings)`: Python in a module beside it, then SQL, for executors that have neither; its source and its sink topic."""

    def make(settings: str) -> tuple[Path, str, str]:
        source, sink = topic(4), topic(4)
        folder = tmp_path / "shipped"
        folder.mkdir()
        (folder / "shipped.py").write_text("def mark(row):\n    return {**row, 'marked': True}\n")
        returns = "{key: string, n: long, marked: boolean}"
        file = folder / "shipped.yaml"
        file.write_text(
            f"name: {source}\n"
            f"sources: {{in: {{type: kafka, topic: {source}}}}}\n"
            "operators:\n"
            f"  - {{id: mark, type: python, from: in, function: shipped.mark, returns: {returns}}}\n"
            "  - {id: copy, type: sql, query: SELECT * FROM mark WHERE marked}\n"
            f"sinks: {{out: {{type: kafka, topic: {sink}, from: copy}}}}\n"
            f"settings: {{tasks: 2, partitions: 2, {settings}}}\n"
        )
        return file, source, sink

    return make
