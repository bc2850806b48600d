"""Where the boxes of a drawing stand: layers from left to right, few crossings, straight lines where there is room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

Edge = tuple[str, str]
_SWEEPS = 4


class Frame(Enum):
    SQUARE = "┌┐└┘"
    ROUND = "╭╮╰╯"
    NONE = ""
    """No box, just a word on the line or the line itself."""


@dataclass(frozen=True)
class Box:
    id: str
    lines: tuple[str, ...]
    """Two in a frame, at most one without."""
    frame: Frame = Frame.SQUARE
    last: bool = False
    """Stands in the last layer."""

    @property
    def framed(self) -> bool:
        return self.frame is not Frame.NONE

    @property
    def width(self) -> int:
        return max(map(len, self.lines), default=0) + 4

    def cut(self, longest: int) -> Box:
        lines = (line if len(line) <= longest else line[: longest - 1] + "…" for line in self.lines)
        return replace(self, lines=tuple(lines))


@dataclass(frozen=True)
class Arrangement:
    boxes: Mapping[str, Box]
    layers: Sequence[Sequence[str]]
    links: Sequence[Edge]
    """Edges between neighbouring layers."""
    heights: Mapping[str, int]
    """The line on which each box is joined; always even."""


def arrange(boxes: Iterable[Box], edges: Sequence[Edge]) -> Arrangement:
    """The edges must form no cycle."""
    known = {box.id: box for box in boxes}
    layers, links = _with_bends(known, edges, _depths(known, edges))
    _untangle(layers, links)
    return Arrangement(known, layers, links, _heights(layers, links, known))


def _depths(boxes: Mapping[str, Box], edges: Sequence[Edge]) -> dict[str, int]:
    """Each stands one further right than the furthest that leads to it."""
    depths = dict.fromkeys(boxes, 0)
    for _ in boxes:
        for source, target in edges:
            depths[target] = max(depths[target], depths[source] + 1)
    last = max(depths.values())
    return {id: last if boxes[id].last else depth for id, depth in depths.items()}


def _with_bends(
    boxes: dict[str, Box], edges: Sequence[Edge], depths: Mapping[str, int]
) -> tuple[list[list[str]], list[Edge]]:
    """An edge over several layers passes through a bend in each, which all edges of one source share."""
    layers = [[id for id in boxes if depths[id] == depth] for depth in range(max(depths.values()) + 1)]
    links: dict[Edge, None] = {}
    for source, target in edges:
        bends = [f"{source}\n{depth}" for depth in range(depths[source] + 1, depths[target])]
        for depth, bend in enumerate(bends, depths[source] + 1):
            if bend not in boxes:
                boxes[bend] = Box(bend, (), Frame.NONE)
                layers[depth].append(bend)
        links.update(dict.fromkeys(pairwise([source, *bends, target])))
    return layers, list(links)


def _untangle(layers: list[list[str]], links: Sequence[Edge]) -> None:
    """Sorts each layer by the middle of the neighbours before it, then of those behind it, some times over."""
    back = [(target, source) for source, target in links]
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        order = range(1, len(layers)) if forward else range(len(layers) - 2, -1, -1)
        for index in order:
            beside = layers[index - 1] if forward else layers[index + 1]
            layers[index].sort(key=_middle(layers[index], beside, back if forward else links))


def _middle(layer: Sequence[str], beside: Sequence[str], links: Sequence[Edge]) -> Callable[[str], float]:
    near = {id: [beside.index(other) for one, other in links if one == id and other in beside] for id in layer}
    own = {id: float(place) for place, id in enumerate(layer)}
    middles = {id: sum(places) / len(places) if places else own[id] for id, places in near.items()}
    return middles.__getitem__


def _heights(layers: Sequence[Sequence[str]], links: Sequence[Edge], boxes: Mapping[str, Box]) -> dict[str, int]:
    """Straight behind the middle one of those that lead there, else as near below as there is room."""
    heights: dict[str, int] = {}
    for layer in layers:
        for place, id in enumerate(layer):
            above = layer[place - 1] if place else None
            free = heights[above] + _distance(boxes[above], boxes[id]) if above else 0
            before = sorted(heights[source] for source, target in links if target == id)
            heights[id] = max(free, before[(len(before) - 1) // 2] if before else free)
    return heights


def _distance(above: Box, below: Box) -> int:
    return 4 if above.framed or below.framed else 2
