"""Durations and sizes as people write them: `100ms`, `1h30m`, `64MB`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_BYTES = {"b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*")


def parse_duration(value: Any) -> float:
    """Seconds. A bare number is refused: its unit would be a guess; 0 needs none."""
    return _parse(value, _SECONDS, "a duration such as 100ms, 5s, 10m, 1h30m")


def parse_size(value: Any) -> int:
    """Bytes. A bare whole number is bytes."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return round(_parse(value, _BYTES, "a size such as 512KB, 64MB, 1GB"))


def format_duration(seconds: float) -> str:
    """The shortest exact spelling down to a microsecond."""
    for unit, factor in (("d", 86400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= factor and abs(seconds / factor - round(seconds / factor, 3)) < 1e-9:
            return f"{_plain(seconds / factor)}{unit}"
    return f"{_plain(seconds * 1e6)}us" if seconds else "0s"


def _plain(number: float) -> str:
    return f"{round(number, 3):.3f}".rstrip("0").rstrip(".")


def format_size(size: float) -> str:
    for unit, factor in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.4g}{unit}"
    return f"{size:g}B"


def _parse(value: Any, units: Mapping[str, float], expected: str) -> float:
    if value == 0 and not isinstance(value, bool):
        return 0.0
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not {expected}")
    total, at = 0.0, 0
    while match := _PART.match(value, at):
        number, unit = match.groups()
        if unit.lower() not in units:
            break
        total += float(number) * units[unit.lower()]
        at = match.end()
    if at == 0 or at != len(value):
        raise ValueError(f"'{value}' is not {expected}")
    return total


def _duration(value: Any) -> float:
    # Pydantic validates defaults and copies again: seconds that are already a float pass.
    return value if isinstance(value, float) else parse_duration(value)


Duration = Annotated[float, BeforeValidator(_duration)]
Size = Annotated[int, BeforeValidator(parse_size)]
