"""Random lives of an lp against a plain dict: records that fail, commits, aborts, deaths before and after the store, expiry, sweeps."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from helpers_state import Life

from whorl.state.room import Room

KEYS = [b"a", b"b", b"b\0", b"c" * 520, b"c" * 521, b"\xff"]
VALUES: list[Any] = [None, 1, -(1 << 70), "x", b"y", [1, [2]], {"k": [3], 4: None}, (5,), "z" * 3000]
TABLES = ("one", "two", "m{}")
Model = dict[tuple[str, bytes], tuple[Any, int | None]]


class Story:
    def __init__(self, life: Life, chance: random.Random) -> None:
        self.life, self.chance = life, chance
        self.now = 0
        self.model: Model = {}
        self.committed: tuple[Model, set[tuple[int, bytes]]] = ({}, set())
        self.timers: set[tuple[int, bytes]] = set()

    def step(self) -> None:
        what = self.chance.random()
        if what < 0.70:
            self.record(failing=self.chance.random() < 0.3)
        elif what < 0.76:
            self.fire()
        elif what < 0.80:
            self.life.lp.sweep(self.chance.randrange(1, 5))
        elif what < 0.86:
            self.now += self.chance.randrange(20)
            self.life.lp.clocks.tick(self.now)
        elif what < 0.94:
            self.commit()
        else:
            self.go_back()

    def record(self, failing: bool) -> None:
        model, timers = dict(self.model), set(self.timers)
        self.life.lp.begin()
        for _ in range(self.chance.randrange(4)):
            self.write(model, timers)
        if failing:
            self.life.lp.undo()
        else:
            self.life.lp.keep()
            self.model, self.timers = model, timers

    def write(self, model: Model, timers: set[tuple[int, bytes]]) -> None:
        name, key, lp = self.chance.choice(TABLES), self.chance.choice(KEYS), self.life.lp
        value, table = self.chance.choice(VALUES), lp.table("op", name)
        expires = self.chance.choice((None, self.now + self.chance.randrange(1, 40)))
        what = self.chance.random()
        if what < 0.5:
            put = (lambda *a: table.put_in(key[:1], *a)) if name == "m{}" else table.put
            put(key, value, expires)
            model[name, key] = (value, expires)
        elif what < 0.75:
            table.delete(key) if name != "m{}" else table.delete_in(key[:1], key)
            model.pop((name, key), None)
        elif what < 0.9:
            lp.timers.at("op", key, timer := self.chance.randrange(200))
            timers.add((timer, key))
        elif timers:
            timer, key = self.chance.choice(sorted(timers))
            lp.timers.cancel("op", key, timer)
            timers.discard((timer, key))

    def fire(self) -> None:
        up_to = self.chance.randrange(100)
        fired = [(time, key) for time, _, key in self.life.lp.timers.due("event", up_to)]
        wanted = [timer for timer in self.timers if timer[0] <= up_to]
        assert sorted(fired) == sorted(wanted) and [time for time, _ in fired] == sorted(time for time, _ in fired)
        self.timers -= set(wanted)

    def commit(self) -> None:
        store = self.chance.random() < 0.6
        delta = self.life.commit(store)
        assert len(dict(delta)) == len(delta)
        self.committed = (dict(self.model), set(self.timers))

    def go_back(self) -> None:
        """An abort, or a death with all that is not committed."""
        self.chance.choice((self.life.lp.drop, self.life.die))()
        self.now = self.life.lp.clocks.clock
        self.model, self.timers = dict(self.committed[0]), set(self.committed[1])

    def compare(self) -> None:
        lp, now = self.life.lp, self.now
        for name in TABLES:
            table = lp.table("op", name)
            live = {
                key: value
                for (of, key), (value, end) in self.model.items()
                if of == name and (end is None or end > now)
            }
            assert {key: table.get(key) for key in KEYS if table.holds(key)} == live
            assert dict(table.scan()) == live
        groups = {key[:1] for key in KEYS}
        table = lp.table("op", "m{}")
        assert {key: value for group in groups for key, value in table.scan(group)} == dict(table.scan())
        assert lp.timers.next("event") == min((time for time, _ in self.timers), default=None)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["memory", "lmdb", "behind"])
def test_a_random_life(kind: str, seed: int, tmp_path: Path) -> None:
    room = Room(random.Random(seed).choice((0, 2000, 1 << 20)))
    life = Life(None if kind == "memory" else tmp_path, room=room, behind=kind == "behind")
    story = Story(life, random.Random(seed))
    for _ in range(250):
        story.step()
        story.compare()
    story.commit()
    rebuilt = Life()
    rebuilt.log = life.log
    rebuilt.open()
    rebuilt.lp.clocks.tick(story.now)
    Story.compare(_over(rebuilt, story))
    assert rebuilt.lp.checksum() == life.lp.checksum()


def _over(life: Life, story: Story) -> Story:
    story.life = life
    return story
