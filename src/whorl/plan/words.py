"""What a query component does, in a sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from whorl.config.settings import Settings
from whorl.operators.native import Query
from whorl.operators.operator import OperatorType
from whorl.plan import naming
from whorl.plan.plan import Component, Delivery, Placed, Plan
from whorl.units import format_duration

_LONGEST_SQL = 72
_DELIVERIES = {
    Delivery.LEDGER: "exactly once: rows leave in Kafka transactions, each with the ledger's record of it",
    Delivery.NATIVE: "at least once, by Spark's own Kafka writer: a failure may repeat some",
    Delivery.REALTIME: "at least once, record by record: a failure may repeat some",
}
_BACKENDS = {
    "rocksdb": "RocksDB, {} partitions, its changelog in the checkpoint",
    "filesystem": "in memory, {} partitions, its changes in the checkpoint",
}


def query_lines(plan: Plan, component: Component) -> Iterator[tuple[str, str]]:
    """(name, sentence) of what only queries have."""
    yield "mode", mode(component)
    yield "trigger", trigger(plan.settings)
    if component.stateful:
        yield "state", _BACKENDS[plan.settings.state.query_backend].format(state_partitions(plan.settings))
    yield "checkpoint", f"'{checkpoint(plan, component)}'"
    yield "group", component.group
    yield "guarantee", guarantee(component)


def guarantee(component: Component) -> str:
    sinks = [output.sink for output in component.outputs if output.sink is not None]
    return sinks[0].guarantee if sinks else _DELIVERIES[component.delivery]


def mode(component: Component) -> str:
    aggregates = any(isinstance(native := placed.native, Query) and native.aggregates for placed in component.operators)
    if component.mode == "update":
        return f"update: {'a row leaves each time its group changes' if aggregates else 'each row leaves at once'}"
    once = "a window leaves once, when the watermark has passed its end" if aggregates else "each row leaves once"
    return f"append: {once}"


def trigger(settings: Settings) -> str:
    if settings.trigger == "realtime":
        return "real time: no batches, records leave as they come"
    if settings.trigger == "fast":
        return "a batch as soon as the last one has ended"
    return f"a batch every {format_duration(float(settings.trigger))}"


def state_partitions(settings: Settings) -> int:
    return settings.state_partitions or settings.partitions


def checkpoint(plan: Plan, component: Component) -> str:
    """UID is fixed at the first start."""
    base = plan.settings.checkpoints.rstrip("/")
    return f"{base}/{naming.slug(plan.pipeline)}-UID/{naming.slug(component.id)}"


def sql_of(placed: Placed) -> str:
    """In one line, and no longer than can be read at a glance."""
    native, operator = placed.native, placed.node.what
    written = getattr(operator.options, "query", "") if isinstance(operator, OperatorType) else ""
    sql = "; ".join(native.statements) if isinstance(native, Query) else str(written)
    line = " ".join(sql.split())
    return line if len(line) <= _LONGEST_SQL else line[: _LONGEST_SQL - 1] + "…"
