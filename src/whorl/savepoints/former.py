"""What a new life of a pipeline begins with: a savepoint, or the life that it has."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import SparkSession

from whorl.errors import WorldError
from whorl.kafka.topics import INTERNAL, Cluster, TopicWanted
from whorl.kafka.transactions import Transactions
from whorl.plan import naming
from whorl.query.checkpoint import Checkpoint
from whorl.query.ledger import Ledger
from whorl.savepoints.frames import KeptState, SavedState, records_tally
from whorl.savepoints.life import Former, FormerComponent, FormerQuery
from whorl.savepoints.loss import Loss, left_of, left_of_own
from whorl.savepoints.manifest import Manifest, SavedComponent, Tally
from whorl.savepoints.save import edge_path, query_path, state_path
from whorl.spark.folder import Folder
from whorl.tasks.changelog import read_lps
from whorl.tasks.register import ComponentEntry, QueryEntry, Registration


def in_savepoint(
    session: SparkSession, cluster: Cluster, folder: Folder, manifest: Manifest, replication: int
) -> Former:
    """Topics between components may hold more by now, of the life that the savepoint was taken from: they are read from their ends, behind
    which the saved records are written again."""
    _verify(session, folder, manifest)
    _make_edges(cluster, manifest, replication)
    ends = cluster.latest((topic, p) for topic, edge in manifest.edges.items() for p in range(edge.partitions))

    def component(id: str, saved: SavedComponent) -> FormerComponent:
        own = {lp: record.encode() for lp, record in saved.own.items()}
        state = SavedState(session.read.parquet(state_path(folder, id)), saved.entry.layout.lps)
        return FormerComponent(saved.entry, own, state, saved.tally)

    def append(transactions: Transactions) -> None:
        for topic, edge in manifest.edges.items():
            if edge.records:
                _append(session, transactions, topic, edge_path(folder, topic))

    return Former(
        manifest.registration,
        {id: component(id, saved) for id, saved in manifest.components.items()},
        {
            id: FormerQuery(saved.entry, Folder(session, query_path(folder, id), "savepoints"), saved.ledger)
            for id, saved in manifest.queries.items()
        },
        ends,
        append,
    )


def _verify(session: SparkSession, folder: Folder, manifest: Manifest) -> None:
    """Raises where files are not what they were; those of state are compared once they are read, before anything is changed too."""
    hint = "nothing was changed; take another copy of the savepoint, or another savepoint"
    for topic, edge in manifest.edges.items():
        saved = Tally(edge.records, edge.checksum)
        if edge.checksum and records_tally(session.read.parquet(edge_path(folder, topic))) != saved:
            raise WorldError(f"the records of '{topic}' are not those that were saved", hint=hint, code="verify")
    for id, query in manifest.queries.items():
        size = Folder(session, query_path(folder, id), "savepoints").size()
        if query.size and size != query.size:
            what = f"the checkpoint of '{id}' has {size} bytes, and {query.size} were saved"
            raise WorldError(what, hint=hint, code="verify")


def _make_edges(cluster: Cluster, manifest: Manifest, replication: int) -> None:
    counts = cluster.partition_counts()
    for topic, edge in manifest.edges.items():
        if counts.get(topic, edge.partitions) != edge.partitions:
            what = f"topic '{topic}' has {counts[topic]} partitions, and had {edge.partitions} when it was saved"
            raise WorldError(what, hint="delete it, and it is made as it was", code="savepoint")
    missing = [TopicWanted(t, edge.partitions, INTERNAL) for t, edge in manifest.edges.items() if t not in counts]
    cluster.create(missing, replication)


def _append(session: SparkSession, transactions: Transactions, topic: str, path: str) -> None:
    for row in session.read.parquet(path).orderBy("partition", "offset").toLocalIterator():
        headers = [(header.name, _bytes(header.value)) for header in row.headers]
        as_it_was = (None, None, row.timestamp, headers)
        transactions.produce(topic, _bytes(row.value), _bytes(row.key), row.partition, *as_it_was)


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


def in_this_life(
    session: SparkSession,
    cluster: Cluster,
    registration: Registration,
    checkpoints: str,
    losses: Collection[Loss] = (),
) -> Former:
    """As it is, less what is left behind; nobody may work in it any more."""
    name, uid, clients = registration.pipeline, registration.uid, cluster.clients
    gone = {loss.component for loss in losses if loss.is_whole}

    def component(id: str, entry: ComponentEntry) -> FormerComponent:
        topic, lps = naming.changelog_topic(name, uid, id), entry.layout.lps
        lost = tuple(loss for loss in losses if loss.component == id)
        own = left_of_own(lost, read_lps(clients, topic, range(lps)))
        return FormerComponent(left_of(lost, entry), own, KeptState(session, topic, lps, lost))

    def query(id: str, entry: QueryEntry) -> FormerQuery:
        taken = Ledger(clients, naming.ledger_topic(name, uid, id), uid, id).take()
        return FormerQuery(entry, Checkpoint.of(session, checkpoints, name, uid, id).folder, taken.records)

    return Former(
        registration,
        {id: component(id, entry) for id, entry in registration.components.items() if id not in gone},
        {id: query(id, entry) for id, entry in registration.queries.items() if id not in gone},
    )
