"""What the latency benchmark does to each record."""

from __future__ import annotations

from typing import Any


def mark(row: dict[str, Any]) -> dict[str, Any]:
    row["seen"] = True
    return row
