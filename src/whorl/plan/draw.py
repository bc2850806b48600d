"""A graph as text: boxes in layers from left to right, joined by lines.

A corner or a tee is a joint: records go both ways. A `│` across a line is a crossing, and nothing meets there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from whorl.plan.canvas import Canvas
from whorl.plan.layers import Arrangement, Box, Edge, arrange
from whorl.plan.returns import Back, draw_returns, is_lowest

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_GLYPHS = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"
"""By the directions in which lines leave a cell."""
_LONGEST = 32
Cell = tuple[int, int]


def draw(boxes: Iterable[Box], edges: Sequence[Edge], back: Sequence[Back] = ()) -> str:
    """The edges must form no cycle; those in `back` close one, and lead back below all else."""
    cut = [box.cut(_LONGEST) for box in boxes]
    if not cut:
        return ""
    (plan, below), canvas, left, spans = _with_returns(cut, edges, back), Canvas(), 0, dict[str, range]()
    for index, layer in enumerate(plan.layers):
        width = max(plan.boxes[id].width for id in layer)
        for id in layer:
            _draw_box(canvas, plan.boxes[id], left, plan.heights[id], width)
            spans[id] = range(left, left + width)
        left += width
        if index + 1 < len(plan.layers):
            left = _draw_channel(canvas, left, _channel(plan, index), plan.boxes)
    draw_returns(canvas, below, plan, spans)
    return str(canvas)


def _with_returns(boxes: Sequence[Box], edges: Sequence[Edge], back: Sequence[Back]) -> tuple[Arrangement, list[Back]]:
    """Where all stands, and what leads back below. Where another box is in the way, a box says where it leads to instead."""
    told: list[Back] = []
    while True:
        own = [*edges, *((each.source, each.told.id) for each in told)]
        plan = arrange([*boxes, *(each.told.cut(_LONGEST) for each in told)], own)
        below = [each for each in back if each not in told]
        hidden = [each for each in below if not (is_lowest(plan, each.source) and is_lowest(plan, each.target))]
        if not hidden:
            return plan, below
        told += hidden


def _draw_box(canvas: Canvas, box: Box, left: int, y: int, width: int) -> None:
    if not box.framed:
        canvas.put_under(left, y, (f"── {box.lines[0]} " if box.lines else "").ljust(width, "─"))
        return
    corners, inner = box.frame.value, width - 2
    canvas.put(left, y - 1, corners[0] + "─" * inner + corners[1])
    for offset, line in enumerate(box.lines):
        canvas.put(left, y + offset, f"│ {line.ljust(inner - 2)} │")
    canvas.put(left, y + 2, corners[2] + "─" * inner + corners[3])


# -- between two layers ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Channel:
    """The space between two layers. Each source whose line is not straight has a lane in it, where the line goes up or down."""

    exits: Mapping[str, int]
    entries: Mapping[str, int]
    targets: Mapping[str, Sequence[str]]
    lanes: Sequence[str]
    stepped: bool
    """Lines enter one lower than they would leave, so that a line in and a line out never share a row."""


def _channel(plan: Arrangement, index: int) -> Channel:
    """Straight where that is clear, stepped where that is clearer; two boxes that both feed the same two stay ambiguous."""
    exits = {id: plan.heights[id] for id in plan.layers[index] if any(source == id for source, _ in plan.links)}
    targets = {id: [target for source, target in plan.links if source == id] for id in exits}
    for clear, stepped in ((True, False), (True, True), (False, False), (False, True)):
        entries = {id: plan.heights[id] + stepped for id in plan.layers[index + 1]}
        rows = {id: {entries[target] for target in targets[id]} for id in exits}
        lanes = _lanes(exits, rows, clear)
        if lanes is not None:
            break
    assert lanes is not None, "stepped lines share no row"
    return Channel(exits, entries, targets, lanes, stepped)


def _lanes(exits: Mapping[str, int], rows: Mapping[str, set[int]], clear: bool) -> list[str] | None:
    """Sources by lane from the left; None if no order will do. `rows` are those on which each one's lines arrive."""
    waiting = sorted((id for id in exits if rows[id] != {exits[id]}), key=lambda id: _preference(exits[id], rows[id]))
    straight = {exits[id] for id in exits if id not in waiting}
    if clear and any(len(rows[id]) > 1 and rows[id] & straight for id in waiting):
        return None
    lanes: list[str] = []
    while waiting:
        others = {id: [other for other in waiting if other != id] for id in waiting}
        free = [id for id in waiting if not any(_first(exits, rows, other, id, clear) for other in others[id])]
        if not free:
            return None
        lanes.append(free[0])
        waiting.remove(free[0])
    return lanes


def _first(exits: Mapping[str, int], rows: Mapping[str, set[int]], one: str, other: str, clear: bool) -> bool:
    """Whether `one` must turn before `other`: it leaves on a row on which the other arrives, or it forks and then they merge."""
    merged = clear and len(rows[one]) > 1 and bool(rows[one] & rows[other])
    return exits[one] in rows[other] or merged


def _preference(exit: int, entries: Collection[int]) -> tuple[bool, int]:
    """Lines that go down turn the sooner the lower they start, lines that go up the sooner the higher: so they do not cross."""
    up = sum(entries) < exit * len(entries)
    return (up, exit if up else -exit)


def _draw_channel(canvas: Canvas, left: int, channel: Channel, boxes: Mapping[str, Box]) -> int:
    """Returns where the next layer begins."""
    right = left + 2 * max(len(channel.lanes), 1) + 2
    lines = Lines()
    for source, y in channel.exits.items():
        rows = [channel.entries[target] for target in channel.targets[source]]
        lane = left + 1 + 2 * channel.lanes.index(source) if source in channel.lanes else left
        lines.join(left, lane, y, rows, right)
        if boxes[source].framed:
            canvas.put(left - 1, y, "├")
    lines.draw(canvas)
    for target in {target for targets in channel.targets.values() for target in targets}:
        _draw_entry(canvas, right, channel.entries[target], boxes[target], channel.stepped)
    return right


def _draw_entry(canvas: Canvas, x: int, y: int, box: Box, stepped: bool) -> None:
    if box.framed:
        canvas.put(x - 1, y, "▶")
    elif stepped:
        canvas.put(x, y, "┘")
        canvas.put(x, y - 1, "┌")


@dataclass
class Lines:
    """Lines as the directions in which they leave each cell."""

    flat: Counter[Cell] = field(default_factory=Counter)
    steep: Counter[Cell] = field(default_factory=Counter)
    joints: set[Cell] = field(default_factory=set)

    def join(self, left: int, lane: int, y: int, rows: Sequence[int], right: int) -> None:
        """A line from the left on row `y` to its lane, and from there on each of the rows to the right."""
        for x in range(left, lane + 1):
            self.flat[(x, y)] |= _LEFT | _RIGHT if x < lane else _LEFT
        for row in rows:
            for x in range(lane, right):
                self.flat[(x, row)] |= _LEFT | _RIGHT if x > lane else _RIGHT
        top, bottom = min(y, *rows), max(y, *rows)
        for row in range(top, bottom + 1):
            self.steep[(lane, row)] |= _UP * (row > top) | _DOWN * (row < bottom)
        self.joints |= {(lane, row) for row in (y, *rows)}

    def draw(self, canvas: Canvas) -> None:
        for cell in self.flat.keys() | self.steep.keys():
            flat, steep = self.flat[cell], self.steep[cell]
            crossing = flat and steep and cell not in self.joints
            canvas.put(*cell, "│" if crossing else _GLYPHS[flat | steep])
