"""A plan in words: the graph drawn, then every component with its Spark form, then what it takes in all.

Everything is told from the plan alone. Numbers that only the broker knows, such as partitions, are told as the rule that fixes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whorl.config.spec import KafkaSource
from whorl.plan.draw import draw
from whorl.plan.picture import picture
from whorl.plan.plan import Component, Input, Output, OutputKind, Placed, Plan
from whorl.schema import Schema
from whorl.units import format_duration

SPARE_SLOTS = 2
_DECIDED_LATER = "min(partitions, cores)"
_WIDTH = 11


def explain(plan: Plan) -> str:
    drawing = draw(*picture(plan))
    parts = [_title(plan), drawing, *_feedback(plan)]
    parts += ["\n".join(_component(plan, component)) for component in plan.components]
    if plan.cuts:
        parts.append("\n".join(_cuts(plan)))
    return "\n\n".join([*parts, "\n".join(_totals(plan))]) + "\n"


def job_description(plan: Plan, component: Component) -> str:
    """What Spark's UI shows of the component's job; the layout's number is fixed at the start."""
    return f"{plan.pipeline}/{component.id} layout n"


def slots(plan: Plan) -> int | None:
    """All long tasks and the spare ones; None where the number of tasks is fixed at the start."""
    tasks = plan.settings.tasks
    return None if tasks is None else tasks * len(plan.components) + SPARE_SLOTS


def _title(plan: Plan) -> str:
    return f"pipeline '{plan.pipeline}': {_count(len(plan.components), 'component')}, {_count(len(plan.cuts), 'cut')}"


def _feedback(plan: Plan) -> list[str]:
    back = [f"feedback: {edge.source} → {edge.target}" for edge in plan.graph.edges if edge.feedback]
    return ["\n".join(back)] if back else []


def _component(plan: Plan, component: Component) -> Iterator[str]:
    settings = plan.settings
    tasks = _DECIDED_LATER if settings.tasks is None else str(settings.tasks)
    yield f"component '{component.id}' on host {component.host.value}"
    job = f"1 Spark job '{job_description(plan, component)}' of {tasks} long-running tasks, one slot each"
    yield from _block("spark", [job])
    yield from _block("reads", [_input(input) for input in component.inputs])
    yield from _block("runs", [_operator(component, placed) for placed in component.operators])
    yield from _block("writes", [_output(component, output) for output in component.outputs])
    if any(input.raw for input in component.inputs):
        yield from _block("note", ["values are copied as bytes: nothing here looks into them"])
    yield from _block("group", [component.group])
    guarantee = settings.guarantee.replace("_", " ")
    yield from _block("guarantee", [f"{guarantee}, a commit every {format_duration(settings.commit_interval)}"])


def _input(input: Input) -> str:
    if input.source is None:
        return f"topic '{input.topic}', {input.format.type}{_columns(input.schema)}"
    if isinstance(input.source, KafkaSource):
        return f"{input.id}: {_topics(input.source)}, {input.format.type}{_columns(input.schema)}{_policy(input)}"
    return f"{input.id}: {input.source.type} source{_columns(input.schema)}"


def _topics(source: KafkaSource) -> str:
    if source.pattern:
        return f"topics that match '{source.pattern}'"
    names = ", ".join(f"'{name}'" for name in source.names)
    return f"topic{'s' * (len(source.names) > 1)} {names}"


def _columns(schema: Schema | None) -> str:
    return f", columns {', '.join(f'{name} {kind}' for name, kind in schema)}" if schema else ""


def _policy(of: Input | Placed) -> str:
    policy = of.node.on_error if isinstance(of, Placed) else of.on_error
    return "" if policy.action == "dead_letter" else f", on_error: {policy.action}"


def _operator(component: Component, placed: Placed) -> str:
    return f"{placed.node.id} from {_sources(component, placed.node.id)}: {placed.node.type}{_policy(placed)}"


def _sources(component: Component, id: str) -> str:
    return ", ".join(f"{wire.source}.{wire.output}".rstrip(".") for wire in component.wires if wire.target == id)


def _output(component: Component, output: Output) -> str:
    sources, told = _sources(component, output.id), f"topic '{output.topic}', {output.format.type}"
    if output.kind is OutputKind.EDGE:
        return f"from {sources}: {told}{_columns(output.schema)}"
    key = f", key {', '.join(output.key)}" if output.key else ""
    shown = ", read back by the driver to show it" if output.kind is OutputKind.VIEW else ""
    return f"{output.id} from {sources}: {told}{key}{shown}"


def _cuts(plan: Plan) -> Iterator[str]:
    yield "topics between components"
    for cut in plan.cuts:
        yield f"  {cut.source} → {cut.target}: '{cut.topic}', because {cut.reason}"


def _totals(plan: Plan) -> Iterator[str]:
    components, tasks, total = _count(len(plan.components), "component"), plan.settings.tasks, slots(plan)
    if total is None:
        told = f"{components} of {_DECIDED_LATER} tasks each, + {SPARE_SLOTS} spare; 'tasks' sets the number"
    else:
        told = f"{total}: {components} of {_count(tasks or 0, 'task')} each, + {SPARE_SLOTS} spare; fewer where there are fewer partitions"
    yield from _block("slots", [told], indent="")
    yield from _block("dead", [f"bad records go to topic '{plan.dead_letter}'"], indent="")


def _block(name: str, lines: Iterable[str], indent: str = "  ") -> Iterator[str]:
    for index, line in enumerate(lines):
        yield indent + (name if index == 0 else "").ljust(_WIDTH) + line


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
