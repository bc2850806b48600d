"""+ - * / % div and unary minus: overflow and division by zero raise, whole division and remainder go toward zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import whorl.formats.conversions as to
import whorl.operators.expressions.types as types
from whorl.operators.expressions.casts import cast
from whorl.operators.expressions.errors import ExpressionError
from whorl.operators.expressions.types import UNKNOWN, VOID
from whorl.operators.expressions.value import Emitter, Value, null


def arithmetic(emitter: Emitter, op: str, left: Value, right: Value) -> Value:
    if UNKNOWN in (left.type, right.type):
        return Value("None", _result_unknown(op, left.type, right.type))
    if "date" in (left.type, right.type):
        return _on_dates(emitter, op, left, right)
    kind = _operand_type(op, left.type, right.type)
    if kind is None:
        raise _mismatch(op, left, right)
    if kind == VOID:
        return null("long" if op == "div" else "double")
    if types.is_decimal(kind):
        return _decimal(emitter, op, left, right)
    left, right = cast(emitter, left, kind), cast(emitter, right, kind)
    return _floating(emitter, op, left, right) if kind in types.FLOATING else _integral(emitter, op, left, right)


def negate(emitter: Emitter, value: Value) -> Value:
    if value.type == UNKNOWN:
        return Value("None", UNKNOWN)
    if value.type == "string":
        value = cast(emitter, value, "double")
    if value.type == VOID:
        return null("double")
    if not types.is_numeric(value.type):
        raise ExpressionError(f"a {value.type} has no minus", code="unsupported")
    if types.is_decimal(value.type):
        return emitter.call(to.EXACT.minus, [value], value.type)
    if value.type in types.FLOATING:
        return emitter.apply([value], "-{}".format, value.type)
    return _checked(emitter, [value], "-{}".format, value.type)


def _operand_type(op: str, left: str, right: str) -> str | None:
    """What both operands become."""
    if left == right == "string":
        return None
    kind = types.common_type(left, right)
    if kind is None or not (kind == VOID or types.is_numeric(kind)):
        return None
    if op == "/" and not types.is_decimal(kind):
        return "double"
    if op == "div":
        return None if kind in types.FLOATING else "long" if kind in types.INTEGRAL else kind
    return kind


def _result_unknown(op: str, left: str, right: str) -> str:
    if op == "div":
        return "long"
    return "double" if "double" in (left, right) and op != "div" else UNKNOWN


def _mismatch(op: str, left: Value, right: Value) -> ExpressionError:
    return ExpressionError(
        f"'{op}' does not take a {left.type} and a {right.type}", code="unsupported", hint="cast one of them"
    )


def _checked(emitter: Emitter, args: list[Value], build: Callable[..., str], kind: str) -> Value:
    """With the limits of the type looked at inline."""
    result, limit, fail = emitter.name("t"), types.LIMITS[kind], emitter.pooled(to.overflow)

    def bounded(*codes: str) -> str:
        return f"{result} if {-limit - 1} <= ({result} := {build(*codes)}) <= {limit} else {fail}({kind!r})"

    return emitter.apply(args, bounded, kind)


def _divided(emitter: Emitter, left: Value, right: Value, function: Callable[..., Any], kind: str) -> Value:
    """Spark computes the divisor first, so that a null there hides an error in the dividend, and not the other way round."""
    name = emitter.pooled(function)
    return emitter.apply([right, left], f"{name}({{1}}, {{0}})".format, kind)


def _integral(emitter: Emitter, op: str, left: Value, right: Value) -> Value:
    if op == "div":
        return _divided(emitter, left, right, whole_quotient, "long")
    if op != "%":
        return _checked(emitter, [left, right], f"{{}} {op} {{}}".format, left.type)
    if right.is_constant and right.constant is not None and right.constant > 0:
        return emitter.apply([left], _remainder_by(right.code).format, left.type, repeat=True)
    return _divided(emitter, left, right, whole_remainder, left.type)


def _remainder_by(divisor: str) -> str:
    """By a positive constant, without a call."""
    return f"{{0}} % {divisor} if {{0}} >= 0 else -(-{{0}} % {divisor})"


def _floating(emitter: Emitter, op: str, left: Value, right: Value) -> Value:
    if op == "%":
        result = _divided(emitter, left, right, remainder, left.type)
    elif op == "/":
        result = emitter.apply([right, left], "{1} / {0}".format, left.type)
    else:
        result = emitter.apply([left, right], f"{{}} {op} {{}}".format, left.type)
    return emitter.call(to.single, [result], "float") if left.type == "float" else result


def _decimal(emitter: Emitter, op: str, left: Value, right: Value) -> Value:
    left, right = _as_decimal(emitter, left, right), _as_decimal(emitter, right, left)
    kind = _decimal_result(op, left.type, right.type)
    if op == "div":
        return _divided(emitter, left, right, decimal_whole_quotient, "long")
    fit, function = to.fitted(*types.precision_scale(kind)), _DECIMAL_FUNCTIONS[op]
    if op in "/%":
        return emitter.call(fit, [_divided(emitter, left, right, function, kind)], kind)
    return emitter.call(fit, [emitter.call(function, [left, right], kind)], kind)


def _as_decimal(emitter: Emitter, value: Value, other: Value) -> Value:
    if types.is_decimal(value.type):
        return value
    if value.type == VOID:
        return null(other.type)
    # A whole literal counts as the narrowest decimal that holds it; a column as the widest of its type.
    digits = len(str(abs(value.constant))) if value.literal else types.precision_scale(value.type)[0]
    return cast(emitter, value, types.decimal_type(digits, 0))


def _decimal_result(op: str, left: str, right: str) -> str:
    (p1, s1), (p2, s2) = types.precision_scale(left), types.precision_scale(right)
    if op in "+-":
        scale = max(s1, s2)
        return types.bounded(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if op == "*":
        return types.bounded(p1 + p2 + 1, s1 + s2)
    if op == "/":
        scale = max(types.LEAST_SCALE, s1 + p2 + 1)
        return types.bounded(p1 - s1 + s2 + scale, scale)
    scale = max(s1, s2)
    return types.bounded(min(p1 - s1, p2 - s2) + scale, scale)


def _on_dates(emitter: Emitter, op: str, left: Value, right: Value) -> Value:
    if op == "+" and right.type == "date":
        left, right = right, left
    if op not in "+-" or right.type not in ("int", VOID):
        raise _mismatch(op, left, right)
    return emitter.call(days_after if op == "+" else days_before, [left, right], "date")


def days_after(day: date, days: int) -> date:
    return day + timedelta(days)


def days_before(day: date, days: int) -> date:
    return day - timedelta(days)


def whole_quotient(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    quotient = quotient if (left < 0) == (right < 0) else -quotient
    return quotient if quotient <= types.LIMITS["long"] else int(to.overflow("long"))


def whole_remainder(left: int, right: int) -> int:
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def remainder(left: float, right: float) -> float:
    if right == 0:
        raise ZeroDivisionError("float modulo by zero")
    return math.nan if math.isinf(left) else math.fmod(left, right)


def decimal_whole_quotient(left: Decimal, right: Decimal) -> int:
    if not right:
        raise ZeroDivisionError("decimal division by zero")
    return int(to.narrowed("long")(int(to.EXACT.divide_int(left, right))))


def _decimal_quotient(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise ZeroDivisionError("decimal division by zero")
    # Spark divides to 38 places first and rounds again to the result's scale.
    return to.EXACT.quantize(to.EXACT.divide(left, right), _PLACES)


def _decimal_remainder(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise ZeroDivisionError("decimal modulo by zero")
    return to.EXACT.remainder(left, right)


_PLACES = Decimal(1).scaleb(-types.MAX_PRECISION)
_DECIMAL_FUNCTIONS: dict[str, Callable[[Any, Any], Decimal]] = {
    "+": to.EXACT.add,
    "-": to.EXACT.subtract,
    "*": to.EXACT.multiply,
    "/": _decimal_quotient,
    "%": _decimal_remainder,
}
