"""What a job has read is seen from outside: by Kafka's own tools, in ZooKeeper, Redis and a file, on either host; and it can be moved."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from outside import HAS_REDIS, lag_of, open_transactions, redis
from running import CLEAN, Feed, Running, count_committed, eventually, judge, more, whorl

from whorl.broker import Broker
from whorl.broker.zookeeper import ZooKeeper
from whorl.config.offset_stores import store_url
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster
from whorl.offsets.store import open_store

PIPELINE = """
name: {source}
sources:
  numbers: {{type: kafka, topic: {source}, format: json, schema: {{key: string, n: long}}, start_from: "offsets+kafka:{source}.before"}}
operators:
  - {{id: copy, type: map, from: numbers, columns: {{seen: 'true'}}}}
  - {{id: chosen, type: sql, query: "SELECT key, n, true AS seen FROM numbers WHERE n >= 0"}}
sinks:
  copied: {{type: kafka, topic: {copied}, from: copy}}
  selected: {{type: kafka, topic: {selected}, from: chosen}}
settings:
  tasks: 2
  group_id: {group}
  offsets: ["zookeeper://{zookeeper}/kafka", "{redis}", "file:offsets.json", "kafka:{source}.all"]
"""


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[ZooKeeper]:
    server = ZooKeeper.start(tmp_path / "zookeeper")
    yield server
    server.stop()


@pytest.mark.long
@pytest.mark.skipif(not HAS_REDIS, reason="redis-server is not installed (Debian package 'redis-server')")
def test_progress_is_seen_everywhere_and_can_be_moved(
    broker: Broker, zookeeper: ZooKeeper, whorl_run: Callable[..., Running], topic: Callable[..., str], tmp_path: Path
) -> None:
    source, copied, selected, group = topic(4), topic(4), topic(2), "shown"
    places, clients = [(source, p) for p in range(4)], KafkaClients(broker.address)
    Cluster(clients)
    open_store(store_url(f"kafka:{source}.before"), clients).write(f"{source}.before", dict.fromkeys(places, 0))
    file = tmp_path / "p.yaml"
    with redis(tmp_path) as redis_url:
        texts = {"source": source, "copied": copied, "selected": selected, "group": f"{group}.{source}"}
        file.write_text(PIPELINE.format(**texts, zookeeper=zookeeper.address, redis=redis_url))
        feed = Feed(broker.address, source, every=0.1).start()
        running = whorl_run(file)
        more(broker.address, copied, running, within=400)
        more(broker.address, selected, running, within=400)

        zookeeper.kill()
        eventually(
            lambda: "offset store 'zookeeper:" in running.output, within=120, what=f"the warning; {running.output}"
        )
        more(broker.address, copied, running, within=400)
        ZooKeeper.start(zookeeper.folder)
        eventually(lambda: "is back after" in running.output, within=180, what=f"the store is back; {running.output}")
        assert len({line for line in running.lines if "' fails: " in line}) == 1, running.output
        refused = subprocess.run(
            [sys.executable, "-m", "whorl", "offsets", "reset", source, "--to", "earliest", "--broker", broker.address],
            capture_output=True, text=True, cwd=tmp_path,
        )  # fmt: skip
        assert refused.returncode == 3 and "[already-running]" in refused.stderr
        assert f"'{source}' runs; lag" in whorl(broker.address, tmp_path, "offsets", "show", str(file), "--over", "1s")

        running.process.send_signal(signal.SIGTERM)
        assert running.wait(120) == 0, running.output
        assert open_transactions(broker.address) == []
        groups = {id: f"{group}.{source}.{id}" for id in ("copy", "chosen")}
        committed = {id: Cluster(clients).committed(name, places) for id, name in groups.items()}
        for store in (f"zookeeper://{zookeeper.address}/kafka", redis_url, f"file:{tmp_path}/offsets.json"):
            opened = open_store(store_url(store), clients)
            assert {id: opened.read(name) for id, name in groups.items()} == committed, store
            opened.close()
        lowest = {place: min(each[place] for each in committed.values()) for place in places}
        assert Cluster(clients).committed(f"{source}.all", places) == lowest

    feed.stop()
    last = whorl_run(file, "--until-caught-up", "--set", "offsets=[]")
    assert last.wait(300) == 0, last.output
    for sink in (copied, selected):
        assert judge(broker.address, sink, feed.counts) == CLEAN
    producer = Producer({"bootstrap.servers": broker.address})
    for n in range(7):
        producer.produce(source, f'{{"key": "late", "n": {n}}}'.encode(), b"late", 2)
    assert producer.flush(30) == 0
    ends = Cluster(clients).latest(places)
    for name in groups.values():
        expected = {place: (end - 7, 7) if place[1] == 2 else (end, 0) for place, end in ends.items()}
        assert lag_of(broker.address, name) == expected
    _move_back(broker, whorl_run, file, source, {copied, selected}, tmp_path)


def _move_back(
    broker: Broker, whorl_run: Callable[..., Running], file: Path, source: str, sinks: set[str], folder: Path
) -> None:
    """Five records of each partition are read once more, by either host."""
    before = {sink: count_committed(broker.address, sink) for sink in sinks}
    rehearsed = whorl(broker.address, folder, "offsets", "reset", str(file), "--to", "-5", "--dry-run")
    assert rehearsed.count("5 again") == 8 and "nothing was changed" in rehearsed
    moved = whorl(broker.address, folder, "offsets", "reset", str(file), "--to", "-5")
    assert "moved 8 positions" in moved
    shown = whorl(broker.address, folder, "offsets", "show", str(file), "--over", "100ms")
    assert f"'{source}' does not run; lag 54 in all" in shown
    again = whorl_run(file, "--until-caught-up", "--set", "offsets=[]")
    assert again.wait(300) == 0, again.output
    assert {sink: count_committed(broker.address, sink) for sink in sinks} == {s: n + 27 for s, n in before.items()}
