"""Comparison, AND, OR, NOT, IN, CASE and coalesce, in three-valued logic.

NaN equals NaN and is greater than every other number. A comparison of numbers of two types is one of their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import whorl.operators.expressions.types as types
from whorl.operators.expressions.casts import cast
from whorl.operators.expressions.errors import ExpressionError
from whorl.operators.expressions.types import UNKNOWN, VOID
from whorl.operators.expressions.value import Emitter, Value, null

_PLAIN = {"=": "{} == {}", "!=": "{} != {}", "<": "{} < {}", "<=": "{} <= {}", ">": "{} > {}", ">=": "{} >= {}"}
_WITH_NAN = {
    "=": "{0} == {1} or {0} != {0} and {1} != {1}",
    "!=": "{0} != {1} and ({0} == {0} or {1} == {1})",
    "<": "{0} < {1} or {1} != {1} and {0} == {0}",
    "<=": "{0} <= {1} or {1} != {1}",
    ">": "{0} > {1} or {0} != {0} and {1} == {1}",
    ">=": "{0} >= {1} or {0} != {0}",
}
# With a right side that is a number for sure.
_NAN_LEFT = {**_PLAIN, ">": "{0} > {1} or {0} != {0}", ">=": "{0} >= {1} or {0} != {0}"}
_NAN_RIGHT = {**_PLAIN, "<": "{0} < {1} or {1} != {1}", "<=": "{0} <= {1} or {1} != {1}"}


def compare(emitter: Emitter, op: str, left: Value, right: Value) -> Value:
    if UNKNOWN in (left.type, right.type):
        return Value("None", "boolean")
    left, right = aligned(emitter, [left, right], f"'{op}'")
    if op == "<=>":
        return _null_safe_equal(emitter, left, right)
    if left.type not in types.FLOATING:
        return emitter.apply([left, right], _PLAIN[op].format, "boolean")
    return emitter.apply([left, right], _floating_form(op, left, right).format, "boolean", repeat=True)


def _floating_form(op: str, left: Value, right: Value) -> str:
    if right.is_constant and right.constant == right.constant:
        return _NAN_LEFT[op]
    if left.is_constant and left.constant == left.constant:
        return _NAN_RIGHT[op]
    return _WITH_NAN[op]


def aligned(emitter: Emitter, values: Sequence[Value], what: str) -> list[Value]:
    """Values cast to the type in which they are compared."""
    kind = common(values, what)
    if types.is_nested(kind):
        raise ExpressionError(f"{what} does not compare {kind} here", code="unsupported")
    # Python compares whole numbers and decimals by value, exactly.
    exact = kind in types.INTEGRAL or types.is_decimal(kind)
    return [v.typed(kind) if exact and types.is_numeric(v.type) else cast(emitter, v, kind) for v in values]


def common(values: Sequence[Value], what: str, *, strings: bool = True) -> str:
    kind = types.common_of((value.type for value in values), strings=strings)
    if kind is None:
        kinds = ", ".join(dict.fromkeys(value.type for value in values))
        raise ExpressionError(
            f"{what} mixes types that do not fit: {kinds}", code="unsupported", hint="cast them to one type"
        )
    return kind


def _null_safe_equal(emitter: Emitter, left: Value, right: Value) -> Value:
    if left.type in types.FLOATING:
        return emitter.call_with_nulls(_same_floats, [left, right], "boolean", nullable=False)
    result = Value(f"({left.code} == {right.code})", "boolean", nullable=False)
    return emitter.folded(result) if left.is_constant and right.is_constant else result


def _same_floats(left: Any, right: Any) -> bool:
    return bool(left == right or (left != left and right != right))


def booleans(values: Sequence[Value], what: str) -> None:
    for value in values:
        if value.type not in ("boolean", VOID, UNKNOWN):
            raise ExpressionError(
                f"{what} needs a boolean, not a {value.type}", code="unsupported", hint="compare it with something"
            )


def conjunction(emitter: Emitter, values: Sequence[Value]) -> Value:
    booleans(values, "AND")
    return _joined(emitter, values, "and", "False", "True")


def disjunction(emitter: Emitter, values: Sequence[Value]) -> Value:
    booleans(values, "OR")
    return _joined(emitter, values, "or", "True", "False")


def _joined(emitter: Emitter, values: Sequence[Value], word: str, decisive: str, other: str) -> Value:
    """Stops at the first decisive value; null when there is none but a null."""
    if not any(value.nullable for value in values):
        result = Value(f"({f' {word} '.join(value.code for value in values)})", "boolean", nullable=False)
    else:
        bound = [emitter.bind(value) for value in values]
        decided = " or ".join(f"{code} is {decisive}" for code, _ in bound)
        unknown = " or ".join(f"{after.code} is None" for _, after in bound if after.nullable)
        result = Value(f"({decisive} if {decided} else None if {unknown} else {other})", "boolean")
    return emitter.folded(result) if all(value.is_constant for value in values) else result


def negation(emitter: Emitter, value: Value) -> Value:
    booleans([value], "NOT")
    return emitter.apply([value], "not {}".format, "boolean")


def is_null(emitter: Emitter, value: Value) -> Value:
    if not value.nullable and value.type != UNKNOWN:
        # Still computed: an error in it is an error.
        return (
            emitter.literal(False, "boolean")
            if value.simple
            else Value(f"({value.code} is None)", "boolean", nullable=False)
        )
    result = Value(f"({value.code} is None)", "boolean", nullable=False)
    return emitter.folded(result) if value.is_constant else result


def is_truth(emitter: Emitter, value: Value, truth: bool) -> Value:
    booleans([value], "IS")
    return Value(f"({value.code} is {truth})", "boolean", nullable=False)


def member(emitter: Emitter, value: Value, options: Sequence[Value]) -> Value:
    """IN."""
    if any(each.type == UNKNOWN for each in (value, *options)):
        return Value("None", "boolean")
    value, *options = aligned(emitter, [value, *options], "IN")
    constants = [option.constant for option in options]
    if all(option.is_constant for option in options) and value.type not in types.FLOATING and None not in constants:
        choices = emitter.pooled(frozenset(constants))
        return emitter.apply([value], f"{{}} in {choices}".format, "boolean")
    code, bound = emitter.bind(value)
    either = disjunction(emitter, [compare(emitter, "=", bound, option) for option in options])
    if bound is value:
        return either
    return Value(f"(None if {code} is None else {either.code})", "boolean", value.nullable or either.nullable)


def choose(emitter: Emitter, branches: Sequence[tuple[Value, Value]], default: Value) -> Value:
    """CASE and if: the first branch whose condition is true."""
    booleans([condition for condition, _ in branches], "a condition")
    results = [*(result for _, result in branches), default]
    kind = common(results, "the results of CASE or if")
    if kind == UNKNOWN:
        return Value("None", UNKNOWN)
    *results, default = (cast(emitter, result, kind) for result in results)
    cases = "".join(
        f"{result.code} if {condition.code} else " for (condition, _), result in zip(branches, results, strict=True)
    )
    return Value(f"({cases}{default.code})", kind, any(result.nullable for result in (*results, default)))


def coalesce(emitter: Emitter, values: Sequence[Value]) -> Value:
    kind = common(values, "coalesce")
    if kind == UNKNOWN:
        return Value("None", UNKNOWN)
    given = [cast(emitter, value, kind) for value in values]
    sure = next((at for at, value in enumerate(given) if not value.nullable), len(given) - 1)
    *firsts, last = given[: sure + 1]
    code = last.code
    for value in reversed(firsts):
        computed, after = emitter.bind(value)
        code = f"{after.code} if {computed} is not None else {code}"
    result = Value(f"({code})", kind, all(value.nullable for value in (*firsts, last)))
    return emitter.folded(result) if all(value.is_constant for value in values) else result


def null_if(emitter: Emitter, value: Value, other: Value) -> Value:
    if UNKNOWN in (value.type, other.type):
        return Value("None", value.type)
    if value.type == VOID:
        return null(VOID)
    code, bound = emitter.bind(value)
    equal = compare(emitter, "=", bound, other)
    check = f"{code} is None or " if value.nullable or not value.simple else ""
    return Value(f"(None if {check}{equal.code} else {bound.code})", value.type)
