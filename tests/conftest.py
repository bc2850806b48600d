"""One real broker for the whole test run, started when the first test asks for it; and a folder for pipeline files."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from whorl.broker import Broker

MakeTopic = Callable[..., str]
_REAL = {"broker", "topic", "spark"}
"""Fixtures, and marks, of what needs a broker or a Spark session."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` runs what needs nothing real beside what does, which leaves most of a second core alone."""
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if _REAL & {*getattr(item, "fixturenames", ())} or marks & {"kafka", "spark", "long"}:
            item.add_marker("real")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    running = Broker.start(tmp_path_factory.mktemp("broker"))
    yield running
    running.stop()


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> MakeTopic:
    """`topic(partitions=1, config=None)` creates a topic of a name that no other test has, and returns the name."""
    admin = AdminClient({"bootstrap.servers": broker.address})
    test = re.sub(r"[^A-Za-z0-9._-]+", "_", request.node.name)[:80].rstrip("_")

    def make(partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        name = f"{test}.{uuid.uuid4().hex[:8]}"
        for created in admin.create_topics([NewTopic(name, partitions, 1, config=dict(config or {}))]).values():
            created.result(timeout=30)
        return name

    return make


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tests work in a folder of their own, with file names as a user types them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHORL_PROFILE", raising=False)
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Callable[..., None]:
    def write(**files: str) -> None:
        """`write(a="...")` makes a.yaml; two underscores are a folder."""
        for name, text in files.items():
            path = folder / (name.replace("__", "/") + ".yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write
