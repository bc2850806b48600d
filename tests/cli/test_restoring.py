"""What `whorl run` shows while tasks read their state and tables."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from whorl.cli.live import step
from whorl.cli.restoring import Restoring
from whorl.config.settings import Restart
from whorl.tasks.control import Status
from whorl.tasks.readings import STATE, TABLES, Reading
from whorl.tasks.watch import Watch


def status(task: int, step: str, **readings: dict[str, Any]) -> Status:
    return Status("uid", "count", 1, task, 0, "host", 1, "running", 0.0, {"step": step, "readings": readings})


def reading(read: int, total: int, seconds: float, over: bool = False, since: float = 0.0) -> dict[str, Any]:
    return {"since": since, "read": read, "total": total, "records": read, "seconds": seconds, "over": over}


def watching(*news: Status) -> Watch:
    watch = Watch(Restart())
    watch.expect("count", 1, 2)
    watch.take(news)
    return watch


def shown(restoring: Restoring, watch: Watch) -> str:
    console = Console(file=StringIO(), width=120)
    console.print(*restoring.bars(watch.components))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_figures_of_a_reading_that_goes_on_and_ends() -> None:
    now = 10.0
    going = Reading({0: 5, 1: 0}, lambda: now, since=1.0)
    now, going.records = 12.0, 30
    going.move({0: 25, 1: 20}, left=60)
    assert going.snapshot() == {**reading(40, 100, 2.0, since=1.0), "records": 30}
    going.end({0: 60, 1: 45})
    now = 99.0
    assert going.snapshot() == {**reading(100, 100, 2.0, over=True, since=1.0), "records": 30}


def test_a_bar_of_all_tasks_that_disappears() -> None:
    restoring = Restoring()
    watch = watching(
        status(0, "restoring", state=reading(300_000, 600_000, 2.0)),
        status(1, "running", state=reading(400_000, 400_000, 1.5, over=True)),
    )
    line = shown(restoring, watch)
    assert line.startswith("count ") and " 70% " in line
    assert "700,000 of 1,000,000 records of state, 350,000/s, 1 s left" in line
    assert step(watch.components["count"]) == "restoring 70%"
    watch.take([status(0, "running", state=reading(600_000, 600_000, 3.0, over=True))])
    assert shown(restoring, watch).strip() == ""
    assert step(watch.components["count"]) == "running"


def test_two_lines_where_there_is_no_terminal() -> None:
    restoring = Restoring()
    watch = watching(status(0, "restoring", state=reading(1, 600_000, 0.5)))
    assert list(restoring.lines(watch.components)) == []
    watch.take([status(0, "restoring", state=reading(300_000, 600_000, 1.5))])
    assert list(restoring.lines(watch.components)) == [], "the other task has not said how much it has to read"
    watch.take([status(1, "restoring", state=reading(0, 0, 0.1))])
    assert list(restoring.lines(watch.components)) == []
    watch.take([status(1, "restoring", state=reading(1, 400_000, 0.1))])
    assert list(restoring.lines(watch.components)) == ["count: reads 1,000,000 records of state"]
    watch.take([status(0, "running", state=reading(600_000, 600_000, 3.1, over=True))])
    assert list(restoring.lines(watch.components)) == [], "the other task still reads"
    watch.take([status(1, "running", state=reading(400_000, 400_000, 1.0, over=True))])
    assert list(restoring.lines(watch.components)) == [
        "count: read 1,000,000 records of state in 3.1 s, 323,000/s",
    ]
    assert list(restoring.lines(watch.components)) == []


def test_what_was_short_is_not_told_and_what_follows_a_failure_is_told_alone() -> None:
    restoring = Restoring()
    short = reading(5, 5, 0.2, over=True)
    watch = watching(status(0, "running", tables=short), status(1, "running", tables=short))
    assert list(restoring.lines(watch.components)) == []
    watch.take([status(0, "running", tables=reading(2_000, 2_000, 2.0, over=True, since=7.0))])
    assert list(restoring.lines(watch.components)) == ["count: read 2,000 records of tables in 2.0 s, 1,000/s"]


def test_tables_come_after_state() -> None:
    watch = watching(
        status(0, "bootstrapping", state=reading(1, 1, 0.1, over=True), tables=reading(1, 4, 3.0)),
        status(1, "running"),
    )
    view = watch.components["count"]
    assert step(view) == "bootstrapping 25%"
    assert view.progress(STATE).over and not view.progress(TABLES).over


def test_an_operator_that_is_being_opened_is_named() -> None:
    watch = watching(status(0, "running"), status(1, "opening judge"))
    assert step(watch.components["count"]) == "opening judge"
    watch.take([status(0, "restoring")])
    assert step(watch.components["count"]) == "restoring"
