from __future__ import annotations

import itertools

from whorl.server.balancer import Candidate, Waits, place
from whorl.server.records import Part


def part(id: str, slots: int = 2) -> Part:
    return Part(id=id, host="tasks", slots=slots)


def test_all_on_one_unless_told_otherwise() -> None:
    found = place([part("a"), part("b")], [Candidate("x", 8), Candidate("y", 8)])
    assert found == {"x": ["a", "b"]}


def test_spread_over_as_many_as_are_wanted() -> None:
    found = place([part("a"), part("b"), part("c")], [Candidate("x", 8), Candidate("y", 8)], spread=2)
    assert found == {"x": ["a", "c"], "y": ["b"]}


def test_never_more_task_managers_than_components() -> None:
    assert place([part("a")], [Candidate("x", 8), Candidate("y", 8)], spread=2) == {"x": ["a"]}


def test_the_least_busy_of_equals() -> None:
    assert place([part("a")], [Candidate("x", 8, 0.9), Candidate("y", 8, 0.1)]) == {"y": ["a"]}


def test_back_to_where_it_ran_last() -> None:
    candidates = [Candidate("x", 8), Candidate("y", 8, 0.9)]
    assert place([part("a")], candidates, last_on={"a": "y"}) == {"y": ["a"]}


def test_what_runs_stays_and_what_was_lost_joins_it() -> None:
    candidates = [Candidate("x", 8), Candidate("z", 8)]
    parts, kept = [part("a"), part("b")], {"x": ["a"]}
    assert place(parts, candidates, kept, {"b": "y"}, spread=2, leader="x") == {"x": ["a"], "z": ["b"]}
    assert place(parts, [Candidate("x", 8)], kept, spread=2, leader="x") == {"x": ["a", "b"]}


def test_a_member_stays_one_and_another_leads() -> None:
    parts, kept = [part("a"), part("b")], {"x": ["a"]}
    found = place(parts, [Candidate("x", 8), Candidate("z", 8)], kept, spread=2)
    assert isinstance(found, dict)
    assert list(found.items()) == [("z", ["b"]), ("x", ["a"])]
    assert place(parts, [Candidate("x", 8)], kept, spread=2) == Waits("waits for a task manager: none is free")
    nothing_left = place(parts, [Candidate("x", 8), Candidate("z", 8)], {"x": ["a", "b"]}, spread=2)
    assert nothing_left == {"z": [], "x": ["a", "b"]}


def test_queries_are_with_the_leader() -> None:
    parts = [part("a"), Part(id="q", host="query"), Part(id="r", host="query"), part("b")]
    found = place(parts, [Candidate("x", 8), Candidate("y", 9)], spread=2)
    assert isinstance(found, dict)
    assert list(found.items()) == [("y", ["a", "q", "r"]), ("x", ["b"])]
    lost = place(parts, [Candidate("x", 8), Candidate("z", 8)], {"x": ["b"]}, {"q": "x"}, spread=2)
    assert lost == {"z": ["a", "q", "r"], "x": ["b"]}
    small = place(parts, [Candidate("x", 8), Candidate("y", 3)], {"y": ["b"]}, spread=2, leader="y")
    assert small == Waits("needs 6 slots; 2 task managers free, the largest with 8")


def test_what_ran_on_one_is_spread_when_there_are_more() -> None:
    found = place([part("a"), part("b")], [Candidate("x", 8), Candidate("y", 8)], {}, {"a": "x", "b": "x"}, spread=2)
    assert found == {"x": ["a"], "y": ["b"]}


def test_it_waits_and_says_for_what() -> None:
    assert place([part("a")], []) == Waits("waits for a task manager: none is free")
    assert place([part("a", 9)], [Candidate("x", 8)]) == Waits("needs 9 slots; 1 task manager free, the largest with 8")
    waits = place([part("a"), part("b")], [Candidate("x", 8)], spread=2, more_may_come=True)
    assert waits == Waits("waits for 1 task manager to start", 1, ("x",))


def test_whatever_there_is_no_slot_is_given_twice_and_nothing_that_runs_moves() -> None:
    """All small worlds: two to three components, up to three task managers, any of them running some of it."""
    sizes, rooms = (1, 3), (0, 2, 4)
    for parts in itertools.product(sizes, repeat=3):
        for slots in itertools.product(rooms, repeat=3):
            for home, spread in itertools.product((None, "0", "2"), (1, 2, 3)):
                wanted = [part(f"c{n}", size) for n, size in enumerate(parts)]
                candidates = [Candidate(str(n), room) for n, room in enumerate(slots)]
                fits = home is not None and slots[int(home)] >= parts[0]
                kept = {home: ["c0"]} if home is not None and fits else {}
                found = place(wanted, candidates, kept, spread=spread, leader=home or "" if kept else "")
                if isinstance(found, Waits):
                    continue
                placed = [id for ids in found.values() for id in ids]
                assert sorted(placed) == ["c0", "c1", "c2"]
                assert len(found) <= max(spread, 1)
                for id, ids in found.items():
                    assert sum(parts[int(each[1])] for each in ids) <= slots[int(id)]
                if fits and home is not None:
                    assert "c0" in found[home]
