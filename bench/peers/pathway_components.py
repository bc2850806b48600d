# mypy: disable-error-code="import-not-found"
"""usage: pathway_components.py BROKER TOPIC FILE

Connected components by Pathway's `iterate`: each vertex takes the smallest label among its own and its neighbours', until none changes.
From a topic of edges, read to its end, to a CSV file of vertex and component. Says how long that took, from the moment that the graph
stands. Runs in an environment of its own, with as many threads as PATHWAY_THREADS says.
"""

from __future__ import annotations

import sys
import time

import pathway as pw


class Edge(pw.Schema):
    src: int
    dst: int


def main(broker: str, topic: str, file: str) -> None:
    settings = {"bootstrap.servers": broker, "group.id": topic, "auto.offset.reset": "earliest"}
    edges = pw.io.kafka.read(settings, topic, schema=Edge, format="json", mode="static", autocommit_duration_ms=None)
    pw.io.csv.write(components(edges), file)
    started = time.monotonic()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    print(f"seconds={time.monotonic() - started:.2f}", flush=True)


def components(edges: pw.Table) -> pw.Table:
    ends = edges.select(src=pw.this.src, dst=pw.this.dst)
    both = pw.Table.concat_reindex(ends, ends.select(src=pw.this.dst, dst=pw.this.src))
    vertices = both.groupby(both.src).reduce(vertex=both.src)
    vertices = vertices.with_id_from(vertices.vertex)
    # A vertex is its own neighbour too, so that it keeps its label if that is the smallest.
    itself = vertices.select(src=vertices.vertex, dst=vertices.vertex)
    ways = pw.Table.concat_reindex(both, itself)
    ways = ways.select(source=vertices.pointer_from(ways.src), target=vertices.pointer_from(ways.dst))
    labels = vertices.select(component=vertices.vertex)
    found = pw.iterate(spread, labels=labels, ways=ways).labels
    return vertices.select(vertices.vertex, found.with_universe_of(vertices).component)


def spread(labels: pw.Table, ways: pw.Table) -> dict[str, pw.Table]:
    told = ways.select(ways.target, component=labels.ix(ways.source).component)
    smallest = told.groupby(id=told.target).reduce(component=pw.reducers.min(told.component))
    return {"labels": smallest.with_universe_of(labels), "ways": ways}


if __name__ == "__main__":
    main(*sys.argv[1:])
