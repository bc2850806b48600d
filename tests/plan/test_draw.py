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
def test_lines_lead_where_edges_do(seed: int) -> None:
    """Follows every line of random graphs, with and without crossings, and compares what it reaches with the edges."""
    choice = random.Random(seed)
    ids = [f"n{index:02}" for index in range(choice.randrange(2, 30))]
    edges = sorted(
        {
            (ids[index], ids[choice.randrange(index + 1, min(len(ids), index + 8))])
            for index in range(len(ids) - 1)
            for _ in range(choice.choice((1, 1, 2, 3)))
        }
    )
    drawn = draw(boxes(*ids, last=ids[-1]), edges)
    assert followed(drawn.splitlines(), ids) == {source: sorted(t for s, t in edges if s == source) for source in ids}


def followed(lines: list[str], ids: list[str]) -> dict[str, list[str]]:
    """For each box, the boxes that its line reaches: lines only ever go right, up or down after they left a box."""
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
        elif char in OPEN[BACK[heading]] if heading != "right" else char in OPEN["left"]:
            ways = [way for way in ("right", "up", "down") if way != BACK[heading] and char in OPEN[way]]
            ahead += [((x, y), way) for way in ways]
    return found
