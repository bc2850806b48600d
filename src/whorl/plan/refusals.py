"""What the hosts cannot run though each node for itself is right: found when the plan is made, at the place that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

from whorl.config.settings import Settings
from whorl.config.spec import KafkaSource
from whorl.errors import Finding
from whorl.flow.graph import Node, StreamGraph, keyed_by
from whorl.operators.native import ROW_BY_ROW, Call, Query
from whorl.plan.plan import Component, Plan

_OTHER_TRIGGER = "set another `trigger`, such as 1s"


def refusals(plan: Plan) -> Iterator[Finding]:
    if plan.settings.dynamic_allocation:
        yield from _long_tasks(plan)
    for component in plan.components:
        yield from _supersteps(plan, component)
    for component in plan.queries:
        yield from _in_loops(plan.graph, component)
        yield from _no_stream(plan.graph, component)
        if plan.settings.state.query_backend != "rocksdb":
            yield from _not_by_key(plan.graph, component)
        if plan.settings.trigger == "realtime":
            yield from _not_in_real_time(plan.graph, component, plan.settings)


def _long_tasks(plan: Plan) -> Iterator[Finding]:
    """Spark gives executors back that are idle, and takes more for tasks that wait: long tasks neither end nor may wait."""
    for component in (each for each in plan.components if not each.is_query):
        message = f"`dynamic_allocation` cannot be: component '{component.id}' runs in tasks, which hold their executors for ever"
        hint = "leave it out, or give its operators `host: query`; `autoscale` follows the lag instead"
        yield Finding("host", message, hint, component.operators[0].node.at if component.operators else None)


def _supersteps(plan: Plan, component: Component) -> Iterator[Finding]:
    """They are counted where what leads back is both sent and read, by an operator with state."""
    for node in (placed.node for placed in component.operators if placed.node.loop.supersteps):
        why = ""
        if len(plan.loop_of(component)) > 1:
            why = "its loop goes over several components"
        elif len(component.feedback) > 1:
            why = "its component has more than one loop"
        elif keyed_by(node) is None:
            why = "it keeps no state"
        elif any(input.watermark for input in component.inputs):
            why = "its component goes by event time"
        if why:
            message = f"operator '{node.id}' cannot go by supersteps: {why}"
            yield Finding("loop", message, "take `supersteps` away, or let it send to itself", node.at)


def _in_loops(graph: StreamGraph, component: Component) -> Iterator[Finding]:
    for node in (placed.node for placed in component.operators):
        if graph.in_loop(node.id, node.id):
            message = f"operator '{node.id}' is in a loop, which runs in tasks alone: {component.reason}"
            hint = "take `host` away" if node.host else "take it out of the loop, or do the same in a python operator"
            yield Finding("loop", message, hint, node.at)


def _no_stream(graph: StreamGraph, component: Component) -> Iterator[Finding]:
    if all(input.is_static for input in component.inputs):
        source = graph.nodes[component.inputs[0].id]
        message = f"source '{source.id}' is static, and the query '{component.id}' reads no stream beside it"
        yield Finding("inputs", message, "join it with a stream, or take `static` away", source.at)


def _not_by_key(graph: StreamGraph, component: Component) -> Iterator[Finding]:
    """Spark's `transformWithState` knows no other store."""
    for node in (graph.nodes[id] for id in component.keyed):
        message = f"operator '{node.id}' keeps state by key in a query, which takes RocksDB"
        hint = "set `state.query_backend: rocksdb`, or take `host: query` away so that it runs in tasks"
        yield Finding("host", message, hint, node.at)


def _not_in_real_time(graph: StreamGraph, component: Component, settings: Settings) -> Iterator[Finding]:
    for placed in component.operators:
        if isinstance(placed.native, Call):
            yield _refused(placed.node, "runs no Python", "take `host: query` away so that it runs in tasks")
        elif isinstance(placed.native, Query) and placed.native.udfs:
            yield _refused(placed.node, "runs no Python", "do without `udfs`")
        elif not isinstance(placed.native, ROW_BY_ROW):
            yield _refused(placed.node, "looks at one row at a time alone")
    for input in component.inputs:
        if input.source is not None and not isinstance(input.source, KafkaSource):
            yield _refused(graph.nodes[input.id], "reads topics alone")
        elif isinstance(input.source, KafkaSource) and (input.source.max_per_batch or settings.max_per_batch):
            yield _refused(graph.nodes[input.id], "has no batches to bound", "take `max_per_batch` away")
    for output in component.outputs:
        if not output.kind.is_topic:
            yield _refused(graph.nodes[output.id], "writes topics alone")
    if settings.guarantee != "at_least_once":
        first = component.outputs[0].id if component.outputs else component.id
        node = graph.nodes.get(first) or graph.nodes[component.id]
        yield _refused(node, "may repeat records after a failure", "set `guarantee: at_least_once`")


def _refused(node: Node, why: str, instead: str = "") -> Finding:
    message = f"{node.kind.value} '{node.id}' cannot run with `trigger: realtime`: real-time mode {why}"
    return Finding("realtime", message, f"{instead}, or {_OTHER_TRIGGER}" if instead else _OTHER_TRIGGER, node.at)
