"""From a declared type to what state can hold, and back.

What is plain already is only checked. Everything else (dataclasses, pydantic models, lists of them) goes by its fields.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter

from whorl.state.scope import Conversion

_KEPT = frozenset({int, float, str, bytes, bool, dict, list, tuple, date, datetime, Decimal})


def conversion(kind: Any) -> Conversion:
    if kind in (Any, object, None):
        return Conversion()
    plain = get_origin(kind) or kind
    if plain in _KEPT and all(arg in _KEPT or arg in (Any, ...) for arg in get_args(kind)):
        return Conversion(plain, partial(_checked, plain))
    adapter = TypeAdapter(kind)
    return Conversion(None, partial(adapter.dump_python, warnings="error"), adapter.validate_python)


def _checked(kind: type, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if kind is float and isinstance(value, int):
        return float(value)
    raise TypeError(f"it is declared as '{kind.__name__}' and was given {value!r:.80}")
