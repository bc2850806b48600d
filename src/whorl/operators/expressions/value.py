"""A piece of generated Python: its source, its type, and whether it may be null.

Every piece is one Python expression. Null checks are written into it, so that no call is paid for them; what must be looked at
twice is bound to a local by `:=`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from whorl.operators.expressions.types import VOID

Build = Callable[..., str]


class _Variable:
    """Stands for "not a constant"."""


VARIABLE = _Variable()


@dataclass(frozen=True, slots=True)
class Value:
    code: str
    type: str
    nullable: bool = True
    constant: Any = VARIABLE
    simple: bool = False
    """A name or a constant: may be repeated at no cost."""
    literal: bool = False
    """Written as such, not computed: Spark's rules for decimals tell the two apart."""

    @property
    def is_constant(self) -> bool:
        return self.constant is not VARIABLE

    def typed(self, type: str) -> Value:
        return replace(self, type=type)


NULL = Value("None", VOID, nullable=True, constant=None, simple=True)


def null(type: str) -> Value:
    return NULL.typed(type)


@dataclass
class Emitter:
    """Builds pieces; owns the names and constants that the generated function refers to."""

    pool: dict[str, Any] = field(default_factory=dict)
    _names: int = 0
    _pooled: dict[int, str] = field(default_factory=dict)

    def name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def pooled(self, thing: Any) -> str:
        """The name by which the generated code reaches this object."""
        if id(thing) not in self._pooled:
            name = self.name("k")
            self._pooled[id(thing)] = name
            self.pool[name] = thing
        return self._pooled[id(thing)]

    def literal(self, value: Any, type: str) -> Value:
        if value is None:
            return null(type)
        plain = isinstance(value, bool | int | str | bytes) or (isinstance(value, float) and abs(value) < float("inf"))
        code = f"({value!r})" if plain else self.pooled(value)
        return Value(code, type, nullable=False, constant=value, simple=True, literal=True)

    def apply(
        self, args: Sequence[Value], build: Build, type: str, *, nullable: bool = False, repeat: bool = False
    ) -> Value:
        """`build(*codes)` over args that are not null; null when any is. `nullable`: may be null even so. `repeat`: build
        uses an arg more than once."""
        if any(arg.is_constant and arg.constant is None for arg in args):
            return null(type)
        codes, checks = self._bound(args, repeat)
        code = f"({build(*codes)})"
        if checks:
            code = f"(None if {' or '.join(checks)} else {code})"
        result = Value(code, type, nullable or any(arg.nullable for arg in args))
        return self.folded(result) if all(arg.is_constant for arg in args) else result

    def call(self, function: Callable[..., Any], args: Sequence[Value], type: str, *, nullable: bool = False) -> Value:
        """A call of a Python function, under the same null rule."""
        name = self.pooled(function)
        return self.apply(args, lambda *codes: f"{name}({', '.join(codes)})", type, nullable=nullable)

    def call_with_nulls(
        self, function: Callable[..., Any], args: Sequence[Value], type: str, *, nullable: bool
    ) -> Value:
        """A call that sees nulls itself."""
        code = f"{self.pooled(function)}({', '.join(arg.code for arg in args)})"
        result = Value(code, type, nullable)
        return self.folded(result) if all(arg.is_constant for arg in args) else result

    def bind(self, value: Value) -> tuple[str, Value]:
        """(the code that computes it once, what to use after that)."""
        if value.simple:
            return value.code, value
        name = self.name("t")
        return f"({name} := {value.code})", replace(value, code=name, simple=True)

    def folded(self, value: Value) -> Value:
        """Constants are computed now, once. What raises stays, and raises on each row as Spark does."""
        try:
            constant = eval(value.code, dict(self.pool))
        except Exception:
            return value
        return replace(self.literal(constant, value.type), literal=False)

    def _bound(self, args: Sequence[Value], repeat: bool) -> tuple[list[str], list[str]]:
        # Spark computes arguments from left to right and stops at the first null, so all before the last nullable one
        # are computed in the checks.
        last = max((index for index, arg in enumerate(args) if arg.nullable), default=-1)
        codes, checks = [], []
        for index, arg in enumerate(args):
            early = not arg.simple and (index <= last or repeat)
            code, after = self.bind(arg) if early else (arg.code, arg)
            if arg.nullable or early:
                checks.append(f"{code} is None")
            codes.append(after.code)
        return codes, checks
