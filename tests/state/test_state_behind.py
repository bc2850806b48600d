"""What waits to be written is bounded by bytes, of all stores of a task together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from helpers_state import META

from whorl.state.backend import MemoryBackend, Meta
from whorl.state.behind import ENTRY_OVERHEAD, Backlog, WriteBehind

LIMIT = 100_000


class Counting(MemoryBackend):
    """Says how often it was written."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def write(self, puts: Mapping[bytes, bytes | None], meta: Meta) -> None:
        self.writes += 1
        super().write(puts, meta)


@pytest.fixture
def backlog() -> Backlog:
    return Backlog(LIMIT)


@pytest.fixture
def stores(backlog: Backlog) -> list[tuple[Counting, WriteBehind]]:
    return [(under, WriteBehind(under, backlog, age=1e9)) for under in (Counting(), Counting(), Counting())]


def put(store: WriteBehind, key: str, bytes: int) -> None:
    store.write({key.encode(): b"x" * bytes}, replace(META, position=1))


def waiting(stores: list[tuple[Counting, WriteBehind]]) -> int:
    return sum(len(key) + len(value or b"") for _, store in stores for key, value in store._waiting.items())


def test_of_several_the_largest_is_written_first(stores: list[tuple[Counting, WriteBehind]], backlog: Backlog) -> None:
    (first, one), (second, two), (third, three) = stores
    put(one, "k", 30_000)
    put(two, "k", 50_000)
    put(three, "k", 15_000)
    assert (first.writes, second.writes, third.writes) == (0, 0, 0)
    put(three, "l", 10_000)
    assert (first.writes, second.writes, third.writes) == (0, 1, 0)
    assert backlog.used == waiting(stores) + 3 * ENTRY_OVERHEAD
    assert [store.get(b"k") and len(store.get(b"k") or b"") for _, store in stores] == [30_000, 50_000, 15_000]


def test_no_more_waits_than_may(stores: list[tuple[Counting, WriteBehind]], backlog: Backlog) -> None:
    for number in range(500):
        put(stores[number % 3][1], str(number), 5_000)
        assert waiting(stores) <= LIMIT and backlog.used <= LIMIT
    assert all(under.writes < 50 for under, _ in stores)


@pytest.mark.parametrize("size", [lambda _: 1_000, lambda number: 200 * number])
def test_what_is_written_again_counts_once_and_as_it_is_now(
    stores: list[tuple[Counting, WriteBehind]], backlog: Backlog, size: Callable[[int], int]
) -> None:
    under, store = stores[0]
    for number in range(700):
        put(store, "k", size(number))
    assert (under.writes == 0) == (size(699) == 1_000)
    assert backlog.used <= LIMIT


def test_one_that_is_closed_counts_no_more(stores: list[tuple[Counting, WriteBehind]], backlog: Backlog) -> None:
    put(stores[0][1], "k", 10_000)
    stores[0][1].close()
    assert backlog.used == 0 and stores[0][0].writes == 1


def test_what_has_waited_for_its_time_is_in_the_size() -> None:
    now = 0.0
    under = Counting()
    store = WriteBehind(under, age=5.0, clock=lambda: now)
    put(store, "a", 10)
    now = 4.0
    assert (store.size(), under.writes) == ((0, 0), 0)
    now = 5.0
    assert (store.size(), under.writes) == ((1, 11), 1)
