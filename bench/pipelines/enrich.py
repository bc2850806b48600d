"""The Python function of the json scenario, run by Whorl and by its peer alike."""

from __future__ import annotations

from typing import Any


def enrich(row: dict[str, Any]) -> dict[str, Any]:
    row["band"] = "high" if row["total"] > 800 else "low"
    row["label"] = row["account"].upper() + "/" + row["country"]
    return row
