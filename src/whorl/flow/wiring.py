"""Edges from what both ends say of them. An edge written at both ends is one edge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from whorl.config.codes import suggest
from whorl.config.loader import Loaded
from whorl.config.spec import Link, Named, PipelineSpec
from whorl.errors import Finding
from whorl.flow.graph import Edge, reachable

_ADD = "add it, or take the edge away"


def wire(loaded: Loaded) -> tuple[list[Edge], list[Finding]]:
    """The edges whose both ends exist, and those that dangle."""
    edges: dict[tuple[str, str, str], Edge] = {}
    findings: list[Finding] = []
    givers, takers = {named.id for named in loaded.spec.givers}, {named.id for named in loaded.spec.takers}
    for edge in _written(loaded):
        dangling = _dangling(givers, takers, edge)
        if dangling:
            findings.append(dangling)
            continue
        name = (edge.source, edge.target, edge.output)
        twin = edges.get(name)
        edges[name] = _joined(twin, edge) if twin else edge
    return _with_loops(list(edges.values()), loaded.spec), findings


def _with_loops(edges: list[Edge], spec: PipelineSpec) -> list[Edge]:
    """What an operator reads of itself, or of one behind it that stands further down in the file, comes back to it: a feedback edge."""
    order = [named.id for named in spec.operators]
    places = {id: index for index, id in enumerate(order)}
    doubled = {id for id, count in Counter(order).items() if count > 1}
    read = {(link.id, named.id, link.output) for named in spec.operators for link in named.from_}
    forward = [
        edge for edge in edges if (edge.source, edge.target, edge.output) not in read or _goes_on(edge, places, doubled)
    ]
    kept = set(forward)
    back = [edge for edge in edges if edge not in kept]
    led = {edge.target: reachable([each for each in forward if not each.feedback], edge.target) for edge in back}
    returning = {edge for edge in back if edge.source in (edge.target, *led[edge.target])}
    return [replace(edge, feedback=edge.feedback or edge in returning) for edge in edges] if back else edges


def _goes_on(edge: Edge, places: Mapping[str, int], doubled: Collection[str]) -> bool:
    """Whether it leads down the file. Of two operators with one id, nothing can be said."""
    if edge.source not in places or edge.target not in places or edge.source in doubled:
        return True
    return places[edge.source] < places[edge.target]


def _written(loaded: Loaded) -> Iterator[Edge]:
    spec = loaded.spec
    for named in spec.takers:
        for index, link in enumerate(named.from_):
            yield _edge(loaded, named, "from", index, link, link.id, named.id)
    for giver in spec.givers:
        for index, link in enumerate(giver.to):
            yield _edge(loaded, giver, "to", index, link, giver.id, link.id)


def _edge(loaded: Loaded, named: Named, end: str, index: int, link: Link, source: str, target: str) -> Edge:
    at = loaded.place(named, end, index, "id")
    return Edge(source, target, link.output, link.via == "topic", link.feedback, at)


def _joined(one: Edge, other: Edge) -> Edge:
    return replace(one, topic=one.topic or other.topic, feedback=one.feedback or other.feedback)


def _dangling(givers: set[str], takers: set[str], edge: Edge) -> Finding | None:
    if edge.source not in givers:
        why = "is a sink: nothing leaves it" if edge.source in takers else "does not exist"
        hint = suggest(edge.source, givers - {edge.target}, "sources and operators") or _ADD
        return Finding("dangling-edge", f"'{edge.target}' reads '{edge.source}', which {why}", hint, edge.at)
    if edge.target not in takers:
        why = "is a source: nothing enters it" if edge.target in givers else "does not exist"
        hint = suggest(edge.target, takers - {edge.source}, "operators and sinks") or _ADD
        return Finding("dangling-edge", f"'{edge.source}' leads to '{edge.target}', which {why}", hint, edge.at)
    return None
