"""`whorl state` over a pipeline that has run in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path

import pyarrow.parquet
import pytest

from whorl import Context, KeyedOperator, MapState, Row, ValueState
from whorl.cli import state
from whorl.kafka.partitioner import partition_of
from whorl.plan import naming
from whorl.reading.entries import Entry
from whorl.reading.reader import Kept
from whorl.reading.where import Stores
from whorl.testing import PipelineHarness
from whorl.testing.memory import MemoryBroker, MemoryClients

Whorl = Callable[..., tuple[int, str, str]]
PIPELINE = """
name: shop
sources:
  payments: {type: kafka, topic: payments, key: who, schema: {who: string, shop: string, amount: long}}
operators:
  - {id: spend, type: python, class: test_state_command.Spend, key: who, from: payments}
sinks:
  out: {type: kafka, topic: out, from: spend, format: json}
settings: {state: {backend: memory}, broker: "memory:0"}
"""


class Spend(KeyedOperator):
    total = ValueState(int)
    shops = MapState(str, int)

    def process(self, key: str, record: Row, context: Context) -> None:
        self.total.update(lambda total: (total or 0) + record["amount"])
        self.shops[record["shop"]] = record["amount"]
        if record["shop"] == "bar":
            context.timers.at(datetime(2026, 1, 5, 12))


class Cluster:
    def __init__(self, clients: MemoryClients) -> None:
        self.clients = clients

    def partition_counts(self) -> dict[str, int]:
        return {name: len(topic.logs) for name, topic in self.clients.broker.topics().items()}


@pytest.fixture
def broker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryBroker:
    """On which the pipeline has run; commands reach it too."""
    (folder / "shop.yaml").write_text(PIPELINE)
    harness = PipelineHarness(folder / "shop.yaml", partitions=2)
    rows = [("ann", "bakery", 3), ("bob", "bar", 20), ("ann", "cinema", 12), ("bert", "bakery", 4)]
    harness.send("payments", [{"who": who, "shop": shop, "amount": amount} for who, shop, amount in rows])
    harness.run()
    monkeypatch.setattr(state, "clients_at", lambda broker, settings: MemoryClients(harness.broker))
    monkeypatch.setattr(state, "Cluster", Cluster)
    return harness.broker


@pytest.mark.parametrize("pipeline", ["shop", "shop.yaml"])
def test_an_overview_by_file_and_by_name(whorl: Whorl, broker: MemoryBroker, pipeline: str) -> None:
    head, row, total = whorl("state", "list", pipeline)[1].splitlines()
    assert head.split() == ["COMPONENT", "OPERATOR", "STATES", "KEYS", "ENTRIES", "SIZE", "PARTITIONS", "CHANGELOG"]
    assert " ".join(row.split()[:-5]) == "spend spend shops (map), total (value), 1 timer"
    assert row.split()[-5:-3] == ["3", "8"] and row.split()[-2] == "2" and row.endswith(".spend.changelog")
    assert total == "1 operator of 'shop' with state"
    (line,) = whorl("state", "list", pipeline, "--format", "json")[1].splitlines()
    assert json.loads(line)["states"] == {"total": "value", "shops": "map"}


def test_one_key(whorl: Whorl, broker: MemoryBroker) -> None:
    lp = partition_of(b"bob", 2)
    lines = whorl("state", "get", "shop", "spend", "bob")[1].splitlines()
    cells = [line.split() for line in lines]
    assert cells[0] == ["STATE", "MAP", "KEY", "VALUE", "EXPIRES", "POSITION"]
    assert cells[1][:3] == ["_timers", "-", '{"time":"2026-01-05T12:00:00Z","clock":"event"}']
    assert [row[:3] for row in cells[2:4]] == [["shops", "bar", "20"], ["total", "-", "20"]]
    assert lines[4].startswith(f"logical partition {lp}, which has read payments/{lp} to ")
    assert whorl("state", "get", "shop", "spend", "626f62", "--hex")[1].splitlines() == lines
    as_json = [
        json.loads(line) for line in whorl("state", "get", "shop", "spend", "bob", "--format", "json")[1].split()
    ]
    assert {entry["logical_partition"] for entry in as_json} == {lp}
    assert as_json[-1]["value"] == 20 and as_json[-1]["position"] >= 0 and as_json[-1]["key"] == "bob"


def test_what_is_not_there(whorl: Whorl, broker: MemoryBroker) -> None:
    code, out, err = whorl("state", "get", "shop", "spend", "nobody")
    assert (code, out) == (3, "")
    assert "[state-key] operator 'spend' of pipeline 'shop' keeps nothing for key 'nobody'" in err
    assert "did you mean 'spend'?" in whorl("state", "scan", "shop", "spent")[2]
    assert "no pipeline 'shops' has run on this broker" in whorl("state", "list", "shops")[2]
    assert whorl("state", "get", "shop", "spend", "6x", "--hex")[0] == 2


class OfQueries:
    """Stands for what reads checkpoints with Spark."""

    def __init__(self, spark: object, stores: Stores, checkpoints: str) -> None:
        self.stores, self._entry = stores, Entry("hourly", "sum", b'{"k":"a"}', None, {"sum": 4}, None, 1, 7, 20)

    def overview(self) -> list[Kept]:
        return [Kept("hourly", "hourly", "file:/checkpoints", 2, {"sum": "value"}, 1, 1, 0, 20)]

    def scan(self, operator: str, state: str | None = None, prefix: bytes = b"") -> Iterator[Entry]:
        return iter([self._entry])

    def get(self, operator: str, key: bytes) -> list[Entry]:
        return [self._entry] if key == self._entry.key else []


def test_of_a_query_spark_is_asked(whorl: Whorl, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    uid = next(name for name in broker.topics() if name.endswith(".changelog")).split(".")[2]
    broker.create_topic(naming.ledger_topic("shop", uid, "hourly"))
    monkeypatch.setattr(state, "session_aside", lambda settings, name: nullcontext())
    monkeypatch.setattr(state, "QueryReader", OfQueries)
    _, tasks, query, total = whorl("state", "list", "shop")[1].splitlines()
    assert tasks.startswith("spend") and query.split()[-1] == "file:/checkpoints"
    assert total == "2 operators of 'shop' with state"
    assert json.loads(whorl("state", "scan", "shop", "hourly")[1])["value"] == {"sum": 4}
    assert whorl("state", "get", "shop", "hourly", '{"k":"a"}')[1].endswith("partition 1, after batch 7\n")
    assert "keeps nothing for key" in whorl("state", "get", "shop", "hourly", "a")[2]


def test_a_scan_of_some(whorl: Whorl, broker: MemoryBroker) -> None:
    def scan(*options: object) -> list[tuple[str, str, object]]:
        lines = map(json.loads, whorl("state", "scan", "shop", "spend", *options)[1].splitlines())
        return sorted((line["key"], line["map_key"] or line["state"], line["value"]) for line in lines)

    assert scan("--state", "total") == [("ann", "total", 15), ("bert", "total", 4), ("bob", "total", 20)]
    assert scan("--prefix", "b", "--state", "shops") == [("bert", "bakery", 4), ("bob", "bar", 20)]
    assert len(scan()) == 8 and len(scan("--limit", 3)) == 3
    assert scan("--state", "none") == []


def test_an_export_in_both_forms(whorl: Whorl, broker: MemoryBroker, folder: Path) -> None:
    lines = whorl("state", "scan", "shop", "spend")[1]
    assert whorl("state", "export", "shop", "spend", "-o", "s.jsonl")[1] == "8 entries of 'spend' to 's.jsonl'\n"
    assert (folder / "s.jsonl").read_text() == lines
    assert whorl("state", "export", "shop", "spend", "-o", "s.parquet")[0] == 0
    rows = pyarrow.parquet.read_table(folder / "s.parquet").to_pylist()
    assert [json.loads(row["value"]) for row in rows] == [json.loads(line)["value"] for line in lines.splitlines()]
    assert {row["key_bytes"] for row in rows} == {b"ann", b"bob", b"bert"}
    code, _, err = whorl("state", "export", "shop", "spend", "-o", "s.csv")
    assert code == 2 and "end it with .jsonl or .json or .parquet" in err
    assert whorl("state", "export", "shop", "spent", "-o", "t.parquet")[0] == 3
    assert sorted(file.name for file in folder.glob("*.p*")) == ["s.parquet"]
