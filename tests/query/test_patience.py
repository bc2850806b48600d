"""Waiting for a server, by a clock that is set by hand."""

from __future__ import annotations

import pytest

from whorl.errors import Unavailable
from whorl.query.refresh import Refresh
from whorl.query.stores.patience import GivenUp, Patience


class World:
    def __init__(self, away_until: float, stop_at: float = 1e9) -> None:
        self.now, self.said, self.tried = 0.0, list[str](), list[float]()
        self._away_until, self._stop_at = away_until, stop_at

    def patience(self, seconds: float = 600) -> Patience:
        return Patience(
            "out", seconds, self.said.append, lambda: self.now >= self._stop_at, lambda: self.now, self.sleep
        )

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def attempt(self) -> str:
        self.tried.append(round(self.now))
        if self.now < self._away_until:
            raise Unavailable("nobody there")
        return "done"


def test_waits_grow_up_to_a_bound_and_are_told_once() -> None:
    world = World(away_until=100)
    assert world.patience().with_(world.attempt) == "done"
    assert world.tried == [0, 1, 3, 7, 15, 31, 61, 91, 121]
    assert world.said[0].startswith("sink 'out' waits, for up to 10m") and "nobody there" in world.said[0]
    assert world.said[1:] == ["sink 'out' goes on after 2m1s"] or len(world.said) == 2


def test_patience_ends() -> None:
    world = World(away_until=1e9)
    with pytest.raises(Unavailable):
        world.patience(20).with_(world.attempt)
    assert world.now <= 20 and len(world.said) == 1


def test_a_query_that_is_to_stop_waits_no_longer() -> None:
    world = World(away_until=1e9, stop_at=10)
    with pytest.raises(GivenUp):
        world.patience().with_(world.attempt)
    assert world.now < 11


def test_when_to_read_anew() -> None:
    now = [0.0]
    refresh, never = Refresh(600.0, lambda: now[0]), Refresh(None, lambda: now[0])
    refresh.done()
    assert [refresh.is_due, never.is_due] == [False, False]
    now[0] = 600.0
    assert [refresh.is_due, never.is_due] == [True, False]
    refresh.done()
    assert not refresh.is_due
