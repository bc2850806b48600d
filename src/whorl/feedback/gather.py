"""Evidence of a pipeline, from its status topic, which keeps an hour, and from its plan. It need not run any more."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from whorl.config.spec import FileSink, FileSource
from whorl.errors import WorldError
from whorl.feedback.evidence import ComponentEvidence, Evidence, Files, Sample
from whorl.jobs.history import HEAP
from whorl.kafka.reading import read_as_of_now
from whorl.kafka.topics import Cluster
from whorl.plan import naming
from whorl.plan.plan import Component, Plan
from whorl.plan.words import state_partitions
from whorl.spark.local import LocalFolder
from whorl.tasks.control import Status, status_of

_FIGURES = {field.name for field in fields(Sample)} - {"at"}
_BOUNDS = ("ttl", "max_keys", "max_bytes", "gap", "within", "message_id")
_MOST_FILES = 100_000


def gathered(cluster: Cluster, plan: Plan) -> Evidence:
    """Raises WorldError where the pipeline has told nothing within the hour."""
    topic = naming.status_topic(plan.pipeline)
    known = cluster.partition_counts()
    said = (
        [status_of(message.value()) for message in read_as_of_now(cluster.clients, (topic, 0))]
        if topic in known
        else []
    )
    if not any(status.component in {component.id for component in plan.components} for status in said):
        hint = "it tells how it does while it runs, and that is kept for an hour"
        raise WorldError(f"nothing is known of how '{plan.pipeline}' has run", hint=hint, code="no-history")
    return evidence_of(plan, said)


def evidence_of(plan: Plan, said: Iterable[Status]) -> Evidence:
    by_component: dict[str, list[Status]] = defaultdict(list)
    uid = ""
    for status in said:
        if status.uid != uid and status.component in {component.id for component in plan.components}:
            by_component.clear()  # another life: what was told before is of one that is gone
            uid = status.uid
        by_component[status.component].append(status)
    trigger = plan.settings.trigger
    return Evidence(
        pipeline=plan.pipeline,
        components=tuple(_component(plan, each, by_component[each.id]) for each in plan.components),
        trigger=trigger if isinstance(trigger, float) else None,
        heap=tuple(status.figures["share"] for status in by_component[HEAP]),
        files=tuple(_files(plan)),
        dead_letter=plan.dead_letter,
        cores=os.cpu_count() or 1,
    )


def _component(plan: Plan, component: Component, said: list[Status]) -> ComponentEvidence:
    kept = component.keeps_state or component.stateful
    return ComponentEvidence(
        id=component.id,
        host=component.host.value,
        samples=tuple(samples_of(said)),
        places=_moved(said),
        keeps_state=kept,
        bounded=_bounded(component) if kept else None,
        state_partitions=state_partitions(plan.settings) if component.is_query and component.stateful else None,
    )


def samples_of(said: list[Status]) -> list[Sample]:
    """All tasks together, whenever one of them says something: each as it was last. A task that starts again begins from zero, and what it
    had before is kept."""
    last: dict[int, Mapping[str, Any]] = {}
    before: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    found = []
    for status in said:
        figures, known = status.figures, last.get(status.task)
        if known is not None and figures.get("read", 0) < known.get("read", 0):
            for name in ("read", "written", "dead", "commits", "commit_seconds", "late"):
                before[status.task][name] += known.get(name, 0)
        last[status.task] = figures
        found.append(_sample(status.at, last, before))
    return found


def _sample(at: float, last: Mapping[int, Mapping[str, Any]], before: Mapping[int, Mapping[str, float]]) -> Sample:
    total = {name: sum(each.get(name, 0) + before[task].get(name, 0) if task in before else each.get(name, 0) for task, each in last.items()) for name in _FIGURES}  # fmt: skip
    only = next(iter(last.values()))
    one = {name: only.get(name, getattr(Sample(0.0), name)) for name in ("batch", "batch_seconds", "state_rows")}
    whole = {name: int(value) for name, value in total.items() if name not in (*one, "commit_seconds")}
    return Sample(at=at, **whole, commit_seconds=total["commit_seconds"], **one)


def _moved(said: list[Status]) -> dict[str, int]:
    first: dict[tuple[str, int], int] = {}
    last: dict[tuple[str, int], int] = {}
    for status in said:
        for place, offset in status.positions.items():
            first.setdefault(place, offset)
            last[place] = offset
    return {f"{topic}/{partition}": last[topic, partition] - offset for (topic, partition), offset in first.items()}


def _bounded(component: Component) -> bool | None:
    if component.is_query:
        return any(input.watermark for input in component.inputs)
    kept = [placed.node.what for placed in component.operators if placed.node.id in component.kept]
    if any(getattr(what, "type", "") == "python" for what in kept):
        return None  # its states may have times of their own
    options = [getattr(what, "options", None) for what in kept]
    return all(any(getattr(each, name, None) for name in _BOUNDS) for each in options)


def _files(plan: Plan) -> Iterable[Files]:
    for node in plan.graph.nodes.values():
        what = node.what
        if isinstance(what, FileSource | FileSink) and LocalFolder.has(what.path):
            sizes = [path.stat().st_size for path, _ in zip(_in(what.path), range(_MOST_FILES), strict=False)]
            yield Files(node.id, what.path, len(sizes), sum(sizes), isinstance(what, FileSink))


def _in(path: str) -> Iterable[Path]:
    root = Path(path.removeprefix("file:"))
    return (each for each in root.rglob("*") if each.is_file() and not each.name.startswith((".", "_")))
