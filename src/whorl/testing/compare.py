"""Rows as written in a case against rows that came out: equal but for spelling.

A time is equal to its ISO text, a decimal to its number, binary to its base64; a column that is left out is null; numbers with a
fraction may differ in their last digits.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import orjson

from whorl.formats import coerce
from whorl.operators.record import Row
from whorl.schema import Schema
from whorl.testing.records import typed

_CLOSE = 1e-9


def differences(
    expected: Sequence[Row], got: Sequence[Row | None], schema: Schema | None, unordered: bool
) -> list[str]:
    """What to tell of rows that are not as expected: `-` is missing, `+` is too much; empty where all is right."""
    wanted = [typed(row, schema) for row in expected]
    if unordered:
        return _without_order(wanted, list(got))
    lines, wrong = [], False
    for index in range(max(len(wanted), len(got))):
        row = wanted[index : index + 1]
        came = got[index : index + 1]
        if row and came and alike(row[0], came[0]):
            lines.append(f"  {shown(row[0])}")
            continue
        wrong = True
        lines += [*(f"- {shown(each)}" for each in row), *(f"+ {shown(each)}" for each in came)]
    return lines if wrong else []


def _without_order(wanted: list[Row], got: list[Row | None]) -> list[str]:
    left = list(got)
    missing = []
    for row in wanted:
        match = next((index for index, each in enumerate(left) if alike(row, each)), None)
        if match is None:
            missing.append(row)
        else:
            del left[match]
    return [*(f"- {shown(row)}" for row in missing), *(f"+ {shown(row)}" for row in left)]


def alike(expected: Any, got: Any) -> bool:
    if isinstance(expected, dict) and isinstance(got, dict):
        return all(alike(expected.get(name), got.get(name)) for name in {**expected, **got})
    if isinstance(expected, list | tuple) and isinstance(got, list | tuple):
        return len(expected) == len(got) and all(map(alike, expected, got))
    if isinstance(expected, bool) or isinstance(got, bool) or expected is None or got is None:
        return expected is got
    if isinstance(expected, str) and isinstance(got, datetime):
        return _moment(expected) == got
    if isinstance(expected, int | float | Decimal) and isinstance(got, int | float | Decimal):
        return expected == got or math.isclose(expected, got, rel_tol=_CLOSE) or (expected != expected and got != got)
    return bool(expected == got or (isinstance(expected, str) and expected == _plain(got)))


def _moment(text: str) -> datetime | None:
    try:
        return coerce.timestamp(text)
    except ValueError:
        return None


def shown(row: Row | None) -> str:
    """A row as one would write it in a case."""
    return orjson.dumps(row, _plain, orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime | date):
        return value.isoformat().replace("+00:00", "Z")
    return str(value)
