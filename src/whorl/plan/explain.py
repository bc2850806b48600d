"""A plan in words: the graph drawn, then every component with its Spark form, then what it takes in all.

Everything is told from the plan alone. Numbers that only the broker knows, such as partitions, are told as the rule that fixes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whorl.config.spec import KafkaSource
from whorl.plan.draw import draw
from whorl.plan.picture import picture
from whorl.plan.plan import Component, Delivery, Input, Output, OutputKind, Placed, Plan
from whorl.plan.words import query_lines, sql_of
from whorl.schema import Schema
from whorl.units import format_duration

SPARE_SLOTS = 2
_DECIDED_LATER = "min(partitions, cores)"
_WIDTH = 11


def explain(plan: Plan) -> str:
    drawing = draw(*picture(plan))
    parts = [_title(plan), drawing]
    parts += ["\n".join(_component(plan, component)) for component in plan.components]
    if plan.cuts:
        parts.append("\n".join(_cuts(plan)))
    return "\n\n".join([*parts, "\n".join(_totals(plan))]) + "\n"


def job_description(plan: Plan, component: Component) -> str:
    """What Spark's UI shows of the component's job or query; the layout's number is fixed at the start."""
    name = f"{plan.pipeline}/{component.id}"
    return name if component.is_query else f"{name} layout n"


def slots(plan: Plan) -> int | None:
    """All long tasks and the spare ones; None where tasks or cores are counted at the start."""
    tasks = plan.settings.tasks
    if tasks is None or plan.queries:
        return None
    standbys = sum(component.standbys(plan.settings, tasks) for component in plan.components)
    return tasks * len(plan.components) + standbys + SPARE_SLOTS


def _title(plan: Plan) -> str:
    return f"pipeline '{plan.pipeline}': {_count(len(plan.components), 'component')}, {_count(len(plan.cuts), 'cut')}"


def _component(plan: Plan, component: Component) -> Iterator[str]:
    yield f"component '{component.id}' on host {component.host.value}"
    if plan.queries:
        yield from _block("because", [component.reason])
    yield from _block("spark", [_spark(plan, component)])
    yield from _block("reads", [_input(input) for input in component.inputs])
    yield from _block("runs", [_operator(component, placed) for placed in component.operators])
    yield from _block("writes", [_output(component, output) for output in component.outputs])
    for name, line in query_lines(plan, component) if component.is_query else _task_lines(plan, component):
        yield from _block(name, [line])


def _spark(plan: Plan, component: Component) -> str:
    name = f"'{job_description(plan, component)}'"
    if component.is_query:
        return f"1 Structured Streaming query {name}"
    tasks = _DECIDED_LATER if plan.settings.tasks is None else str(plan.settings.tasks)
    standby = f" and {plan.settings.state.standby} standby for each" if component.standbys(plan.settings, 1) else ""
    return f"1 Spark job {name} of {tasks} long-running tasks{standby}, one slot each"


def _task_lines(plan: Plan, component: Component) -> Iterator[tuple[str, str]]:
    if any(input.raw for input in component.inputs):
        yield "note", "values are copied as bytes: nothing here looks into them"
    for input in component.feedback:
        yield "loop", _loop(plan, input)
    if component.keeps_state:
        yield "state", _state(plan, component)
    for id, topic in component.published.items():
        yield "publishes", f"what {id} keeps, in topic '{topic}'"
    yield "group", component.group
    guarantee = plan.settings.guarantee.replace("_", " ")
    yield "guarantee", f"{guarantee}, a commit every {format_duration(plan.settings.commit_interval)}"


def _loop(plan: Plan, input: Input) -> str:
    (cut,) = (cut for cut in plan.cuts if cut.topic == input.topic)
    loop = plan.graph.nodes[cut.target].loop
    most = f"at most {loop.max_rounds} rounds" if loop.max_rounds else "rounds without a bound"
    merged = ", ".join(f"{how} of {column}" for column, how in loop.combine)
    parts = [most, *([f"records of one key are merged: {merged}"] if merged else [])]
    parts += ["round by round (supersteps)"] if loop.supersteps else []
    return f"'{input.topic}' leads back to {cut.target}: read before all else, one partition for each logical one; {'; '.join(parts)}"


def _state(plan: Plan, component: Component) -> str:
    by = [f"{id} by {', '.join(key) or 'the key of records'}" for id, key in component.kept.items()]
    rule = (
        "highest common factor of the topics' partition counts"
        if plan.cogroups(component)
        else "largest partition count of its topics"
    )
    most = f", at most {plan.settings.max_tasks}" if plan.settings.max_tasks else ""
    where = "memory" if plan.settings.state.backend == "memory" else "LMDB"
    return f"{'; '.join(by)}; in {where} and a changelog; logical partitions: the {rule}{most}"


def _input(input: Input) -> str:
    known = f"{_columns(input.schema)}{_late(input)}"
    if input.source is None:
        return f"topic '{input.topic}', {input.format.type}{known}"
    if isinstance(input.source, KafkaSource):
        kind = "table of " if input.is_table else ""
        return f"{input.id}: {kind}{_topics(input.source)}, {input.format.type}{known}{_policy(input)}"
    policy = _policy(input) if input.source.in_query else ""
    return f"{input.id}: {input.source.told}{known}{_read(input)}{policy}"


def _read(input: Input) -> str:
    every = getattr(input.source, "refresh", None)
    anew = f" and every {format_duration(every)}" if every else ""
    return f", read once at the start{anew}" if input.is_static else ""


def _late(input: Input) -> str:
    mark = input.watermark
    return f", watermark {format_duration(mark.delay)} behind {mark.column}" if mark else ""


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
    sql = sql_of(placed) if component.is_query else ""
    told = f"{placed.node.type}{f', {sql}' if sql else ''}{_policy(placed)}"
    return f"{placed.node.id} from {_sources(component, placed.node.id)}: {told}"


def _sources(component: Component, id: str) -> str:
    return ", ".join(f"{wire.source}.{wire.output}".rstrip(".") for wire in component.wires if wire.target == id)


def _output(component: Component, output: Output) -> str:
    sources, told = _sources(component, output.id), f"topic '{output.topic}', {output.format.type}"
    if output.sink is not None:
        return f"{output.id} from {sources}: {output.sink.told}"
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
    yield from _block("slots", [_slots(plan)], indent="")
    yield from _block("dead", [f"bad records go to topic '{plan.dead_letter}'"], indent="")


def _slots(plan: Plan) -> str:
    total, told = slots(plan), f"{', '.join(_needed(plan))}, + {SPARE_SLOTS} spare"
    if total is not None:
        return f"{total}: {told}; fewer where there are fewer partitions"
    counted = plan.settings.tasks is not None or len(plan.queries) == len(plan.components)
    return told if counted else f"{told}; 'tasks' sets the number"


def _needed(plan: Plan) -> Iterator[str]:
    tasks, jobs = plan.settings.tasks, len(plan.components) - len(plan.queries)
    if jobs:
        each = f"{_DECIDED_LATER} tasks" if tasks is None else _count(tasks, "task")
        yield f"{_count(jobs, 'component')} of {each} each"
    if followed := sum(bool(component.standbys(plan.settings, 1)) for component in plan.components):
        yield f"{plan.settings.state.standby} standby for each task of {_count(followed, 'component')}"
    batches = sum(component.delivery is not Delivery.REALTIME for component in plan.queries)
    if batches:
        yield f"all cores for {_count(batches, 'query')}"
    for component in plan.queries:
        if component.delivery is Delivery.REALTIME:
            yield f"one for each partition that '{component.id}' reads"


def _block(name: str, lines: Iterable[str], indent: str = "  ") -> Iterator[str]:
    for index, line in enumerate(lines):
        yield indent + (name if index == 0 else "").ljust(_WIDTH) + line


def _count(number: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
