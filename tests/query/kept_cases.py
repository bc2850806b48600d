"""Records, and the operators with state that tests run over them on both hosts.

The watermark of a query moves with its batches, so there are long silences between the batches, and no record depends on one of another
key that came shortly before it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from whorl.schema import Schema

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SCHEMA = Schema.of(
    {"who": "string", "x": "double", "n": "long", "at": "timestamp", "m": "decimal(10,2)", "tags": "map<string,int>"}
)


def row(who: str | None, x: float, seconds: int) -> dict[str, Any]:
    at = NOON + timedelta(seconds=seconds)
    return {"who": who, "x": x, "n": round(x), "at": at, "m": Decimal(f"{x:.2f}"), "tags": {"a": 1}}


BATCHES = [
    [row("a", 1.5, 0), row("b", 1.0, 0), row("a", 2.5, 2), row("c", 0.5, 3)],
    [row("a", -0.5, 30), row("b", 4.0, 31), row("a", 3.0, 31)],
    [row("b", 1.0, 90), row("a", 2.0, 90), row("b", 0.0, 91), row("a", 2.0, 5)],
]
"""The last record is late."""
PYTHON = {"key": ["who"], "returns": {"who": "string", "what": "string"}}


def python(name: str, **options: Any) -> dict[str, Any]:
    return {"type": "python", "class": f"kept_steps.{name}", **PYTHON, **options}


CASES: dict[str, dict[str, Any]] = {
    "count": {"type": "count", "key": ["who"]},
    "sum": {"type": "sum", "key": ["who"], "of": "m", "count": "records", "keep": ["at", "tags"]},
    "min": {"type": "min", "key": ["who"], "of": "x"},
    "max": {"type": "max", "key": ["who"], "of": "at"},
    "average": {"type": "average", "key": ["who"], "of": "m"},
    "reduce": {"type": "reduce", "key": ["who"], "init": 0.0, "with": "acc + x"},
    "latest": {"type": "latest", "key": ["who"], "time": "at"},
    "limit": {"type": "limit", "key": ["who"], "rows": 2},
    "sessionize": {"type": "sessionize", "key": ["who"], "time": "at", "gap": "20s", "aggregates": {"t": "sum(x)"}},
    "windows": {"type": "average", "key": ["who"], "of": "x", "time": "at", "window": "20s"},
    "sliding": {"type": "average", "key": ["who"], "of": "x", "time": "at", "window": "20s", "every": "5s"},
    "deduplicate": {"type": "deduplicate", "message_id": ["who", "n"], "ttl": "60s", "ttl_time": "event"},
    "fading": {"type": "sum", "key": ["who"], "of": "x", "ttl": "40s", "ttl_time": "event"},
    **{name: python(name) for name in ("Diary", "Forgetful", "Reread", "Many")},
    "Several": python("Several", outputs=["large", "all"]),
}
FAILING = {name: python(name) for name in ("Touchy", "Counted", "Returning")}
"""They refuse some of the records."""
BY_CLOCK: dict[str, dict[str, Any]] = {
    "windows": {"type": "average", "key": ["who"], "of": "x", "window": "20s"},
    "sliding": {"type": "average", "key": ["who"], "of": "x", "window": "20s", "every": "5s"},
    "sessionize": {"type": "sessionize", "key": ["who"], "gap": "20s", "aggregates": {"t": "sum(x)"}},
    "deduplicate": {"type": "deduplicate", "message_id": ["who", "n"], "ttl": "60s"},
    "fading": {"type": "sum", "key": ["who"], "of": "x", "ttl": "40s"},
    "Reminder": python("Reminder"),
}
"""They go by the clock on the wall, which only a test without Spark sets by hand."""
