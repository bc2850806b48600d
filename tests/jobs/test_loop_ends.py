"""When a pipeline with a loop has caught up, and when it is quiet: seen from positions and ends alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from whorl.config.loader import load
from whorl.errors import Unavailable, UsageError, WorldError
from whorl.flow.check import checked
from whorl.jobs.ends import CatchUp, Quiet
from whorl.jobs.runner import refuse_never_quiet
from whorl.kafka.topics import Place
from whorl.plan.plan import Plan
from whorl.plan.planner import make_plan

RING = """
name: demo
sources:
  in: {type: kafka, topic: pairs, key: a, schema: {a: string, b: string}}
operators:
  - {id: one, type: count, key: a, from: [in, back]}
  - {id: two, type: count, key: count, as: n}
  - {id: back, type: map, columns: {a: CAST(n AS string)}}
sinks:
  out: {type: kafka, topic: done}
"""
READ = {"one": ("pairs", "demo.back_one"), "two": ("demo.one_two",)}


class View(SimpleNamespace):
    steps = frozenset({"running"})

    def total(self, figure: str) -> float:
        return float(getattr(self, figure))


class World:
    """A job of two components in a ring, whose positions and ends are set by hand."""

    def __init__(self, folder: Path) -> None:
        (folder / "demo.yaml").write_text(RING)
        loaded = load(folder / "demo.yaml")
        self.ends = dict.fromkeys([topic for topics in READ.values() for topic in topics], 0)
        self.views = {id: View(positions={(topic, 0): 0 for topic in READ[id]}, timers=0) for id in READ}
        ground = SimpleNamespace(
            read_by=lambda component: dict.fromkeys(READ[component.id], 1),
            topics={id: dict.fromkeys(("in", *topics), ()) for id, topics in READ.items()},
        )
        plan = make_plan(checked(loaded), loaded.settings)
        self.job: Any = SimpleNamespace(
            plan=plan, ground=ground, watch=SimpleNamespace(components=self.views), quiet_after=None
        )
        self.error: WorldError | None = None
        """What the broker answers."""
        self.failed: list[WorldError] = []
        self.job.fail = self.failed.append

    def latest(self, places: Iterable[Place]) -> dict[Place, int]:
        if self.error is not None:
            raise self.error
        return {place: self.ends[place[0]] for place in places}

    def reads(self, id: str, **positions: int) -> None:
        self.views[id].positions |= {(READ[id][int(name[1])], 0): at for name, at in positions.items()}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("kind", [CatchUp, Quiet])
def test_not_before_nothing_more_goes_round(world: World, kind: Any) -> None:
    world.ends |= {"pairs": 5, "demo.one_two": 3}
    end = kind(world, world.job)
    assert not end.reached()
    world.reads("one", t0=5)
    assert not end.reached(), "what 'one' has sent is not read yet"
    world.ends["demo.back_one"] = 2
    world.reads("two", t0=3)
    assert not end.reached(), "something has come back"
    world.reads("one", t1=2)
    world.views["two"].timers = 1
    assert not end.reached(), "a timer is set"
    world.views["two"].timers = 0
    assert end.reached()


def test_who_is_to_catch_up_does_not_wait_for_what_came_later(world: World) -> None:
    world.ends["pairs"] = 5
    caught_up, quiet = CatchUp(world, world.job), Quiet(world, world.job)  # type: ignore[arg-type]
    assert not caught_up.reached()
    world.reads("one", t0=5)
    world.ends["pairs"] = 9
    assert not quiet.reached() and caught_up.reached()


@pytest.mark.parametrize("kind", [CatchUp, Quiet])
def test_a_broker_that_is_away_is_waited_for_and_one_that_refuses_is_not(world: World, kind: Any) -> None:
    end = kind(world, world.job)
    world.error = Unavailable("away")
    assert not end.reached() and world.failed == []
    world.error = WorldError("no such topic")
    assert not end.reached() and world.error in world.failed
    world.error = None
    assert end.reached()


def test_what_never_ends_is_never_quiet(tmp_path: Path) -> None:
    def plan(limit: str) -> Plan:
        rate = "sources: {{n: {{type: rate{}}}}}\noperators: [{{id: all, type: forward}}]\nsinks: {{out: {{type: list}}}}\n"
        (tmp_path / "rate.yaml").write_text("name: rate\n" + rate.format(limit))
        loaded = load(tmp_path / "rate.yaml")
        return make_plan(checked(loaded), loaded.settings)

    refuse_never_quiet(plan(", limit: 5"))
    with pytest.raises(UsageError, match="source 'n' makes records without end"):
        refuse_never_quiet(plan(""))
