"""Taking a savepoint: all that a pipeline is, in one folder, which needs nothing else to be resumed from.

Nothing of the pipeline may run meanwhile (`Driver.fence`). Spark writes state and the records that are between components; checkpoints of
queries are copied; the manifest comes last.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
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
from whorl.savepoints.frames import places, records_from, records_tally, state_of, tally
from whorl.savepoints.manifest import MANIFEST, Manifest, SavedComponent, SavedEdge, SavedQuery
from whorl.spark.folder import Folder
from whorl.tasks.changelog import read_lps
from whorl.tasks.layout import Place
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
        edges = {topic: self._edge(folder, topic, positions) for topic, positions in self._unread(components)}
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

    def _unread(self, components: Mapping[str, SavedComponent]) -> Iterator[tuple[str, Mapping[Place, int]]]:
        """Topics between components, and how far who reads them has come."""
        for saved in components.values():
            yield from ((topic, saved.positions) for topic in saved.entry.edges)
        for id, entry in self._registration.queries.items():
            yield from ((topic, self._checkpoint(id).read_up_to(entry.edges)) for topic in entry.edges)

    def _edge(self, folder: Folder, topic: str, positions: Mapping[Place, int]) -> SavedEdge:
        starts, path = places(topic, positions), edge_path(folder, topic)
        records_from(self._session, self._clients, topic, starts).write.parquet(path)
        found = records_tally(self._session.read.parquet(path))
        return SavedEdge(len(starts), found.entries, found.checksum)

    def _checkpoint(self, id: str) -> Checkpoint:
        registration = self._registration
        return Checkpoint.of(self._session, self._checkpoints, registration.pipeline, registration.uid, id)

    def _query(self, folder: Folder, id: str, entry: QueryEntry) -> SavedQuery:
        registration, checkpoint = self._registration, self._checkpoint(id)
        self._at_rest(id, checkpoint, entry)
        copy = Folder(self._session, query_path(folder, id), "savepoints")
        checkpoint.folder.copy_to(copy)
        topic = naming.ledger_topic(registration.pipeline, registration.uid, id)
        taken = Ledger(self._clients, topic, registration.uid, id).take()
        return SavedQuery(entry, taken.records, copy.size())

    def _at_rest(self, id: str, checkpoint: Checkpoint, entry: QueryEntry) -> None:
        """A batch that is half done will be done again, from the same records: those of other components have other places then."""
        batch = checkpoint.progress().in_doubt
        if batch is not None and entry.edges:
            what = f"batch {batch} of query '{id}', which reads '{entry.edges[0]}', is half done"
            hint = "start the pipeline, and take the savepoint while it runs; or let it end with 'whorl run --until-caught-up'"
            raise WorldError(what, hint=hint, code="savepoint")


def state_path(folder: Folder, component: str) -> str:
    return f"{folder.path}/state/{naming.slug(component)}"


def edge_path(folder: Folder, topic: str) -> str:
    return f"{folder.path}/edges/{naming.slug(topic)}"


def query_path(folder: Folder, component: str) -> str:
    return f"{folder.path}/queries/{naming.slug(component)}"
