"""A plan for programs: JSON whose keys stay, and a Mermaid flowchart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from whorl.config.spec import FileSink, FileSource, KafkaSource, SinkOptions, SourceOptions
from whorl.flow.graph import Kind
from whorl.plan.explain import SPARE_SLOTS, job_description, slots
from whorl.plan.picture import outside, topic_of
from whorl.plan.plan import Component, Input, Output, Plan
from whorl.plan.words import checkpoint, state_partitions
from whorl.schema import Schema

_SHAPES = {Kind.SOURCE: ('(["', '"])'), Kind.OPERATOR: ('["', '"]'), Kind.SINK: ('(["', '"])')}


def as_json(plan: Plan) -> str:
    content = {
        "pipeline": plan.pipeline,
        "nodes": [{"id": node.id, "kind": node.kind.value, "type": node.type} for node in plan.graph.nodes.values()],
        "edges": [
            {
                "from": edge.source,
                "to": edge.target,
                "output": edge.output,
                "topic": topic_of(plan, edge),
                "feedback": edge.feedback,
            }
            for edge in plan.graph.edges
        ],
        "components": [_component(plan, component) for component in plan.components],
        "cuts": [{"from": cut.source, "to": cut.target, "topic": cut.topic, "reason": cut.reason} for cut in plan.cuts],
        "slots": {"spare": SPARE_SLOTS, "total": slots(plan)},
        "dead_letter": plan.dead_letter,
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _component(plan: Plan, component: Component) -> dict[str, Any]:
    return {
        "id": component.id,
        "host": component.host.value,
        "reason": component.reason,
        "spark": _spark(plan, component),
        "inputs": [_input(input) for input in component.inputs],
        "operators": [
            {"id": placed.node.id, "type": placed.node.type, "on_error": placed.node.on_error.action}
            for placed in component.operators
        ],
        "outputs": [_output(output) for output in component.outputs],
        "group": component.group,
        "guarantee": plan.settings.guarantee,
        **({"publishes": component.published} if component.published else {}),
        **(_query(plan, component) if component.is_query else {"commit_interval": plan.settings.commit_interval}),
    }


def _spark(plan: Plan, component: Component) -> dict[str, Any]:
    description = job_description(plan, component)
    if component.is_query:
        return {"queries": 1, "description": description}
    return {"jobs": 1, "description": description, "tasks": plan.settings.tasks}


def _query(plan: Plan, component: Component) -> dict[str, Any]:
    return {
        "mode": component.mode,
        "delivery": component.delivery.value,
        "trigger": plan.settings.trigger,
        "row_by_row": component.row_by_row,
        "state_partitions": state_partitions(plan.settings) if component.stateful else None,
        "checkpoint": checkpoint(plan, component),
    }


def _input(input: Input) -> dict[str, Any]:
    kafka = input.source if isinstance(input.source, KafkaSource) else None
    return {
        "id": input.id,
        "type": input.source.type if input.source else "edge",
        "topics": [input.topic] if input.topic else list(kafka.names) if kafka else [],
        "pattern": kafka.pattern if kafka else None,
        "format": input.format.type,
        "columns": _columns(input.schema),
        "on_error": input.on_error.action,
        "copied_as_bytes": input.raw,
        **_folder(input.source),
        **({"watermark": input.watermark.model_dump()} if input.watermark else {}),
    }


def _output(output: Output) -> dict[str, Any]:
    return {
        "id": output.id,
        "type": output.kind.value,
        "topic": output.topic,
        "format": output.format.type,
        "columns": _columns(output.schema),
        "key": list(output.key),
        **_folder(output.sink),
    }


def _folder(end: object) -> dict[str, str]:
    """Of a source or sink that only queries have."""
    if isinstance(end, FileSource | FileSink):
        return {"path": end.path, "format": end.format}
    return {"store": end.told} if isinstance(end, SourceOptions | SinkOptions) and end.in_query else {}


def _columns(schema: Schema | None) -> dict[str, str] | None:
    return None if schema is None else dict(schema)


def as_mermaid(plan: Plan) -> str:
    return "\n".join(["flowchart LR", *_flowchart(plan)]) + "\n"


def _flowchart(plan: Plan) -> Iterator[str]:
    names = {id: f"n{index}" for index, id in enumerate(plan.graph.nodes)}
    home = {id: component.id for component in plan.components for id in _members(component)}
    for index, component in enumerate(plan.components):
        host = f"<br/>{component.host.value}" if plan.queries else ""
        yield f'  subgraph c{index}["{_text(component.id)}{host}"]'
        yield from (f"    {_shape(plan, names, id)}" for id in plan.graph.nodes if home.get(id) == component.id)
        yield "  end"
    for index, edge in enumerate(plan.graph.edges):
        source, target, topic = names[edge.source], names[edge.target], topic_of(plan, edge)
        label = f'|"{_text(edge.output)}"|' if edge.output else ""
        arrow = "-.->" if edge.feedback else "-->"
        if topic:
            yield f'  {source} {arrow}{label} t{index}[("{_text(topic)}")] {arrow} {target}'
        else:
            yield f"  {source} {arrow}{label} {target}"


def _members(component: Component) -> list[str]:
    ends = [wire.source for wire in component.wires] + [wire.target for wire in component.wires]
    return [*ends, *(placed.node.id for placed in component.operators)]


def _shape(plan: Plan, names: dict[str, str], id: str) -> str:
    node = plan.graph.nodes[id]
    left, right = _SHAPES[node.kind]
    detail = _text(f"{node.type} {outside(node)}".strip())
    return f"{names[id]}{left}{_text(id)}<br/>{detail}{right}"


def _text(text: str) -> str:
    """Mermaid writes what it would take for its own as an entity."""
    return text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
