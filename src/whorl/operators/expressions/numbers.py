"""Functions on numbers. Rounding is half away from zero; what a double cannot express is NaN or infinity, as in Java."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import whorl.formats.conversions as to
import whorl.operators.expressions.types as types
from whorl.operators.expressions.arithmetic import arithmetic, negate
from whorl.operators.expressions.casts import cast
from whorl.operators.expressions.errors import ExpressionError
from whorl.operators.expressions.logic import aligned, common
from whorl.operators.expressions.registry import implicit, plain, register
from whorl.operators.expressions.types import LIMITS, UNKNOWN, VOID
from whorl.operators.expressions.value import Emitter, Value, null


def _number(emitter: Emitter, value: Value, what: str) -> Value:
    """A number as it is, a string as a double."""
    if types.is_numeric(value.type) or value.type == UNKNOWN:
        return value
    return implicit(emitter, value, "double", what)


@register("abs(number) -> same type", "Without its sign.", 1)
def _abs(emitter: Emitter, args: Sequence[Value]) -> Value:
    value = _number(emitter, args[0], "abs")
    if value.type == UNKNOWN or value.type == VOID:
        return value
    if types.is_decimal(value.type):
        return emitter.apply([value], "{}.copy_abs()".format, value.type)
    if value.type in types.FLOATING:
        return emitter.apply([value], "abs({})".format, value.type)
    return emitter.call(_abs_long if value.type == "long" else _abs_int, [value], value.type)


def _abs_long(number: int) -> int:
    return abs(number) if number > -LIMITS["long"] - 1 else int(to.overflow("long"))


def _abs_int(number: int) -> int:
    return abs(number) if number > -LIMITS["int"] - 1 else int(to.overflow("int"))


def _to_whole(emitter: Emitter, value: Value, what: str, rounding: str, real: Callable[[float], int]) -> Value:
    value = _number(emitter, value, what)
    if value.type == UNKNOWN:
        return value
    if value.type in types.INTEGRAL:
        return cast(emitter, value, "long")
    if not types.is_decimal(value.type):
        return emitter.call(lambda number: _saturated(real, number), [value], "long")
    precision, scale = types.precision_scale(value.type)
    kind = types.bounded(precision - scale + 1, 0)
    fit = to.fitted(*types.precision_scale(kind))
    return emitter.call(lambda number: fit(number.to_integral_value(rounding)), [value], kind)


def _saturated(real: Callable[[float], int], number: float) -> int:
    if number != number:
        return 0
    if math.isinf(number):
        return LIMITS["long"] if number > 0 else -LIMITS["long"] - 1
    return max(min(real(number), LIMITS["long"]), -LIMITS["long"] - 1)


@register("ceil(number) -> long", "The next whole number above.", 1, aliases=["ceiling"])
def _ceil(emitter: Emitter, args: Sequence[Value]) -> Value:
    return _to_whole(emitter, args[0], "ceil", ROUND_CEILING, math.ceil)


@register("floor(number) -> long", "The next whole number below.", 1)
def _floor(emitter: Emitter, args: Sequence[Value]) -> Value:
    return _to_whole(emitter, args[0], "floor", ROUND_FLOOR, math.floor)


@register("round(number[, places]) -> same type", "Rounded half away from zero; places may be negative.", 1, 2)
def _round(emitter: Emitter, args: Sequence[Value]) -> Value:
    value = _number(emitter, args[0], "round")
    places = args[1].constant if len(args) == 2 else 0
    if not isinstance(places, int):
        raise ExpressionError("round needs a constant number of places", code="unsupported")
    if value.type == UNKNOWN:
        return value
    if types.is_decimal(value.type):
        return _round_decimal(emitter, value, places)
    if value.type in types.INTEGRAL:
        return value if places >= 0 else emitter.call(_whole_rounding(value.type, places), [value], value.type)
    rounding = _real_rounding(places)
    if value.type == "float":
        return emitter.call(lambda number: to.single(rounding(float(to.single_text(number)))), [value], "float")
    return emitter.call(rounding, [value], "double")


def _round_decimal(emitter: Emitter, value: Value, places: int) -> Value:
    precision, scale = types.precision_scale(value.type)
    whole = precision - scale + 1
    kind = (
        types.decimal_type(max(min(whole, 38), -places + 1), 0)
        if places < 0
        else types.decimal_type(min(whole + min(scale, places), 38), min(scale, places))
    )
    fit, unit = to.fitted(*types.precision_scale(kind)), Decimal(1).scaleb(-places)
    return emitter.call(lambda number: fit(to.EXACT.quantize(number, unit)), [value], kind)


def _whole_rounding(kind: str, places: int) -> Callable[[int], int]:
    unit, narrow = Decimal(1).scaleb(-places), to.narrowed(kind)
    return lambda number: narrow(int(to.EXACT.quantize(Decimal(number), unit)))


def _real_rounding(places: int) -> Callable[[float], float]:
    unit = Decimal(1).scaleb(-places)

    def rounded(number: float) -> float:
        return (
            float(to.EXACT.quantize(Decimal(repr(number)), unit))
            if math.isfinite(number) and abs(number) < 1e60
            else number
        )

    return rounded


def _sqrt(number: float) -> float:
    return math.sqrt(number) if number >= 0 else math.nan


def _pow(base: float, exponent: float) -> float:
    if (abs(base) == 1 and (math.isinf(exponent) or exponent != exponent)) or (base == 1 and exponent != exponent):
        return math.nan
    try:
        return math.pow(base, exponent)
    except ValueError:
        return math.nan if base else math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def _exp(number: float) -> float:
    return math.exp(number) if not number > 709.79 else math.inf if number == number else number


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float | None]:
    return lambda number: None if number <= 0 else function(number)


def _log_base(base: float, number: float) -> float | None:
    if base <= 0 or number <= 0:
        return None
    below = math.log(base)
    return math.log(number) / below if below else math.copysign(math.inf, math.log(number)) if number != 1 else math.nan


def _sign(number: float) -> float:
    return number if number == 0 or number != number else math.copysign(1.0, number)


plain("sqrt(number) -> double", "Square root; NaN below 0.", _sqrt, ["double"], "double")
plain("pow(base, exponent) -> double", "Power.", _pow, ["double", "double"], "double", aliases=["power"])
plain("exp(number) -> double", "Power of e.", _exp, ["double"], "double")
plain(
    "ln(number) -> double",
    "Natural logarithm; null for 0 and below.",
    _logarithm(math.log),
    ["double"],
    "double",
    nullable=True,
)
plain(
    "log10(number) -> double",
    "Decimal logarithm; null for 0 and below.",
    _logarithm(math.log10),
    ["double"],
    "double",
    nullable=True,
)
plain("sign(number) -> double", "-1.0, 0.0 or 1.0.", _sign, ["double"], "double", aliases=["signum"])


@register("log([base, ]number) -> double", "Logarithm to a base, or the natural one; null for 0 and below.", 1, 2)
def _log(emitter: Emitter, args: Sequence[Value]) -> Value:
    numbers = [implicit(emitter, arg, "double", "log") for arg in args]
    return emitter.call(_logarithm(math.log) if len(numbers) == 1 else _log_base, numbers, "double", nullable=True)


@register("mod(number, divisor) -> number", "The same as %.", 2)
def _mod(emitter: Emitter, args: Sequence[Value]) -> Value:
    return arithmetic(emitter, "%", args[0], args[1])


@register("negative(number) -> same type", "The same as unary minus.", 1)
def _negative(emitter: Emitter, args: Sequence[Value]) -> Value:
    return negate(emitter, args[0])


def _extreme(emitter: Emitter, args: Sequence[Value], what: str, pick: Callable[..., Any]) -> Value:
    kind = common(args, what, strings=False)
    if kind == UNKNOWN:
        return Value("None", UNKNOWN)
    if kind == VOID:
        return null(VOID)
    aligned(emitter, args, what)
    values = [cast(emitter, arg, kind) for arg in args]
    return emitter.call_with_nulls(pick, values, kind, nullable=all(value.nullable for value in values))


def _order(value: Any) -> tuple[bool, Any]:
    return (True, 0) if value != value else (False, value)


def _greatest(*values: Any) -> Any:
    return max((value for value in values if value is not None), key=_order, default=None)


def _least(*values: Any) -> Any:
    return min((value for value in values if value is not None), key=_order, default=None)


@register("greatest(value, …) -> common type", "The largest; nulls are left out.", 2, None)
def _build_greatest(emitter: Emitter, args: Sequence[Value]) -> Value:
    return _extreme(emitter, args, "greatest", _greatest)


@register("least(value, …) -> common type", "The smallest; nulls are left out.", 2, None)
def _build_least(emitter: Emitter, args: Sequence[Value]) -> Value:
    return _extreme(emitter, args, "least", _least)
