"""What can be wrong with loops: a feedback edge by which nothing comes back, and words about a loop where there is none."""

from __future__ import annotations

from collections.abc import Iterator

from whorl.config.full import LOOP_KEYS
from whorl.config.loader import Loaded
from whorl.errors import Finding
from whorl.flow.graph import Edge, StreamGraph


def loop_findings(loaded: Loaded, graph: StreamGraph) -> Iterator[Finding]:
    yield from (
        _leads_on(edge) for edge in graph.edges if edge.feedback and not graph.in_loop(edge.source, edge.target)
    )
    readers = {edge.target for edge in graph.edges if edge.feedback}
    for spec in loaded.spec.operators:
        for key in LOOP_KEYS if spec.id in graph.nodes and spec.id not in readers else ():
            if key in spec.model_fields_set:
                message = f"operator '{spec.id}' has '{key}', but reads no feedback edge"
                hint = "say it of the operator that the loop comes back to, or take it away"
                yield Finding("loop", message, hint, loaded.place(spec, key))


def _leads_on(edge: Edge) -> Finding:
    message = f"the feedback edge from '{edge.source}' to '{edge.target}' closes no loop: nothing leads from '{edge.target}' to '{edge.source}'"
    return Finding("loop", message, "take `feedback` away", edge.at)
