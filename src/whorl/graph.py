"""Graphs whose edges keep arriving: what programs by vertex are derived from.

    class Hops(VertexProgram):
        def compute(self, vertex, messages, context): ...

The algorithms that come with Whorl are operator types: `connected_components`, `shortest_paths`, `reachability`, `pagerank`,
`label_propagation`. docs/graphs.md tells of both.
"""

from whorl.operators.graphs.vertices import Vertex, VertexProgram

__all__ = ["Vertex", "VertexProgram"]
