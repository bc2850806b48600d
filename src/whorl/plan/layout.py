"""Where each node of a plan stands when it is drawn: columns from left to right, rows from the top, few crossings.

An edge over several columns has the points that it passes. Edges that lead back take no part: they are drawn around the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whorl.plan.layers import Arrangement, Box, arrange

_ROW = 4
"""Lines of a drawing as text that are one row here."""


def placed(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan as JSON, its nodes with `column` and `row`, its edges with `points`, and the size of it all."""
    nodes, edges = plan["nodes"], plan["edges"]
    if not nodes:
        return {**plan, "columns": 0, "rows": 0}
    boxes = [Box(node["id"], (node["id"], ""), last=node["kind"] == "sink") for node in nodes]
    ahead = dict.fromkeys((edge["from"], edge["to"]) for edge in edges if not edge["feedback"])
    stands = arrange(boxes, list(ahead))
    place = _places(stands)
    return {
        **plan,
        "nodes": [{**node, **place[node["id"]]} for node in nodes],
        "edges": [{**edge, "points": _points(edge, place)} for edge in edges],
        "columns": len(stands.layers),
        "rows": max(each["row"] for each in place.values()) + 1,
    }


def _places(stands: Arrangement) -> dict[str, dict[str, float]]:
    return {
        id: {"column": column, "row": stands.heights[id] / _ROW}
        for column, layer in enumerate(stands.layers)
        for id in layer
    }


def _points(edge: Mapping[str, Any], place: Mapping[str, Mapping[str, float]]) -> list[Mapping[str, float]]:
    if edge["feedback"]:
        return []
    first, last = int(place[edge["from"]]["column"]), int(place[edge["to"]]["column"])
    return [place[f"{edge['from']}\n{column}"] for column in range(first + 1, last)]
