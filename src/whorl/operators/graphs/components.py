"""connected_components: each logical partition keeps its share of the forest, in memory and in state alike."""

from __future__ import annotations

from typing import Any

from whorl.operators.graphs.blocks import blocks
from whorl.operators.graphs.edges import Edges
from whorl.operators.graphs.forest import Forest, Heard
from whorl.operators.graphs.owners import Owners, Vertex, key_maker
from whorl.operators.program import PartitionProgram, ProgramContext
from whorl.operators.record import Record, Row
from whorl.state.states import ValueState

EQUAL, TOLD, HOLDS = "equal", "told", "holds"
SIZES = {EQUAL: 2, TOLD: 2, HOLDS: 1}
FOREST = "forest"
VERTEX, COMPONENT = "vertex", "component"


class ConnectedComponents(PartitionProgram):
    """Edges are never forgotten, so components only ever grow together."""

    component = ValueState(object)
    """Of each vertex: the smallest vertex that it hangs together with."""

    def __init__(self, source: str, target: str, vertices: type) -> None:
        """`vertices`: what they are, `int` or `str`."""
        self._kind, self._key = vertices, key_maker(vertices)
        self.parse_edge = Edges(source, target, None, vertices).ends

    def restore(self, context: ProgramContext) -> None:
        others = (1 << context.partitions) - 1 ^ 1 << context.partition
        forest = Forest(context.partition, Owners(self._kind, context), others)
        for key, label in self.component.view().items():
            forest.add(self._vertex(key), label)
        context.memory[FOREST] = forest

    def parse(self, row: Row, context: ProgramContext) -> tuple[Vertex, Vertex]:
        return self.parse_edge(row)

    def process_many(self, records: list[Any], context: ProgramContext) -> None:
        self._step(Heard([vertex for edge in records for vertex in edge]), context)

    def receive(self, messages: list[Row], context: ProgramContext) -> None:
        heard = Heard()
        for message in messages:
            heard.equal += message.get(EQUAL, ())
            heard.told += message.get(TOLD, ())
            if HOLDS in message:
                heard.holds.append((message["from"], message[HOLDS]))
        self._step(heard, context)

    def _step(self, heard: Heard, context: ProgramContext) -> None:
        forest: Forest = context.memory[FOREST]
        said = forest.step(heard)
        if context.is_read:
            for vertex, label in forest.relabelled.items():
                context.emit(Record({VERTEX: vertex, COMPONENT: label}, key=self._key(vertex)))
        self._keep(forest)
        for partition, each in said.items():
            facts = {EQUAL: each.equal, TOLD: each.told, HOLDS: each.holds}
            for block in blocks(facts, SIZES, context.partition):
                context.send(partition, block)

    def _keep(self, forest: Forest) -> None:
        key_of, put = self._key, self.component.view().put
        for vertex, label in forest.relabelled.items():
            put(key_of(vertex), label)
        forest.relabelled.clear()

    def _vertex(self, key: bytes) -> Vertex:
        return self._kind(key.decode())
