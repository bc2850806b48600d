"""The table of functions of the subset. The reference in the docs is made from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from whorl.operators.expressions.casts import cast
from whorl.operators.expressions.errors import ExpressionError
from whorl.operators.expressions.types import UNKNOWN, VOID, is_nested, is_numeric
from whorl.operators.expressions.value import Emitter, Value, null

Builder = Callable[[Emitter, Sequence[Value]], Value]


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    signature: str
    summary: str
    build: Builder
    least: int
    most: int | None
    """How many arguments; None: any number."""


FUNCTIONS: dict[str, Function] = {}

REPLAY = frozenset(
    [
        "current_timestamp",
        "now",
        "current_date",
        "curdate",
        "current_time",
        "localtimestamp",
        "rand",
        "random",
        "randn",
        "uuid",
        "shuffle",
        "randstr",
        "uniform",
        "monotonically_increasing_id",
        "spark_partition_id",
        "input_file_name",
        "unix_timestamp",
    ]
)
"""Give another value when the same record is processed again (unix_timestamp: without an argument)."""


def register(
    signature: str, summary: str, least: int, most: int | None = -1, *, aliases: Sequence[str] = ()
) -> Callable[[Builder], Builder]:
    """`signature` as the docs show it: `name(arguments) -> type`. `most` left out: exactly `least` arguments."""

    def add(build: Builder) -> Builder:
        name = signature.partition("(")[0]
        for each in (name, *aliases):
            text = signature.replace(name, each, 1)
            FUNCTIONS[each] = Function(each, text, summary, build, least, least if most == -1 else most)
        return build

    return add


def plain(
    signature: str, summary: str, call: Callable[..., Any] | str, params: Sequence[str], result: str,
    *, least: int | None = None, nullable: bool = False, aliases: Sequence[str] = (),
) -> None:  # fmt: skip
    """A function that is null when an argument is null. `call`: a Python function, or a template over the arguments."""

    def build(emitter: Emitter, args: Sequence[Value]) -> Value:
        given = [implicit(emitter, arg, param, signature) for arg, param in zip(args, params, strict=False)]
        if isinstance(call, str):
            return emitter.apply(given, call.format, result, nullable=nullable)
        return emitter.call(call, given, result, nullable=nullable)

    register(signature, summary, len(params) if least is None else least, len(params), aliases=aliases)(build)


def implicit(emitter: Emitter, value: Value, param: str, what: str) -> Value:
    """Cast to a parameter's type, where Spark would do so by itself."""
    if value.type == VOID:
        return null(param)
    if value.type not in (param, UNKNOWN) and not _fits(value.type, param):
        raise ExpressionError(
            f"{what} does not take a {value.type} there", code="unsupported", hint=f"cast it to {param}"
        )
    return cast(emitter, value, param)


def _fits(kind: str, param: str) -> bool:
    if param == "string":
        return not is_nested(kind) and kind != "binary"
    if kind == "string":
        return not is_nested(param)
    return (param == "double" and is_numeric(kind)) or {kind, param} == {"date", "timestamp"}
