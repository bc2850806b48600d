"""Programs that think like a vertex: what one does with the messages that it has got is said, the rest is here.

    class Hops(VertexProgram):
        def compute(self, vertex, messages, context):
            hops = min(messages, default=0 if vertex.id == "start" else None)
            if hops is not None and (vertex.value is None or hops < vertex.value):
                vertex.value = hops
                vertex.send_to_neighbours(hops + 1)
            elif vertex.value is not None:
                for neighbour in vertex.added:
                    vertex.send(neighbour, vertex.value + 1)

`compute` is called for a vertex when it is new, when it has got edges (`vertex.added`), and when it has got messages. Messages to vertices
of the same logical partition are delivered at once, over and over, and only what crosses becomes a record. There is no barrier: a
program must be right whatever order messages come in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from whorl.operators.graphs.blocks import blocks
from whorl.operators.graphs.edges import Edge, Edges
from whorl.operators.graphs.owners import Owners, key_maker
from whorl.operators.graphs.owners import Vertex as Id
from whorl.operators.program import PartitionProgram, ProgramContext
from whorl.operators.record import Record, Row
from whorl.state.states import MapState, ValueState

EDGES, VERTICES, MESSAGES = "edges", "vertices", "messages"
SIZES = {EDGES: 3, VERTICES: 1, MESSAGES: 2}
SHARE, VERTEX = "share", "vertex"
AT_ONCE = 100
"""How often messages within a logical partition are delivered before those that are left take the topic, so that no loop is endless unseen."""


class Vertex:
    """One vertex in the hands of `compute`."""

    __slots__ = ("_forgotten", "_post", "added", "id", "memo", "neighbours", "value")

    def __init__(self, id: Id, post: Post) -> None:
        self.id = id
        self.value: Any = None
        """What the program keeps of it, and the table shows. To be set, not changed in place."""
        self.neighbours: dict[Id, float] = {}
        """Where its edges go, with their weights."""
        self.added: dict[Id, float | None] = {}
        """Neighbours that are new since the last call, and those whose weight is: with the weight of before, None where there was none."""
        self.memo: dict[Any, Any] = {}
        """What else it remembers; `remember` sets it."""
        self._post, self._forgotten = post, post.forgotten

    def send(self, to: Id, message: Any) -> None:
        """To any vertex whose id is known."""
        self._post.send(to, message)

    def send_to_neighbours(self, message: Any) -> None:
        send = self._post.send
        for neighbour in self.neighbours:
            send(neighbour, message)

    def remember(self, name: Any, value: Any) -> None:
        """None forgets it."""
        if value is None:
            self.memo.pop(name, None)
        else:
            self.memo[name] = value
        self._forgotten[self.id, name] = None


class Post:
    """Messages of one logical partition that are not delivered yet."""

    def __init__(self, merge: Callable[[Any, Any], Any] | None) -> None:
        self._merge = merge
        self.waiting: dict[Id, list[Any]] = {}
        self.forgotten: dict[tuple[Id, Any], None] = {}
        """What was remembered or forgotten since it was last written down."""

    def send(self, to: Id, message: Any) -> None:
        before = self.waiting.get(to)
        if before is None:
            self.waiting[to] = [message]
        elif self._merge is None:
            before.append(message)
        else:
            before[0] = self._merge(before[0], message)

    def take(self) -> dict[Id, list[Any]]:
        waiting, self.waiting = self.waiting, {}
        return waiting


class Share:
    """The vertices of one logical partition."""

    def __init__(self, merge: Callable[[Any, Any], Any] | None, owners: Owners) -> None:
        self.vertices: dict[Id, Vertex] = {}
        self.post = Post(merge)
        self.owners = owners
        self.changed: dict[Id, None] = {}

    def vertex(self, id: Id) -> Vertex:
        vertex = self.vertices.get(id)
        if vertex is None:
            vertex = self.vertices[id] = Vertex(id, self.post)
        return vertex


class VertexProgram(PartitionProgram):
    """Base of programs by vertex. Its options are given to the class: `args: {source: from, target: to, weight: km}`."""

    kept: ClassVar[str] = "value"
    """The name of the state that holds `vertex.value`."""
    value = ValueState(object)
    edges = MapState(object, float)
    memo = MapState(object, object)

    def __init__(
        self,
        source: str = "src",
        target: str = "dst",
        weight: str | None = None,
        directed: bool = True,
        vertices: type = str,
    ) -> None:
        """`vertices`: what they are named by, `str`, or `int` where the columns hold whole numbers."""
        self._kind, self._key, self._directed = vertices, key_maker(vertices), directed
        self._edge = Edges(source, target, weight, vertices).weighted

    def compute(self, vertex: Vertex, messages: list[Any], context: ProgramContext) -> None:
        """What a vertex does with what it was sent, and with the edges it has got."""
        raise NotImplementedError(
            f"'{type(self).__qualname__}' has no method 'compute(self, vertex, messages, context)'"
        )

    merge: ClassVar[Any] = None
    """A function of two messages to the same vertex that makes them one, such as `min`; None: each comes by itself."""

    def weighted(self, before: float | None, weight: float) -> float:
        """The weight of an edge that comes again; raises where a weight cannot be."""
        return weight

    # -- as the engine calls it -------------------------------------------------------------------------------------------------------

    def restore(self, context: ProgramContext) -> None:
        share = Share(type(self).merge, Owners(self._kind, context))
        for key, value in self._values().items():
            share.vertex(self._id(key)).value = value
        for key, neighbour, weight in self.edges.view().items():
            share.vertex(self._id(key)).neighbours[neighbour] = weight
        for key, name, value in self.memo.view().items():
            share.vertex(self._id(key)).memo[name] = value
        context.memory[SHARE] = share

    def parse(self, row: Row, context: ProgramContext) -> Edge:
        source, target, weight = self._edge(row)
        return source, target, self.weighted(None, weight)

    def process_many(self, records: list[Any], context: ProgramContext) -> None:
        share: Share = context.memory[SHARE]
        edges = records if self._directed else [*records, *((v, u, weight) for u, v, weight in records)]
        woken: dict[Id, list[Any]] = {}
        outbox: dict[int, dict[str, list[Any]]] = {}
        sources = share.owners.of([edge[0] for edge in edges])
        for owner, edge in zip(sources, edges, strict=True):
            if owner == context.partition:
                self._add(share, edge, woken)
            else:
                _facts(outbox, owner)[EDGES] += edge
        for owner, targets in share.owners.parted(list({edge[1] for edge in edges})).items():
            if owner == context.partition:
                self._meet(share, targets, woken)
            else:
                _facts(outbox, owner)[VERTICES] += targets
        self._run(share, woken, outbox, context)

    def receive(self, messages: list[Row], context: ProgramContext) -> None:
        share: Share = context.memory[SHARE]
        woken: dict[Id, list[Any]] = {}
        for message in messages:
            each = iter(message.get(EDGES, ()))
            for edge in zip(each, each, each, strict=True):
                self._add(share, edge, woken)
            self._meet(share, message.get(VERTICES, ()), woken)
            each = iter(message.get(MESSAGES, ()))
            for to, sent in zip(each, each, strict=True):
                woken.setdefault(to, []).extend(sent)
        self._run(share, woken, {}, context)

    # -- within -----------------------------------------------------------------------------------------------------------------------

    def _add(self, share: Share, edge: Edge, woken: dict[Id, list[Any]]) -> None:
        source, target, weight = edge
        vertex = share.vertex(source)
        before = vertex.neighbours.get(target)
        weight = self.weighted(before, weight)
        if weight != before:
            vertex.neighbours[target] = weight
            vertex.added.setdefault(target, before)
            self.edges.view().put(self._key(source), target, weight)
            woken.setdefault(source, [])

    def _meet(self, share: Share, ids: Iterable[Id], woken: dict[Id, list[Any]]) -> None:
        """Vertices that edges lead to are there, even if none leads away from them."""
        for id in ids:
            if id not in share.vertices:
                share.vertex(id)
                woken.setdefault(id, [])

    def _run(
        self, share: Share, woken: dict[Id, list[Any]], outbox: dict[int, dict[str, list[Any]]], context: ProgramContext
    ) -> None:
        """Until nobody within this logical partition has got anything, or for long enough."""
        rounds = 0
        away: dict[Id, list[Any]] = {}
        while woken and rounds < AT_ONCE:
            for id, messages in woken.items():
                self._compute(share, share.vertex(id), messages, context)
            woken, rounds = self._parted(share, share.post.take(), away), rounds + 1
        for id, messages in woken.items():
            away[id] = messages
        for owner, ids in share.owners.parted(list(away)).items():
            _facts(outbox, owner)[MESSAGES] += [thing for id in ids for thing in (id, away[id])]
        self._keep(share, context)
        for owner, facts in outbox.items():
            for block in blocks(facts, SIZES, context.partition):
                context.send(owner, block)

    def _compute(self, share: Share, vertex: Vertex, messages: list[Any], context: ProgramContext) -> None:
        before = vertex.value
        self.compute(vertex, messages, context)
        if vertex.added:
            vertex.added = {}
        if vertex.value is not before:
            share.changed[vertex.id] = None

    def _parted(self, share: Share, sent: Mapping[Id, list[Any]], away: dict[Id, list[Any]]) -> dict[Id, list[Any]]:
        """What stays here; what does not is added to what is away already."""
        here: dict[Id, list[Any]] = {}
        merge = type(self).merge
        for id, messages in sent.items():
            if id in share.vertices:
                here[id] = messages
            elif id not in away:
                away[id] = messages
            elif merge is None:
                away[id] += messages
            else:
                away[id] = [merge(away[id][0], messages[0])]
        return here

    def _keep(self, share: Share, context: ProgramContext) -> None:
        key_of, values, memo, vertices = self._key, self._values(), self.memo.view(), share.vertices
        for id in share.changed:
            key, value = key_of(id), vertices[id].value
            values.put(key, value)
            if context.is_read:
                context.emit(Record({VERTEX: id, self.kept: value}, key=key))
        share.changed.clear()
        for id, name in share.post.forgotten:
            value = vertices[id].memo.get(name)
            if value is None:
                memo.delete(key_of(id), name)
            else:
                memo.put(key_of(id), name, value)
        share.post.forgotten.clear()

    def _values(self) -> Any:
        return getattr(self, self.kept).view()

    def _id(self, key: bytes) -> Id:
        return self._kind(key.decode())


def _facts(outbox: dict[int, dict[str, list[Any]]], owner: int) -> dict[str, list[Any]]:
    if owner not in outbox:
        outbox[owner] = {EDGES: [], VERTICES: [], MESSAGES: []}
    return outbox[owner]
