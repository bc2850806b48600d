"""Functions on dates and timestamps. The session time zone is UTC; weeks begin on Monday."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import whorl.formats.conversions as to
from whorl.operators.expressions.arithmetic import days_after, days_before
from whorl.operators.expressions.casts import cast
from whorl.operators.expressions.errors import ExpressionError
from whorl.operators.expressions.registry import implicit, plain, register
from whorl.operators.expressions.types import is_numeric
from whorl.operators.expressions.value import Emitter, Value, null

plain("year(date) -> int", "Its year.", "{}.year", ["date"], "int")
plain("month(date) -> int", "Its month, 1 to 12.", "{}.month", ["date"], "int")
plain("day(date) -> int", "Its day of the month.", "{}.day", ["date"], "int", aliases=["dayofmonth"])
plain("hour(timestamp) -> int", "Its hour, in UTC.", "{}.hour", ["timestamp"], "int")
plain("minute(timestamp) -> int", "Its minute.", "{}.minute", ["timestamp"], "int")
plain("second(timestamp) -> int", "Its second.", "{}.second", ["timestamp"], "int")
plain("date_add(date, days) -> date", "Days later.", days_after, ["date", "int"], "date", aliases=["dateadd"])
plain("date_sub(date, days) -> date", "Days earlier.", days_before, ["date", "int"], "date")
plain(
    "datediff(end, start) -> int",
    "Days from start to end.",
    "({} - {}).days",
    ["date", "date"],
    "int",
    aliases=["date_diff"],
)


@register("to_timestamp(value) -> timestamp", "From ISO text, a date, or seconds since 1970.", 1)
def _to_timestamp(emitter: Emitter, args: Sequence[Value]) -> Value:
    return cast(emitter, args[0], "timestamp")


@register("to_date(value) -> date", "From ISO text or a timestamp.", 1)
def _to_date(emitter: Emitter, args: Sequence[Value]) -> Value:
    return implicit(emitter, args[0], "date", "to_date")


@register("unix_timestamp(value) -> long", "Whole seconds since 1970, of a timestamp or date.", 1)
def _unix_timestamp(emitter: Emitter, args: Sequence[Value]) -> Value:
    if args[0].type == "string" or is_numeric(args[0].type):
        raise ExpressionError(
            "unix_timestamp takes a timestamp or a date here", code="unsupported", hint="use to_timestamp inside it"
        )
    return emitter.call(_unix_seconds, [implicit(emitter, args[0], "timestamp", "unix_timestamp")], "long")


def _unix_seconds(moment: datetime) -> int:
    """Unlike a cast, it goes toward 1970."""
    return int((moment - to.EPOCH) / to.SECOND)


def _day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _week(moment: datetime) -> datetime:
    return _day(moment) - timedelta(moment.weekday())


def _quarter(moment: datetime) -> datetime:
    return _day(moment).replace(month=(moment.month - 1) // 3 * 3 + 1, day=1)


_TRUNCATIONS: dict[str, Callable[[datetime], datetime]] = {
    **dict.fromkeys(("year", "yyyy", "yy"), lambda moment: _day(moment).replace(month=1, day=1)),
    "quarter": _quarter,
    **dict.fromkeys(("month", "mon", "mm"), lambda moment: _day(moment).replace(day=1)),
    "week": _week,
    **dict.fromkeys(("day", "dd"), _day),
    "hour": lambda moment: moment.replace(minute=0, second=0, microsecond=0),
    "minute": lambda moment: moment.replace(second=0, microsecond=0),
    "second": lambda moment: moment.replace(microsecond=0),
    "millisecond": lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000),
    "microsecond": lambda moment: moment,
}


@register(
    "date_trunc(unit, timestamp) -> timestamp",
    "The start of its year, quarter, month, week, day, hour, minute, second.",
    2,
)
def _date_trunc(emitter: Emitter, args: Sequence[Value]) -> Value:
    unit, value = args
    if not isinstance(unit.constant, str):
        raise ExpressionError("date_trunc needs a constant unit", code="unsupported")
    truncate = _TRUNCATIONS.get(unit.constant.lower())
    moment = implicit(emitter, value, "timestamp", "date_trunc")
    if truncate is None:
        return null("timestamp")
    return emitter.call(truncate, [moment], "timestamp")
