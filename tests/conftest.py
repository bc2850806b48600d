"""One real broker for the whole test run, started when the first test asks for it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from whorl.broker import Broker

MakeTopic = Callable[..., str]


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
