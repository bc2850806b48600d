"""connected_components: each logical partition keeps its share of the forest, in memory and in state alike."""

from __future__ import annotations

from typing import Any

from whorl.operators.graphs.blocks import blocks
from whorl.operators.graphs.edges import Edges
from whorl.operators.graphs.forest import Forest, Heard
from whorl.operators.graphs.owners import Owners, Vertex, key_maker
from whorl.operators.program import PartitionProgram
from whorl.operators.record import Row
from whorl.state.states import MapState, ValueState

EQUAL, TOLD, HOLDS = "equal", "told", "holds"
SIZES = {EQUAL: 2, TOLD: 2, HOLDS: 1}
FOREST, BITS = "forest", "bits"


class ConnectedComponents(PartitionProgram):
    """Edges are never forgotten, so components only ever grow together."""

    component = ValueState(object)
    """Of each vertex: the smallest vertex that it hangs together with."""
    holders = MapState(str, list)
    """Of a vertex that is a component's name: the number of logical partitions, and a bit for each that has vertices of the component. Where
    their number has changed since, all are taken to have some. A map, since it is nobody else's: `publish` leaves maps out."""

    def __init__(self, source: str, target: str, vertices: type) -> None:
        """`vertices`: what they are, `int` or `str`."""
        self._kind, self._key = vertices, key_maker(vertices)
        self.parse_edge = Edges(source, target, None, vertices).ends

    def restore(self, context: Any) -> None:
        forest = Forest(context.partition, Owners(self._kind, context))
        for key, label in self.component.view().items():
            forest.add(self._vertex(key), label)
        for key, _, (partitions, bits) in self.holders.view().items():
            everyone = (1 << context.partitions) - 1
            forest.holders[self._vertex(key)] = bits if partitions == context.partitions else everyone
        context.memory[FOREST] = forest

    def parse(self, row: Row, context: Any) -> tuple[Vertex, Vertex]:
        return self.parse_edge(row)

    def process_many(self, records: list[Any], context: Any) -> None:
        self._step(Heard([vertex for edge in records for vertex in edge]), context)

    def receive(self, messages: list[Row], context: Any) -> None:
        heard = Heard()
        for message in messages:
            heard.equal += message.get(EQUAL, ())
            heard.told += message.get(TOLD, ())
            if HOLDS in message:
                heard.holds.append((message["from"], message[HOLDS]))
        self._step(heard, context)

    def _step(self, heard: Heard, context: Any) -> None:
        forest: Forest = context.memory[FOREST]
        said = forest.step(heard)
        self._keep(forest, context)
        for partition, each in said.items():
            facts = {EQUAL: each.equal, TOLD: each.told, HOLDS: each.holds}
            for block in blocks(facts, SIZES, context.partition):
                context.send(partition, block)

    def _keep(self, forest: Forest, context: Any) -> None:
        key_of, put = self._key, self.component.view().put
        for vertex, label in forest.relabelled.items():
            put(key_of(vertex), label)
        forest.relabelled.clear()
        holders = self.holders.view()
        for label in forest.reheld:
            bits = forest.holders.get(label)
            if bits is None:
                holders.delete(key_of(label), BITS)
            else:
                holders.put(key_of(label), BITS, [context.partitions, bits])
        forest.reheld.clear()

    def _vertex(self, key: bytes) -> Vertex:
        return self._kind(key.decode())
