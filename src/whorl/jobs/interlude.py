"""What is done to a pipeline while nothing of it runs: between two stretches of a run, or by a verb of the command line.

All of it gives back what it did, in words and numbers for who asked.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from whorl.config.settings import Settings
from whorl.errors import WorldError
from whorl.kafka.topics import Cluster, Place
from whorl.operators.record import LOOP
from whorl.plan import naming
from whorl.query.checkpoint import Checkpoint
from whorl.savepoints.by_spark import by_spark
from whorl.savepoints.catalog import Place as FolderPlace
from whorl.savepoints.former import in_this_life
from whorl.savepoints.life import Former, NewLife
from whorl.savepoints.loss import Loss
from whorl.savepoints.manifest import Manifest
from whorl.savepoints.repartition import keeps_state, partitions_of
from whorl.savepoints.save import Save
from whorl.spark.folder import Folder
from whorl.tasks.changelog import read_positions
from whorl.tasks.control import Order, Rescale, Savepoint
from whorl.tasks.driver import Driver
from whorl.tasks.register import ComponentEntry, Registration


@dataclass(frozen=True)
class Interlude:
    session: SparkSession
    cluster: Cluster
    driver: Driver
    settings: Settings

    def carry_out(self, order: Order) -> dict[str, Any]:
        started = time.monotonic()
        self.driver.fence()
        match order:
            case Savepoint(name=name):
                done = self._save(name)
            case Rescale(tasks=tasks, partitions=partitions, components=components):
                done = self._rescale(tasks, partitions, components)
            case _:
                raise WorldError(f"a driver does not take the order {order}", code="order")
        return {**done, "seconds": round(time.monotonic() - started, 3)}

    def _save(self, name: str) -> dict[str, Any]:
        catalog = by_spark(self.session, self.settings.savepoints)
        save = Save(self.session, self.cluster, self.driver.registration, self.settings.checkpoints)
        manifest = save.into(catalog, name)
        return {
            "name": name,
            "folder": catalog.find(f"{naming.slug(manifest.pipeline)}/{name}")[0].path,
            **told(manifest),
        }

    def _rescale(self, tasks: int, partitions: int, components: tuple[str, ...]) -> dict[str, Any]:
        before, entries = self.driver.registration, 0
        scaling = Scaling.of(self.cluster, before, self._checkpoint, tasks, partitions, components)
        told = replace(before, tasks=tasks or before.tasks)
        if scaling.partitions:
            former = in_this_life(self.session, self.cluster, told, self.settings.checkpoints)
            kept = self._new_life().begin(former, scaling.partitions)
            entries = sum(tally.entries for id, tally in kept.items() if id in scaling.partitions)
        self.driver.note(tasks=told.tasks)
        return {"components": scaling.components, "entries": entries}

    def _checkpoint(self, id: str) -> Folder:
        registration = self.driver.registration
        path = Checkpoint.path_of(self.settings.checkpoints, registration.pipeline, registration.uid, id)
        return Folder(self.session, path, "checkpoints")

    def leave_behind(self, losses: Collection[Loss]) -> None:
        """The pipeline goes on without these, in a new life: whatever fails before that has begun leaves all as it was."""
        self.driver.fence()
        registration, checkpoints = self.driver.registration, self.settings.checkpoints
        self._new_life().begin(in_this_life(self.session, self.cluster, registration, checkpoints, losses), {})

    def begin_anew(self, former: Former) -> None:
        """From now on the pipeline is what that says."""
        self._new_life().begin(former, {})

    def _new_life(self) -> NewLife:
        replication = self.cluster.replication(self.settings.replication)
        return NewLife(self.session, self.cluster, self.driver, self.settings.checkpoints, replication)


def told(manifest: Manifest) -> dict[str, Any]:
    """A savepoint in numbers."""
    records = sum(edge.records for edge in manifest.edges.values())
    components = len(manifest.components) + len(manifest.queries)
    return {"components": components, "entries": manifest.entries, "records": records, "bytes": manifest.size}


@dataclass(frozen=True)
class Scaling:
    """What a rescale is to do, looked at beforehand; making it raises what is against it."""

    partitions: Mapping[str, int]
    """Of components that get another number: logical partitions, or those of a query's state."""
    components: Mapping[str, Mapping[str, list[int]]]
    """Of each component the numbers of tasks and of partitions, as they were and as they will be."""

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        before: Registration,
        checkpoint: Callable[[str], FolderPlace],
        tasks: int,
        partitions: int,
        components: tuple[str, ...],
    ) -> Scaling:
        """`checkpoint`: the folder of a query's."""
        wanted = partitions_wanted(cluster, before, partitions, components)
        queries = _queries_wanted(before, checkpoint, partitions, components)
        if partitions and not components and not queries and not any(each.kept for each in before.components.values()):
            hint = "name one with --component, if another number of logical partitions is wanted without state"
            raise WorldError(f"no component of '{before.pipeline}' keeps state", hint=hint, code="rescale")
        shown = {id: {"tasks": [0, 0], "partitions": [had, partitions]} for id, had in queries.items()}
        changed = {id: partitions for id, had in queries.items() if had != partitions}
        return cls({**wanted, **changed}, {**scales(before, wanted, tasks), **shown})


def _queries_wanted(
    registration: Registration, checkpoint: Callable[[str], FolderPlace], partitions: int, components: tuple[str, ...]
) -> dict[str, int]:
    """Those that keep state and are meant, and the partitions that it has."""
    chosen = [id for id in registration.queries if partitions and (not components or id in components)]
    return {id: partitions_of(checkpoint(id)) for id in chosen if keeps_state(checkpoint(id))}


def scales(before: Registration, partitions: Mapping[str, int], tasks: int) -> dict[str, dict[str, list[int]]]:
    """Of each component the numbers of tasks and of logical partitions, as they were and as they will be."""
    wanted: dict[str, dict[str, list[int]]] = {}
    for id, entry in before.components.items():
        lps = partitions.get(id, entry.layout.lps)
        count = min(tasks or entry.layout.tasks, lps)
        wanted[id] = {"tasks": [entry.layout.tasks, count], "partitions": [entry.layout.lps, lps]}
    return wanted


def partitions_wanted(
    cluster: Cluster, registration: Registration, partitions: int, components: tuple[str, ...]
) -> Mapping[str, int]:
    """Components that get another number of logical partitions: those named, else all that keep state; raises where one cannot."""
    if not partitions:
        return {}
    known = registration.components
    all_of_them = (*known, *registration.queries)
    if unknown := next((id for id in components if id not in all_of_them), None):
        what = f"pipeline '{registration.pipeline}' has no component '{unknown}'"
        raise WorldError(what, hint=f"it has {', '.join(all_of_them)}", code="rescale")
    kept = tuple(id for id, entry in known.items() if entry.kept)
    chosen = tuple(id for id in components if id in known) if components else kept
    changed = {id: partitions for id in chosen if known[id].layout.lps != partitions}
    for id in chosen:
        topic = naming.changelog_topic(registration.pipeline, registration.uid, id)
        positions = read_positions(cluster.clients, topic, range(known[id].layout.lps))
        _check_divides(id, positions, partitions)
        if id in changed:
            _check_rest(cluster, id, known[id], positions)
    return changed


def _check_rest(cluster: Cluster, id: str, entry: ComponentEntry, positions: Mapping[Place, int]) -> None:
    """A program sends to logical partitions by their number: what is under way means nothing where there are others."""
    programs = {naming.edge_topic("", operator, LOOP, operator): operator for operator in entry.kept}
    back = {place: each for place in positions for end, each in programs.items() if place[0].endswith(end)}
    ends = cluster.latest(back)
    if under_way := next((place for place in back if positions[place] < ends[place]), None):
        what = (
            f"'{id}' cannot get another number of logical partitions now: messages of '{back[under_way]}' are under way"
        )
        hint = "let it come to rest first: stop what writes its sources, or stop it and use 'whorl run --until-quiet'"
        raise WorldError(what, hint=hint, code="rescale")


def _check_divides(id: str, positions: Mapping[Place, int], partitions: int) -> None:
    for name, count in Counter(name for name, _ in positions).items():
        if count % partitions:
            possible = ", ".join(str(n) for n in range(1, count + 1) if count % n == 0)
            raise WorldError(
                f"'{id}' cannot have {partitions} logical partitions: '{name}' has {count} partitions",
                hint=f"a divisor of {count}: {possible}",
                code="rescale",
            )
