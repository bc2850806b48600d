"""A job's pipeline as Kafka knows it: orders to its driver through the control topic, and what it keeps. No Spark is needed for any of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from whorl.config.settings import Settings
from whorl.errors import Superseded, Unavailable, WorldError
from whorl.jobs.address import clients_of
from whorl.jobs.ask import Pipeline
from whorl.kafka.topics import Cluster
from whorl.plan import naming
from whorl.reading.entries import Entry
from whorl.reading.reader import StateReader
from whorl.savepoints.catalog import Catalog, default_name
from whorl.server.records import JobRecord
from whorl.server.schemas import SavepointSaid, StateEntry
from whorl.spark.local import LocalFolder
from whorl.tasks.control import Again, Rescale, Savepoint, news_end
from whorl.tasks.driver import refuse_second
from whorl.tasks.register import read_registration


def settings_of(record: JobRecord) -> Settings:
    return Settings.model_validate(record.known.settings)


def cluster_of(record: JobRecord) -> Cluster:
    return Cluster(clients_of(settings_of(record)))


def refuse_running(settings: Settings, pipeline: str) -> None:
    """Where somebody else holds it: a foreground run, or a job of another server. A broker that is away is no reason: the job waits for it."""
    try:
        cluster = Cluster(clients_of(settings))
        if {naming.REGISTER, naming.status_topic(pipeline)} <= set(cluster.partition_counts()):
            registration = read_registration(cluster.clients, pipeline)
            refuse_second(cluster.clients, registration, settings, news_end(cluster, pipeline))
    except Superseded:
        raise
    except Unavailable:
        return


def ask(record: JobRecord, order: Savepoint | Rescale | Again) -> dict[str, Any]:
    """What its driver answered; raises where none lives."""
    settings = settings_of(record)
    pipeline = Pipeline(cluster_of(record), record.pipeline, settings)
    holder = pipeline.holder()
    if holder is None:
        hint = "its driver starts, or was just lost; ask again when the job runs"
        raise WorldError(f"pipeline '{record.pipeline}' does not run now", hint=hint, code="not-running")
    return pipeline.ask(holder, order)


def aside(record: JobRecord, **asked: Any) -> dict[str, Any]:
    """What is done to a pipeline that does not run takes Spark, and so another process."""
    sent = {"pipeline": record.pipeline, "settings": record.known.settings, **asked}
    done = subprocess.run(
        [sys.executable, "-m", "whorl.manager.aside"], input=json.dumps(sent), capture_output=True, text=True
    )
    said = done.stdout.rpartition("\n\n")[2]
    if done.returncode or not said.strip():
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise WorldError(f"'{record.pipeline}' could not be seen to: {last}"[:500], code="spark")
    answer: dict[str, Any] = json.loads(said)
    if error := answer.get("error"):
        raise WorldError(error["message"], hint=error["hint"], code=error["code"])
    return dict(answer["done"])


def again_order(component: str) -> Again:
    return Again(uuid.uuid4().hex, component)


def savepoint_order(name: str | None, stop: bool) -> Savepoint:
    return Savepoint(uuid.uuid4().hex, name or default_name(), stop)


def rescale_order(tasks: int, partitions: int) -> Rescale:
    return Rescale(uuid.uuid4().hex, tasks, partitions)


def savepoints_of(record: JobRecord) -> list[SavepointSaid]:
    """Newest first; those on this machine's file systems: others take Spark to be seen."""
    root = settings_of(record).savepoints
    if not LocalFolder.has(root):
        return []
    found = Catalog(root, LocalFolder).all(record.pipeline)
    said = [
        SavepointSaid(
            name=each.name,
            folder=f"{root}/{naming.slug(each.pipeline)}/{each.name}",
            at=each.taken,
            entries=each.entries,
            records=sum(edge.records for edge in each.edges.values()),
            bytes=each.size,
        )
        for each in found
    ]
    return said[::-1]


def state_of(record: JobRecord, operator: str, key: str | None, limit: int) -> list[StateEntry]:
    reader = StateReader.on(cluster_of(record), record.pipeline)
    if key is None:
        return [_entry(entry) for entry in islice(reader.scan(operator), limit)]
    found = reader.get(operator, key.encode())
    if found is None:
        what = f"operator '{operator}' of pipeline '{record.pipeline}' keeps nothing for key '{key}'"
        raise WorldError(what, hint="ask without a key to see some that there are", code="state-key")
    return [_entry(entry) for entry in found[1][:limit]]


def _entry(entry: Entry) -> StateEntry:
    shown = {"state": entry.state, "value": entry.value}
    if entry.map_key is not None:
        shown["map_key"] = entry.map_key
    plain = orjson.loads(orjson.dumps(shown, default=str))
    return StateEntry(operator=entry.operator, key=entry.key_text, value=plain, lp=entry.lp, position=entry.position)


def absolute(path: str) -> str:
    """So that it is the same folder for every process that works on the job."""
    return path if "://" in path else os.path.abspath(Path(path))
