"""From graph to plan: components, each with what it reads, runs and writes.

A component is named after its first operator (without one: the source that it deals out, or its first sink), so its identity does not
depend on how the rest is cut.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from whorl.config.settings import Settings
from whorl.config.spec import KafkaSource
from whorl.errors import CheckFailed, Finding
from whorl.flow.check import in_order
from whorl.flow.graph import Edge, Kind, Node, StreamGraph, is_table, keyed_by
from whorl.formats import FormatOptions
from whorl.operators.native import ROW_BY_ROW
from whorl.operators.operator import OperatorType
from whorl.plan import naming
from whorl.plan.ends import edge_format, edge_input, edge_output, sink_output, source_input
from whorl.plan.fusing import Fusing, Share
from whorl.plan.hosts import hosts_of, is_of_queries, why_there
from whorl.plan.plan import Component, Cut, Host, Input, Output, Placed, Plan, Wire
from whorl.plan.queries import delivery_of, mode_of, modes_of
from whorl.plan.refusals import refusals
from whorl.schema import BYTES, TEXT, Schema


def make_plan(graph: StreamGraph, settings: Settings) -> Plan:
    """Raises CheckFailed with all that the hosts cannot run."""
    plan, findings = examine(graph, settings)
    if findings:
        raise CheckFailed(findings)
    return plan


def examine(graph: StreamGraph, settings: Settings) -> tuple[Plan, list[Finding]]:
    """The plan, and why it cannot run. For a graph in which `check` finds nothing."""
    hosted = hosts_of(graph)
    plan = Draft(Fusing(graph, hosted, modes_of(graph, hosted), settings)).plan()
    return plan, in_order(refusals(plan))


@dataclass(frozen=True)
class Draft:
    fusing: Fusing

    def plan(self) -> Plan:
        graph, settings = self.fusing.graph, self.fusing.settings
        components: dict[str, Component] = {}
        for share in self.fusing.shares():
            component = self._component(share, components)
            components[component.id] = component
        cuts = [Cut(e.source, e.target, self._topic(e), why, e.output) for e, why in self.fusing.reasons.items()]
        dead = settings.dead_letter_topic or naming.dead_letter_topic(graph.name)
        return Plan(graph.name, graph, tuple(components.values()), tuple(cuts), dead, settings)

    def _component(self, share: Share, taken: Collection[str]) -> Component:
        id, settings = _id(share, taken), self.fusing.settings
        placed = tuple(Placed(node, self._enters(node, share.host)) for node in share.nodes if _is_operator(node))
        inputs, outputs = self._inputs(share), self._outputs(share, placed)
        looping = any(output.rounds != "none" for output in outputs)
        if share.host is Host.TASKS and not looping and _nothing_looks_inside(placed, inputs, outputs):
            inputs = [replace(input, raw=True) for input in inputs]
        streams = (e for e in share.edges if not is_table(self.fusing.graph.nodes[e.source]))
        wires = [Wire(e.source, e.target, e.output) for e in streams]
        wires += [Wire(self._topic(e), e.target, name=e.table) for e in share.arriving]
        wires += [Wire(e.source, self._topic(e), e.output) for e in share.leaving]
        group = naming.group(settings.group_id or self.fusing.graph.name, id)
        component = Component(
            id, share.host, tuple(inputs), placed, tuple(wires), tuple(outputs), group, self._why(share)
        )
        return self._as_query(component) if component.is_query else component

    def _as_query(self, component: Component) -> Component:
        """Where each row is made of one row, nothing waits for a watermark."""
        delivery = delivery_of(component.outputs, self.fusing.settings)
        modes = [self.fusing.modes.get(placed.node.id, "append") for placed in component.operators]
        inputs = component.inputs
        if component.row_by_row:
            inputs = tuple(replace(input, watermark=None) for input in inputs)
        return replace(component, inputs=inputs, mode=mode_of(delivery, modes), delivery=delivery)

    def _inputs(self, share: Share) -> list[Input]:
        sources = [node for node in share.nodes if node.kind is Kind.SOURCE]
        timed = share.host is Host.QUERY or any(map(_keeps_state, share.nodes))
        inputs = [source_input(node, timed) for node in sources]
        graph = self.fusing.graph
        return inputs + [edge_input(graph, e, self._topic(e), self._format(e), timed) for e in share.arriving]

    def _outputs(self, share: Share, placed: Sequence[Placed]) -> list[Output]:
        graph = self.fusing.graph
        outputs = [sink_output(graph.name, node, share.host) for node in share.nodes if node.kind is Kind.SINK]
        keyed = _keyed(share, placed)
        return outputs + [edge_output(graph, e, self._topic(e), self._format(e), keyed) for e in share.leaving]

    def _format(self, edge: Edge) -> FormatOptions:
        in_query = any(host is Host.QUERY for _, host in self.fusing.ends[edge])
        return edge_format(self.fusing.graph.nodes[edge.source], edge, in_query)

    def _topic(self, edge: Edge) -> str:
        prefix = self.fusing.settings.topic_prefix
        word = prefix if isinstance(prefix, str) else self.fusing.graph.name if prefix else ""
        return naming.edge_topic(word, edge.source, edge.output, edge.target)

    def _enters(self, node: Node, host: Host) -> Schema | None:
        """Tasks pass rows of several inputs as they are; a query gives all of them the same columns."""
        graph = self.fusing.graph
        schemas = set(graph.schemas_into(node.id))
        return graph.entering(node.id) if host is Host.QUERY or len(schemas) == 1 else None

    def _why(self, share: Share) -> str:
        """What asked for the host, if anything did."""
        hosted = [self.fusing.hosted[node.id] for node in share.nodes if _is_operator(node)]
        if hosted:
            return next((each.why for each in hosted if each.fixed), hosted[0].why)
        needing = [node for node in share.nodes if is_of_queries(node) or share.leaving]
        return why_there(needing[0], share.host) if needing else "nothing in it needs a query"


def _id(share: Share, taken: Collection[str]) -> str:
    operators = [node.id for node in share.nodes if _is_operator(node)]
    sources = [node.id for node in share.nodes if node.kind is Kind.SOURCE]
    sinks = [node.id for node in share.nodes if node.kind is Kind.SINK and node.id not in taken]
    return [*operators, *sources, *sinks][0] if share.leaving else [*operators, *sinks, *sources][0]


def _is_operator(node: Node) -> bool:
    return node.kind is Kind.OPERATOR


def _keeps_state(node: Node) -> bool:
    return keyed_by(node) is not None


def _keyed(share: Share, placed: Sequence[Placed]) -> bool:
    """Whether a record may leave with another key than it came with, so that its partition must follow the key."""
    changed = any(isinstance(each.node.what, OperatorType) and each.node.what.changes_key for each in placed)
    made = share.host is Host.QUERY and not all(isinstance(each.native, ROW_BY_ROW) for each in placed)
    return changed or made


def _nothing_looks_inside(placed: Sequence[Placed], inputs: Sequence[Input], outputs: Sequence[Output]) -> bool:
    if any(isinstance(each.node.what, OperatorType) and each.node.what.looks_inside for each in placed):
        return False
    formats = [*(input.format for input in inputs), *(output.format for output in outputs)]
    declared = any(input.schema not in (None, TEXT, BYTES) for input in inputs)
    generated = any(input.source is not None and not isinstance(input.source, KafkaSource) for input in inputs)
    same = all(format == formats[0] for format in formats)
    return same and not declared and not generated and not any(output.key for output in outputs)
