from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.server.fake import FakeServer, submission
from tests.server.running_server import Serving

from whorl.broker import Broker
from whorl.server.access import OPEN, Access, access_of
from whorl.server.api import make_api

TOKENS = "viewer:viewer-token,operator:operator-token,admin:admin-token"
Client = Callable[..., TestClient]


@pytest.fixture
def server() -> FakeServer:
    server = FakeServer()
    server.submit(submission())
    return server


@pytest.fixture
def client(server: FakeServer) -> TestClient:
    """Of a server without tokens."""
    return client_of(server)


@pytest.fixture
def access() -> Access:
    return access_of(variables={"WHORL_TOKENS": TOKENS})


@pytest.fixture
def guarded(server: FakeServer, access: Access) -> TestClient:
    """Of a server with tokens."""
    return client_of(server, access)


def client_of(server: FakeServer, access: Access = OPEN, **options: object) -> TestClient:
    return TestClient(
        make_api(server, access, **options),  # type: ignore[arg-type]
        base_url="http://127.0.0.1:8765",
        raise_server_exceptions=False,
    )


@pytest.fixture
def serving(tmp_path: Path, broker: Broker) -> Iterator[Callable[..., Serving]]:
    """`serving(*options)`; whatever it started is dead afterwards."""
    started: list[Serving] = []

    def start(*options: str) -> Serving:
        started.append(Serving(tmp_path / "data", broker.address, *options))
        return started[-1]

    yield start
    for server in started:
        server.end()
