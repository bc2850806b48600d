"""Looks at what is there and deletes what `leftovers` allows: by `whorl clean`, or now and then while a pipeline runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from whorl.config.settings import Settings
from whorl.jobs.leftovers import Leftover, Saved, Seen, is_own_topic, leftovers
from whorl.jobs.session import session_aside
from whorl.kafka.topics import Cluster
from whorl.plan import naming
from whorl.savepoints.catalog import Catalog
from whorl.spark.folder import Folder
from whorl.spark.local import LocalFolder
from whorl.tasks.register import registrations


class Cleaning:
    """Of all pipelines of a broker whose checkpoints and savepoints these settings name."""

    def __init__(self, cluster: Cluster, settings: Settings, session: SparkSession | None = None) -> None:
        self._cluster, self._settings, self._session = cluster, settings, session

    def found(self, only: str | None = None, holding: bool = False) -> list[Leftover]:
        """`holding`: who asks holds that pipeline, and is not making a new life of it."""
        seen, own = self._seen(), naming.slug(only) if only else None
        free = replace(seen, held=seen.held - {own}) if holding else seen
        return leftovers(free, self._settings.cleaner, time.time(), own)

    def delete(self, found: list[Leftover]) -> None:
        """In the order in which they were found."""
        for each in found:
            if each.kind == "checkpoint":
                self._open(f"{self._settings.checkpoints.rstrip('/')}/{each.name}").delete()
            elif each.kind == "savepoint":
                self._catalog().delete(f"{each.pipeline}/{each.name}")
        self._cluster.delete(each.name for each in found if each.kind == "topic")

    def _seen(self) -> Seen:
        counts = self._cluster.partition_counts()
        known = registrations(self._cluster.clients) if naming.REGISTER in counts else {}
        own = {name: count for name, count in counts.items() if is_own_topic(name)}
        return Seen(
            lives={naming.slug(name): each.uid for name, each in known.items()},
            held=frozenset(naming.slug(n) for n, each in known.items() if each.holder and not each.holder.is_gone()),
            topics=self._cluster.last_written(own),
            checkpoints=self._checkpoints(),
            savepoints=[Saved(each.pipeline, each.name, each.taken) for each in self._catalog().all()],
        )

    def _checkpoints(self) -> dict[str, float]:
        root = self._open(self._settings.checkpoints)
        return {name: root.newest(name) for name in root.names()}

    def _catalog(self) -> Catalog[Any]:
        return Catalog(self._settings.savepoints, self._open)

    def _open(self, path: str) -> Any:
        if LocalFolder.has(path):
            return LocalFolder(path)
        assert self._session is not None
        return Folder(self._session, path, "checkpoints")


@contextmanager
def cleaning(cluster: Cluster, settings: Settings) -> Iterator[Cleaning]:
    """Spark is started only where its file systems are needed."""
    if LocalFolder.has(settings.checkpoints) and LocalFolder.has(settings.savepoints):
        yield Cleaning(cluster, settings)
        return
    with session_aside(settings, "clean") as session:
        yield Cleaning(cluster, settings, session)
