"""From a value of one type to another, as Spark's ANSI cast does: what does not fit raises ValueError or OverflowError."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

LIMITS = {"int": 2**31 - 1, "long": 2**63 - 1}
"""The greatest value of each whole type."""

EXACT = Context(prec=120, rounding=ROUND_HALF_UP)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)
_FLOAT = struct.Struct("f")
_SPACE = "".join(map(chr, range(33))) + "\x7f"
_INTEGER = re.compile(r"[+-]?[0-9]+$")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?$")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$")
_SPECIAL = {"nan": math.nan} | {
    f"{sign}{word}": float(f"{sign}inf") for sign in ("", "+", "-") for word in ("inf", "infinity")
}
_BOOLEANS = dict.fromkeys(("t", "true", "y", "yes", "1"), True) | dict.fromkeys(("f", "false", "n", "no", "0"), False)
_DATE = re.compile(r"\+?([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?$", re.DOTALL)
_TIMESTAMP = re.compile(
    r"\+?([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T]"
    r"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?\s*([^0-9\s.:].*)?)?)?)?)?)?$"
)
_FARTHEST_ZONE = timedelta(hours=18)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?(?::?([0-9]{2}))?$")


def malformed(value: Any, type: str) -> ValueError:
    return ValueError(f"{value!r} is not a {type}")


def out_of_range(value: Any, type: str) -> OverflowError:
    return OverflowError(f"{value} does not fit into {type}")


def overflow(type: str) -> Any:
    raise OverflowError(f"the result does not fit into {type}")


def to_integer(type: str) -> Callable[[str], int]:
    limit = LIMITS[type]

    def parse(text: str) -> int:
        trimmed = text.strip(_SPACE)
        if not _INTEGER.match(trimmed):
            raise malformed(text, type)
        number = int(trimmed)
        if not -limit - 1 <= number <= limit:
            raise out_of_range(text, type)
        return number

    return parse


def narrowed(type: str) -> Callable[[int], int]:
    limit = LIMITS[type]

    def narrow(number: int) -> int:
        if -limit - 1 <= number <= limit:
            return number
        raise out_of_range(number, type)

    return narrow


def truncated(type: str) -> Callable[[float], int]:
    """A double or decimal without its fraction."""
    limit = LIMITS[type]

    def truncate(number: float) -> int:
        if number != number or not math.floor(number) <= limit + (type == "long") or math.ceil(number) < -limit - 1:
            raise out_of_range(number, type)
        return min(int(number), limit)

    def checked(number: float) -> int:
        if isinstance(number, float) and math.isinf(number):
            raise out_of_range(number, type)
        return truncate(number)

    return checked


def to_double(text: str) -> float:
    trimmed = text.strip(_SPACE)
    if _NUMBER.match(trimmed):
        return float(trimmed.rstrip("dDfF"))
    special = _SPECIAL.get(trimmed.lower())
    if special is None:
        raise malformed(text, "double")
    return special


def single(number: float) -> float:
    """Rounded to what 32 bits hold."""
    try:
        rounded: float = _FLOAT.unpack(_FLOAT.pack(number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)
    return rounded


def to_boolean(text: str) -> bool:
    found = _BOOLEANS.get(text.strip(_SPACE).lower())
    if found is None:
        raise malformed(text, "boolean")
    return found


@lru_cache(256)
def fitted(precision: int, scale: int) -> Callable[[Decimal], Decimal]:
    """Rounds half up to the scale; raises where the whole part has too many digits."""
    unit, bound = Decimal(1).scaleb(-scale), Decimal(10) ** (precision - scale)
    quantize, kind = EXACT.quantize, f"decimal({precision},{scale})"

    def fit(number: Decimal) -> Decimal:
        rounded = quantize(number, unit)
        if not rounded:
            return rounded.copy_abs()  # Java's decimals have no negative zero
        if -bound < rounded < bound:
            return rounded
        raise out_of_range(number, kind)

    return fit


def decimal_from(precision: int, scale: int) -> dict[str, Callable[[Any], Decimal]]:
    """The conversions into one decimal type, by the kind they come from."""
    fit = fitted(precision, scale)

    def parse(text: str) -> Decimal:
        if not _DECIMAL.match(text.strip(_SPACE)):
            raise malformed(text, "decimal")
        return fit(Decimal(text.strip(_SPACE)))

    def convert(number: float) -> Decimal:
        if not math.isfinite(number):
            raise malformed(number, "decimal")
        return fit(Decimal(repr(number)))

    def whole(number: int) -> Decimal:
        return fit(Decimal(number))

    return {
        "string": parse,
        "double": convert,
        "float": convert,
        "int": whole,
        "long": whole,
        "boolean": whole,
        "decimal": fit,
    }


def double_text(number: float) -> str:
    """As Java writes a double."""
    size = abs(number)
    if 1e-3 <= size < 1e7 or size == 0:
        return repr(number)
    if number != number:
        return "NaN"
    return _scientific(repr(number)) if size != math.inf else ("Infinity" if number > 0 else "-Infinity")


def single_text(number: float) -> str:
    """As Java writes a float: the fewest digits that tell it from its neighbours."""
    if not math.isfinite(number):
        return double_text(number)
    text = next(text for digits in range(1, 10) if single(float(text := f"{number:.{digits}g}")) == number)
    return double_text(float(text))


def _scientific(text: str) -> str:
    sign, digits, exponent = Decimal(text).as_tuple()
    figures = "".join(map(str, digits))
    power = len(figures) - 1 + int(exponent)
    figures = figures.rstrip("0") or "0"
    return f"{'-' if sign else ''}{figures[0]}.{figures[1:] or '0'}E{power}"


def decimal_text(number: Decimal) -> str:
    return format(number, "f")


def timestamp_text(moment: datetime) -> str:
    text = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S").zfill(19)
    return f"{text}.{moment.microsecond:06d}".rstrip("0") if moment.microsecond else text


def to_date(text: str) -> date:
    match = _DATE.match(text.strip(_SPACE))
    if not match:
        raise malformed(text, "date")
    year, month, day = match.groups()
    try:
        return date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        raise malformed(text, "date") from None


def to_timestamp(text: str) -> datetime:
    """ISO, in parts or whole; without a zone it is UTC."""
    match = _TIMESTAMP.match(text.strip(_SPACE))
    if not match:
        raise malformed(text, "timestamp")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    micros = int((fraction or "").ljust(6, "0")[:6])
    parts = (
        int(part or default) for part, default in ((year, 0), (month, 1), (day, 1), (hour, 0), (minute, 0), (second, 0))
    )
    try:
        return datetime(*parts, micros, tzinfo=_zone(zone)).astimezone(UTC)  # type: ignore[arg-type,misc]
    except (ValueError, KeyError, OverflowError):
        raise malformed(text, "timestamp") from None


@lru_cache(256)
def _zone(text: str | None) -> tzinfo:
    if text is None or text in ("Z", "UTC", "GMT"):
        return UTC
    offset = _OFFSET.match(text)
    if not offset:
        return ZoneInfo(text)
    sign, hours, minutes, seconds = offset.groups()
    shift = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
    if shift > _FARTHEST_ZONE:
        raise ValueError(f"'{text}' is not a time zone")
    return timezone(-shift if sign == "-" else shift)


def timestamp_seconds(moment: datetime) -> int:
    return (moment - EPOCH) // SECOND


def timestamp_double(moment: datetime) -> float:
    return ((moment - EPOCH) // MICROSECOND) / 1e6


def from_seconds(seconds: float | Decimal) -> datetime:
    """Seconds since 1970, whole or not; what is below a microsecond is cut off."""
    if not math.isfinite(seconds):
        raise malformed(seconds, "timestamp")
    micros = int(EXACT.multiply(seconds, Decimal(10**6))) if isinstance(seconds, Decimal) else int(seconds * 1_000_000)
    return EPOCH + timedelta(microseconds=micros)


def timestamp_date(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def date_timestamp(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def whole_decimal(number: Decimal) -> int:
    return int(number.to_integral_value(ROUND_DOWN))


def tolerant(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same, with null for what does not fit (TRY_CAST)."""

    def attempt(value: Any) -> Any:
        try:
            return convert(value)
        except (ValueError, ArithmeticError):
            return None

    return attempt
