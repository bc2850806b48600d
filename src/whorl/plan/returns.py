"""The lines of a drawing that lead back: out of the bottom of a box, along below all others, and up into the bottom of one before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from whorl.plan.canvas import Canvas
from whorl.plan.layers import Arrangement, Box, Frame

_BOTTOM = 2
"""Of a box, below the line on which it is joined."""


@dataclass(frozen=True)
class Back:
    source: str
    target: str
    label: str

    @property
    def told(self) -> Box:
        """What stands for it where no line can."""
        return Box(f"{self.source}\n{self.target}\n{self.label}", (self.label, f"↺ back to {self.target}"), Frame.ROUND)


def is_lowest(plan: Arrangement, id: str) -> bool:
    """Whether no box stands below it."""
    (layer,) = (layer for layer in plan.layers if id in layer)
    return all(plan.heights[other] <= plan.heights[id] for other in layer if plan.boxes[other].framed)


def draw_returns(canvas: Canvas, back: Sequence[Back], plan: Arrangement, spans: Mapping[str, range]) -> None:
    """The shorter ones further up. `spans`: the columns of each box."""
    taken: Counter[str] = Counter()
    ways = sorted(back, key=lambda each: spans[each.source].start - spans[each.target].start)
    for each in ways:
        start = spans[each.source][-3] - 2 * taken[f"{each.source} out"]
        end = spans[each.target][2] + 2 * taken[f"{each.target} in"]
        taken.update([f"{each.source} out", f"{each.target} in"])
        row = _free_row(canvas, each, plan, range(min(start, end), max(start, end) + len(each.label) + 5))
        _down(canvas, start, plan.heights[each.source] + _BOTTOM, row)
        _down(canvas, end, plan.heights[each.target] + _BOTTOM + 1, row)
        canvas.put(start, plan.heights[each.source] + _BOTTOM, "┬")
        canvas.put(end, plan.heights[each.target] + _BOTTOM + 1, "▲")
        left, right = sorted((start, end))
        canvas.put(left, row, "└" + "─" * (right - left - 1) + f"┘ ↺ {each.label}")


def _free_row(canvas: Canvas, each: Back, plan: Arrangement, columns: range) -> int:
    lowest = max(plan.heights[each.source], plan.heights[each.target]) + _BOTTOM
    return next(row for row in count(lowest + 2) if not any(x in columns for x in canvas.cells.get(row, ())))


def _down(canvas: Canvas, x: int, top: int, bottom: int) -> None:
    for y in range(top, bottom):
        canvas.put(x, y, "│")
