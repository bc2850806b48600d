"""Taking a savepoint: all that a pipeline is, in one folder, which needs nothing else to be resumed from.

Nothing of the pipeline may run meanwhile (`Driver.fence`). Spark writes state and the records that are between components; checkpoints of
queries are copied; the manifest comes last.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version

from pyspark.sql import SparkSession

from whorl.errors import WorldError
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster
from whorl.plan import naming
from whorl.query.checkpoint import Checkpoint
from whorl.query.ledger import Ledger
from whorl.savepoints.catalog import Catalog
from whorl.savepoints.frames import places, records_from, state_of, tally
from whorl.savepoints.manifest import MANIFEST, Manifest, SavedComponent, SavedEdge, SavedQuery
from whorl.spark.folder import Folder
from whorl.tasks.changelog import read_lps
from whorl.tasks.register import ComponentEntry, QueryEntry, Registration


class Save:
    def __init__(self, session: SparkSession, cluster: Cluster, registration: Registration, checkpoints: str) -> None:
        self._session, self._cluster, self._registration = session, cluster, registration
        self._clients: KafkaClients = cluster.clients
        self._checkpoints = checkpoints

    def into(self, catalog: Catalog[Folder], name: str) -> Manifest:
        registration = self._registration
        if not registration.components and not registration.queries:
            raise WorldError(
                f"pipeline '{registration.pipeline}' has nothing to save: it has not run yet", code="savepoint"
            )
        folder = catalog.new(registration.pipeline, name)
        components = {id: self._component(folder, id, entry) for id, entry in registration.components.items()}
        queries = {id: self._query(folder, id, entry) for id, entry in registration.queries.items()}
        edges = dict(self._edges(folder, components))
        manifest = Manifest(
            name=name,
            pipeline=registration.pipeline,
            uid=registration.uid,
            taken=time.time(),
            whorl=version("whorl"),
            file=registration.file,
            fingerprint=registration.fingerprint,
            tasks=registration.tasks,
            components=components,
            edges=edges,
            queries=queries,
        )
        manifest = replace(manifest, size=folder.size())
        folder.write(MANIFEST, manifest.encode())
        return manifest

    def _component(self, folder: Folder, id: str, entry: ComponentEntry) -> SavedComponent:
        topic = naming.changelog_topic(self._registration.pipeline, self._registration.uid, id)
        lps = entry.layout.lps
        own = {lp: record.decode() for lp, record in read_lps(self._clients, topic, range(lps)).items()}
        path = state_path(folder, id)
        state_of(self._session, self._clients, topic, lps).write.parquet(path)
        return SavedComponent(entry, own, tally(self._session.read.parquet(path)))

    def _edges(self, folder: Folder, components: dict[str, SavedComponent]) -> Iterator[tuple[str, SavedEdge]]:
        for saved in components.values():
            for topic in saved.entry.edges:
                starts = places(topic, saved.positions)
                path = edge_path(folder, topic)
                records_from(self._session, self._clients, topic, starts).write.parquet(path)
                yield topic, SavedEdge(len(starts), self._session.read.parquet(path).count())

    def _query(self, folder: Folder, id: str, entry: QueryEntry) -> SavedQuery:
        registration = self._registration
        checkpoint = Checkpoint.of(self._session, self._checkpoints, registration.pipeline, registration.uid, id)
        self._at_rest(id, checkpoint, entry)
        checkpoint.folder.copy_to(Folder(self._session, query_path(folder, id), "savepoints"))
        topic = naming.ledger_topic(registration.pipeline, registration.uid, id)
        taken = Ledger(self._clients, topic, registration.uid, id).take()
        return SavedQuery(entry, taken.records)

    def _at_rest(self, id: str, checkpoint: Checkpoint, entry: QueryEntry) -> None:
        """Nothing half done, and nothing unread between it and other components."""
        hint = (
            "start the pipeline, and take the savepoint while it runs; or let it end with 'whorl run --until-caught-up'"
        )
        progress = checkpoint.progress()
        if progress.in_doubt is not None:
            raise WorldError(f"batch {progress.in_doubt} of query '{id}' is half done", hint=hint, code="savepoint")
        read = checkpoint.read_up_to(entry.edges)
        for topic in entry.edges:
            ends = self._cluster.latest((topic, p) for p in range(self._cluster.partition_counts()[topic]))
            if any(read.get(place, 0) < end for place, end in ends.items()):
                raise WorldError(f"query '{id}' has not read all of '{topic}' yet", hint=hint, code="savepoint")


def state_path(folder: Folder, component: str) -> str:
    return f"{folder.path}/state/{naming.slug(component)}"


def edge_path(folder: Folder, topic: str) -> str:
    return f"{folder.path}/edges/{naming.slug(topic)}"


def query_path(folder: Folder, component: str) -> str:
    return f"{folder.path}/queries/{naming.slug(component)}"
