from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from whorl.broker import Broker
from whorl.cli.broker import app
from whorl.errors import WorldError


def run(*words: str) -> str:
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.kafka
def test_status_and_a_second_start_name_the_address(broker: Broker) -> None:
    node = broker.status().nodes[0]
    said = run("status", "--data", str(broker.data))
    assert f"broker at {broker.address}" in said
    assert f"node 0  port {node.port}  running  pid {node.pid}" in said
    assert f"runs already at {broker.address}" in run("start", "--data", str(broker.data))


def test_nothing_runs(tmp_path: Path) -> None:
    assert "no broker runs" in run("stop", "--data", str(tmp_path))
    with pytest.raises(WorldError, match="no broker runs") as error:
        run("status", "--data", str(tmp_path))
    assert error.value.exit_code == 3
    assert error.value.hint == f"whorl broker start --data {tmp_path}"


def test_no_nodes_is_a_usage_error(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["start", "--nodes", "0", "--data", str(tmp_path)]).exit_code == 2
