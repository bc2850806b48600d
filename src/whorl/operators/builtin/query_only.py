"""What operators have in common that Spark alone runs, in a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from whorl.errors import PipelineError
from whorl.operators.operator import Fault, OperatorType, Step
from whorl.operators.sql import INPUT
from whorl.operators.sql.replay import replays
from whorl.operators.watermark import Watermark
from whorl.schema import UNKNOWN, Schema

Path = tuple[str | int, ...]


class QueryOperator(OperatorType):
    in_tasks = False
    inputs: ClassVar[int] = 1
    """How many it reads."""

    def step(self, schema: Schema | None) -> Step:
        raise PipelineError(
            f"an operator of type '{self.type}' has no step: it runs in a query alone",
            code="host",
            hint="take `host: tasks` away",
        )

    def faults(self) -> Iterator[Fault]:
        if self.upstreams and len(self.upstreams) != self.inputs:
            some = "one input" if self.inputs == 1 else f"{self.inputs} inputs"
            hint = "put a union before it" if self.inputs == 1 else "write `from: [left, right]`"
            yield Fault(("from",), "inputs", f"it reads {len(self.upstreams)} inputs, not {some}", hint)

    @property
    def table(self) -> str:
        """What it reads, as SQL names it."""
        return self.upstreams[0].table if self.upstreams else INPUT

    @property
    def entering(self) -> Schema | None:
        return self.upstreams[0].schema if self.upstreams else None


def late(watermark: Watermark | None) -> tuple[str, float] | None:
    """As `Query` has it."""
    return (watermark.column, watermark.delay) if watermark else None


def replay_faults(path: Path, sql: str) -> Iterator[Fault]:
    for each in replays(sql):
        yield Fault(path, "replay", each.message, each.hint, each.offset)


def not_a_time(path: Path, column: str, schema: Schema | None) -> Iterator[Fault]:
    """What is wrong with a column that must be a timestamp."""
    if schema is None:
        return
    if column not in schema:
        hint = f"columns: {', '.join(schema.names)}"
        yield Fault(path, "column", f"the column '{column}' does not exist", hint)
    elif schema.type_of(column) not in ("timestamp", UNKNOWN):
        message = f"the column '{column}' is a {schema.type_of(column)}, not a timestamp"
        yield Fault(path, "type", message, "name a timestamp, or cast it first")
