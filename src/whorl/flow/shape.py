"""What can be wrong with edges as a whole: cycles, nodes that nothing reaches, outputs that nobody reads.

It looks at what is written, not at the graph: a node with wrong options still has its place. A node is not blamed for
what another finding already explains (an edge that dangles, an order that says nothing).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from whorl.config.loader import Loaded
from whorl.config.spec import Named, OperatorSpec
from whorl.errors import Finding
from whorl.flow.graph import Edge, edges_by

BY_SIDE_EFFECT = ("python",)
"""Operators whose output nobody need read."""


def shape(loaded: Loaded, edges: Sequence[Edge], dangling: Sequence[Finding]) -> Iterator[Finding]:
    if not isinstance(loaded.document.tree.value, dict | list):
        return
    ids = [*(named.id for named in loaded.spec.sources), *(named.id for named in loaded.spec.takers)]
    # Of two nodes with one id, an edge from one to the other looks like a cycle.
    certain = [
        edge for edge in edges if not edge.feedback and (edge.source != edge.target or ids.count(edge.source) == 1)
    ]
    cycles = list(cycles_in(certain, ids))
    yield from (_cycle(cycle) for cycle in cycles)
    on_cycle = {edge.source for cycle in cycles for edge in cycle}
    unreached = list(_unreached(loaded, [edge for edge in edges if not edge.feedback], on_cycle))
    yield from unreached
    if not loaded.spec.sources and not unreached:
        yield from _missing(loaded, "sources")
    if not loaded.spec.sinks and not any(_is_an_end(named, edges) for named in loaded.spec.operators):
        yield from _missing(loaded, "sinks")
    else:
        yield from _unused(loaded, edges, dangling)


def cycles_in(edges: Sequence[Edge], order: Sequence[str]) -> Iterator[list[Edge]]:
    """Cycles that share no node, each from its first node in the file."""
    left = _turning(edges)
    while left:
        way = [left[0]]
        while way[-1].target not in (seen := [edge.source for edge in way]):
            way.append(next(edge for edge in left if edge.source == way[-1].target))
        cycle = way[seen.index(way[-1].target) :]
        first = min(range(len(cycle)), key=lambda index: order.index(cycle[index].source))
        yield [*cycle[first:], *cycle[:first]]
        ids = {edge.source for edge in cycle}
        left = _turning([edge for edge in left if edge.source not in ids and edge.target not in ids])


def _turning(edges: Sequence[Edge]) -> list[Edge]:
    """Edges on cycles or between them: those that one can always arrive at and always go on from."""
    left = list(edges)
    while True:
        sources, targets = {edge.source for edge in left}, {edge.target for edge in left}
        kept = [edge for edge in left if edge.source in targets and edge.target in sources]
        if len(kept) == len(left):
            return left
        left = kept


def _cycle(cycle: Sequence[Edge]) -> Finding:
    way = " -> ".join([*(edge.source for edge in cycle), cycle[-1].target])
    hint = "take one edge away, or mark it as meant: {id: ..., feedback: true}"
    return Finding("cycle", f"edges form a cycle: {way}", hint, cycle[-1].at)


def _unreached(loaded: Loaded, edges: Sequence[Edge], on_cycle: Collection[str]) -> Iterator[Finding]:
    spec = loaded.spec
    unclear = {finding.at for finding in loaded.findings if finding.code == "ambiguous"}
    known = {named.id for named in spec.givers}
    excused = [n.id for n in spec.takers if n.at in unclear or {e.id for e in n.from_} - known]
    reached = _reachable([*(source.id for source in spec.sources), *on_cycle, *excused], edges)
    for named in spec.takers:
        if named.id in reached or any(edge.target == named.id for edge in edges if edge.source not in reached):
            continue
        kind = "sink" if named in spec.sinks else "operator"
        hint = (
            "add `from: ...`, or name it in a `to`"
            if spec.sources
            else "add `sources: {name: {type: kafka, topic: ...}}`"
        )
        yield Finding("no-source", f"nothing reaches the {kind} '{named.id}'", hint, named.at)


def _unused(loaded: Loaded, edges: Sequence[Edge], dangling: Sequence[Finding]) -> Iterator[Finding]:
    spec = loaded.spec
    if dangling or any(finding.code == "ambiguous" for finding in loaded.findings):
        return
    for named in spec.givers:
        if _out_of(named, edges) or _need_not_be_read(named):
            continue
        kind = "source" if named in spec.sources else "operator"
        hint = f"add `from: {named.id}` to a sink or operator, or take it away"
        yield Finding("unused", f"nobody reads the {kind} '{named.id}'", hint, named.at)


def _missing(loaded: Loaded, key: str) -> Iterator[Finding]:
    written = loaded.document.tree.child(key)
    if written is None or not written.value:
        hint = f"add `{key}: {{name: {{type: kafka, topic: ...}}}}`"
        yield Finding("missing-key", f"the pipeline has no '{key}'", hint, loaded.document.at((key,)))


def _reachable(roots: Sequence[str], edges: Sequence[Edge]) -> set[str]:
    reached, waiting, out_of = set(roots), list(roots), edges_by(edges, lambda edge: edge.source)
    while waiting:
        new = {edge.target for edge in out_of.get(waiting.pop(), ())} - reached
        reached |= new
        waiting += new
    return reached


def _is_an_end(named: Named, edges: Sequence[Edge]) -> bool:
    return _need_not_be_read(named) and not _out_of(named, edges)


def _need_not_be_read(named: Named) -> bool:
    """What it does may be all that it is there for, or what it shows in a topic of its own."""
    return named.type in BY_SIDE_EFFECT or (isinstance(named, OperatorSpec) and named.publish is not None)


def _out_of(named: Named, edges: Sequence[Edge]) -> bool:
    """Whether another reads it: what an operator sends to itself is its own affair."""
    return any(edge.source == named.id and edge.target != named.id for edge in edges)
