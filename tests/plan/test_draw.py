"""Drawings: every edge can be followed from box to box, and nothing else."""

from __future__ import annotations

import random

import pytest

from whorl.plan.draw import draw
from whorl.plan.layers import Box, Frame

OPEN = {
    "left": "─┐┘┤┬┴┼▶╴",
    "right": "─┌└├┬┴┼╶",
    "up": "│└┘├┤┴┼╵",
    "down": "│┌┐├┤┬┼╷",
}
STEPS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
BACK = {"left": "right", "right": "left", "up": "down", "down": "up"}


def boxes(*ids: str, last: str = "") -> list[Box]:
    return [Box(id, (id, "kind"), last=id == last) for id in ids]


def test_a_chain_is_straight() -> None:
    assert draw(boxes("a", "b", last="b"), [("a", "b")]) == (
        "┌──────┐    ┌──────┐\n"
        "│ a    ├───▶│ b    │\n"
        "│ kind │    │ kind │\n"
        "└──────┘    └──────┘"
    )  # fmt: skip


def test_fan_out_and_fan_in() -> None:
    edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    assert draw(boxes("a", "b", "c", "d"), edges) == (
        "┌──────┐    ┌──────┐    ┌──────┐\n"
        "│ a    ├─┬─▶│ b    ├─┬─▶│ d    │\n"
        "│ kind │ │  │ kind │ │  │ kind │\n"
        "└──────┘ │  └──────┘ │  └──────┘\n"
        "         │  ┌──────┐ │\n"
        "         └─▶│ c    ├─┘\n"
        "            │ kind │\n"
        "            └──────┘"
    )


def test_words_stand_on_the_line_and_topics_are_round() -> None:
    both = [Box("a", ("a", "kind")), Box("w", ("big",), Frame.NONE), Box("t", ("t", "topic"), Frame.ROUND)]
    assert draw(both, [("a", "w"), ("w", "t")]) == (
        "┌──────┐               ╭───────╮\n"
        "│ a    ├────── big ───▶│ t     │\n"
        "│ kind │               │ topic │\n"
        "└──────┘               ╰───────╯"
    )


def test_nothing_is_nothing() -> None:
    assert draw([], []) == ""


def test_long_names_are_cut() -> None:
    assert "x" * 31 + "…" in draw([Box("a", ("x" * 60, "kind"))], [])


@pytest.mark.parametrize("seed", range(40))
def test_every_edge_can_be_followed(seed: int) -> None:
    choice = random.Random(seed)
    ids = [f"n{index:02}" for index in range(choice.randrange(2, 30))]
    targets = {id: ids[index + 1 : index + 8] for index, id in enumerate(ids[:-1])}
    edges = sorted(
        {(id, choice.choice(near)) for id, near in targets.items() for _ in range(choice.choice((1, 1, 2, 3)))}
    )
    found = followed(draw(boxes(*ids, last=ids[-1]), edges), ids)
    assert [edge for edge in edges if edge[1] not in found[edge[0]]] == []


@pytest.mark.parametrize("seed", range(40))
def test_nothing_else_can_be_followed(seed: int) -> None:
    """Graphs whose forks are trees and whose merges are of lines that do not fork: those can be drawn without a doubt."""
    choice = random.Random(seed)
    ids = [f"n{index:02}" for index in range(choice.randrange(2, 30))]
    forks, merges = ids[: len(ids) // 2], ids[len(ids) // 2 :]
    edges = [(choice.choice(forks[:index]), id) for index, id in enumerate(forks) if index]
    leaves = [id for id in ids if id not in {source for source, _ in edges}]
    edges += [(id, choice.choice(after)) for id in leaves if (after := [other for other in merges if other > id])]
    assert followed(draw(boxes(*ids), edges), ids) == {id: sorted(t for s, t in edges if s == id) for id in ids}


def followed(drawing: str, ids: list[str]) -> dict[str, list[str]]:
    """For each box, the boxes that its line reaches: after it left a box it goes right, up or down, never left."""
    lines = drawing.splitlines()
    cells = {(x, y): char for y, line in enumerate(lines) for x, char in enumerate(line)}
    places = {id: next((x, y) for y, line in enumerate(lines) if (x := line.find(f" {id} ")) >= 0) for id in ids}
    return {id: sorted(reached(cells, places, places[id])) for id in ids}


def reached(cells: dict[tuple[int, int], str], places: dict[str, tuple[int, int]], start: tuple[int, int]) -> set[str]:
    x, y = start
    while cells[(x, y)] not in "│├":
        x += 1
    if cells[(x, y)] == "│":
        return set()
    found, seen, ahead = set(), set(), [((x, y), "right")]
    while ahead:
        (x, y), heading = step = ahead.pop()
        if step in seen:
            continue
        seen.add(step)
        x, y = x + STEPS[heading][0], y + STEPS[heading][1]
        char = cells.get((x, y), " ")
        if char == "▶":
            found |= {id for id, place in places.items() if place[0] == x + 2 and place[1] in (y, y - 1)}
        elif char == "│" and heading in ("left", "right"):
            ahead.append(((x, y), heading))  # a crossing
        elif char in OPEN[BACK[heading]]:
            ways = [way for way in ("right", "up", "down") if way != BACK[heading] and char in OPEN[way]]
            ahead += [((x, y), way) for way in ways]
    return found
