"""A job in the words of the server: what its tasks and queries said, and where its topics begin."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from whorl.config.settings import Restart
from whorl.jobs.job import State
from whorl.manager.bounds import Bounds
from whorl.manager.report import Reporter
from whorl.query.host import QueryState
from whorl.query.progress import QueryFigures
from whorl.tasks.control import Status
from whorl.tasks.signals import Figures
from whorl.tasks.watch import Watch


class Topics:
    """Begin at 5 and end at 100; says what it was asked."""

    def __init__(self) -> None:
        self.asked: list[set[Any]] = []

    def earliest(self, places: Any) -> dict[Any, int]:
        self.asked.append(set(places))
        return dict.fromkeys(places, 5)

    def latest(self, places: Any) -> dict[Any, int]:
        return dict.fromkeys(places, 100)


def planned(id: str, keeps_state: bool = True) -> Any:
    return SimpleNamespace(id=id, operators=(), group=f"g.{id}", keeps_state=keeps_state)


def job(seat: str | None = None) -> Any:
    """Of three components: one of tasks that keeps state, one that keeps none, one in a query."""
    watch = Watch(Restart())
    for id in ("kept", "bare"):
        watch.expect(id, 1, 2)
        for task in range(2):
            figures = Figures(step="running", state_keys=10 + task, state_bytes=1000)
            figures.committed = {("in", task): 40}
            figures.behind = {("in", task): 2}
            figures.watermark = 5000 + task if id == "kept" else None
            watch.take([Status("u", id, 1, task, 0, "host", 7, "running", 0.0, figures.snapshot())])
    figures = QueryFigures(batch=3, positions={("in", 0): 90}, watermark="1970-01-01T00:00:07.000Z", state_rows=4)
    query = SimpleNamespace(
        figures=figures,
        state=QueryState.RUNNING,
        written=0,
        error=None,
        restarts=0,
        batches=SimpleNamespace(dead=0, notices=[]),
    )
    return SimpleNamespace(
        plan=SimpleNamespace(components=[planned("kept"), planned("bare", keeps_state=False), planned("query")]),
        watch=watch,
        queries=SimpleNamespace(jobs={"query": query}),
        jobs={"kept": SimpleNamespace(seat=seat), "bare": SimpleNamespace(seat=None)},
        ground=SimpleNamespace(lps={"kept": 2, "bare": 2}),
        notices=[],
        state=State.RUNNING,
        error=None,
        uid="u",
        spark_ui="",
    )


def bounds(topics: Topics) -> Bounds:
    return Bounds(topics, every=1e9)  # type: ignore[arg-type]


def test_what_components_keep_and_their_watermarks() -> None:
    kept, bare, query = Reporter("tm-1", bounds(Topics())).report(job()).components
    assert (kept.state_keys, kept.state_bytes, kept.watermark) == (21, 2000, 5.0)
    assert (bare.state_keys, bare.state_bytes, bare.watermark) == (None, None, None)
    assert (query.state_keys, query.watermark) == (4, 7.0)


def test_nobody_knows_how_far_behind_a_component_is_before_all_of_its_tasks_have_spoken() -> None:
    running = job()
    assert [each.lag for each in Reporter("tm-1", bounds(Topics())).report(running).components] == [0, 0, 0]
    running.watch.expect("kept", 2, 2)
    assert [each.lag for each in Reporter("tm-1", bounds(Topics())).report(running).components] == [None, 0, 0]


def test_where_components_are() -> None:
    kept, bare, query = Reporter("tm-1", bounds(Topics())).report(job(seat="tm-2.4")).components
    assert [each.task_manager for each in (kept, bare, query)] == ["tm-2.4", "tm-1", "tm-1"]


def test_offsets_have_both_ends_as_soon_as_they_were_asked() -> None:
    topics = Topics()
    asked = bounds(topics)
    reporter = Reporter("tm-1", asked)
    before = reporter.report(job()).offsets
    assert {each.earliest for each in before} == {None}
    asked.look()
    after = {(each.component, each.partition): each for each in reporter.report(job()).offsets}
    assert topics.asked == [{("in", 0), ("in", 1)}]
    tasks, query = after[("kept", 1)], after[("query", 0)]
    assert (tasks.earliest, tasks.committed, tasks.latest, tasks.lag) == (5, 40, 42, 2)
    assert (query.earliest, query.committed, query.latest, query.lag) == (5, 90, 100, 10)


def test_a_failure_is_told_with_the_task_manager_where_it_was() -> None:
    running = job(seat="tm-2.4")
    running.watch.components["kept"].note_failure(1, "boom")
    (failure,) = Reporter("tm-1", bounds(Topics())).report(running).failures
    assert (failure.task_manager, failure.task, failure.error) == ("tm-2", 1, "boom")


def test_spark_begins_with_no_watermark() -> None:
    assert QueryFigures(watermark="1970-01-01T00:00:00.000Z").watermark_time is None
    assert QueryFigures().watermark_time is None
