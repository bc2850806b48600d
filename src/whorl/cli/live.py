"""The live view of `whorl run`: a table on a terminal, a line now and then elsewhere; then the summary."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from whorl.cli.restoring import Restoring
from whorl.config.spec import ConsoleSink
from whorl.jobs.job import Job
from whorl.query.host import QueryJob
from whorl.tasks.readings import STATE, TABLES
from whorl.tasks.signals import OPENING
from whorl.tasks.watch import ComponentView

_LINE_EVERY = 5.0
_RATE_OVER = 3.0


_COLUMNS = (
    "component",
    "step",
    "tasks",
    "records/s",
    "read",
    "written",
    "dead",
    "lag",
    "commit ms",
    "p50/p99 ms",
    "restarts",
)
_LOOP_COLUMNS = ("round", "messages/s", "active keys")


News = tuple[str, str]
"""What is to be told once: of which component, or of none, and what."""


def news_of(job: Job) -> list[News]:
    """All that is new; it is told by who asks."""
    news = []
    for id, query in job.queries.jobs.items():
        while query.batches.notices:
            news.append((id, query.batches.notices.pop(0)))
    while job.notices:
        news.append(("", job.notices.pop(0)))
    return news


class Rates:
    """Records per second of each component, over the last seconds."""

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[float, float]]] = {}

    def note(self, component: str, total: float) -> None:
        now = time.monotonic()
        seen = [(at, count) for at, count in self._seen.get(component, []) if now - at < _RATE_OVER]
        self._seen[component] = [*seen, (now, total)]

    def of(self, component: str) -> float:
        (first_at, first), (last_at, last) = self._seen[component][0], self._seen[component][-1]
        return max(0.0, last - first) / (last_at - first_at) if last_at > first_at else 0.0


class LiveView:
    """Shows a job and the rows of its console sinks."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._rates, self._restoring = Rates(), Restoring()
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._line_at = time.monotonic() + 1.0
        self._started = time.monotonic()

    def __enter__(self) -> LiveView:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def show(self, job: Job, rows: dict[str, list[dict[str, Any]]], news: Sequence[News] = ()) -> None:
        for sink, new in rows.items():
            self._show_rows(job, sink, new)
        for component, text in news:
            told = f"{component}: {text}" if component else text
            self._console.print(told, highlight=False, markup=False)
        for id, view in job.watch.components.items():
            self._rates.note(id, view.total("read"))
            self._rates.note(_going_round(id), view.total("messages"))
        if self._live:
            self._live.update(Group(*self._tables(job), *self._restoring.bars(job.watch.components)))
            return
        for line in self._restoring.lines(job.watch.components):
            self._console.print(line, highlight=False)
        if time.monotonic() >= self._line_at:
            self._line_at = time.monotonic() + _LINE_EVERY
            for id, view in job.watch.components.items():
                turning = self._turning(id, view) if id in loops_of(job) else ""
                self._console.print(self._line(id, view) + turning, highlight=False)
            for id, query in job.queries.jobs.items():
                self._console.print(query_line(id, query), highlight=False)

    def _show_rows(self, job: Job, sink: str, rows: list[dict[str, Any]]) -> None:
        options = job.plan.graph.nodes[sink].what
        if isinstance(options, ConsoleSink):
            self._console.print(rows_table(sink, rows, options.limit))

    def _tables(self, job: Job) -> Iterator[Table]:
        title = f"{job.plan.pipeline}: {job.state.value}, {time.monotonic() - self._started:.0f} s"
        if job.watch.components:
            yield self._table(job, title)
        if job.queries.jobs:
            yield query_table(job.queries.jobs, "" if job.watch.components else title)

    def _table(self, job: Job, title: str) -> Table:
        table, loops = Table(title=title, title_justify="left", title_style="bold"), loops_of(job)
        for name in (*_COLUMNS, *(_LOOP_COLUMNS if loops else ())):
            table.add_column(name, justify="left" if name in ("component", "step") else "right")
        for id, view in job.watch.components.items():
            table.add_row(id, *self._cells(id, view), *(self._loop_cells(id, view) if id in loops else ()))
        return table

    def _loop_cells(self, id: str, view: ComponentView) -> list[str]:
        """As they fall to zero, a loop comes to rest."""
        return [f"{view.most('round'):,}", f"{self._rates.of(_going_round(id)):,.0f}", f"{view.total('active'):,.0f}"]

    def _turning(self, id: str, view: ComponentView) -> str:
        round, rate, active = self._loop_cells(id, view)
        return f", round {round}, {rate} messages/s, {active} active keys"

    def _cells(self, id: str, view: ComponentView) -> list[str]:
        rate = self._rates.of(id)
        numbers = [f"{rate:,.0f}", *(f"{view.total(name):,.0f}" for name in ("read", "written", "dead", "lag"))]
        tasks = f"{len(view.tasks)} + {view.following}" if view.standbys else str(len(view.tasks))
        return [step(view), tasks, *numbers, f"{commit_ms(view):.1f}", _quick(view.latency_ms), str(len(view.failures))]

    def _line(self, id: str, view: ComponentView) -> str:
        rate = self._rates.of(id)
        return (
            f"{id}: {step(view)}, {rate:,.0f} records/s, read {view.total('read'):,.0f}, written {view.total('written'):,.0f}, "
            f"lag {view.total('lag'):,.0f}, commit {commit_ms(view):.1f} ms{_bound(view)}"
        )


_QUERY_COLUMNS = ("query", "state", "batch", "rows/s", "read", "written", "dead", "lag", "batch ms", "state rows", "late", "watermark", "restarts")  # fmt: skip


def query_table(jobs: Mapping[str, QueryJob], title: str) -> Table:
    table = Table(title=title or None, title_justify="left", title_style="bold")
    for name in _QUERY_COLUMNS:
        table.add_column(name, justify="left" if name in ("query", "state", "watermark") else "right")
    for id, job in jobs.items():
        table.add_row(id, job.state.value, *_query_cells(job), str(job.restarts))
    return table


def _query_cells(job: QueryJob) -> list[str]:
    figures = job.figures
    numbers = [
        figures.batch,
        figures.rate,
        figures.read,
        job.written,
        job.batches.dead,
        figures.lag,
        1000 * figures.batch_seconds,
    ]
    return [*(f"{number:,.0f}" for number in (*numbers, figures.state_rows, figures.late)), figures.watermark]


def query_line(id: str, job: QueryJob) -> str:
    figures = job.figures
    if figures.batch < 0:
        return f"{id}: {job.state.value}, no batch yet"
    state = f", state {figures.state_rows:,} rows" if figures.state_rows else ""
    watermark = f", watermark {figures.watermark}, late {figures.late:,}" if figures.watermark else ""
    return (
        f"{id}: {job.state.value}, batch {figures.batch}, {figures.rate:,.0f} rows/s, read {figures.read:,}, "
        f"written {job.written:,}, lag {figures.lag:,}, batch {1000 * figures.batch_seconds:,.0f} ms{state}{watermark}"
    )


def loops_of(job: Job) -> set[str]:
    """The components that are in a loop."""
    return {component.id for component in job.plan.components if component.in_loop}


def _going_round(id: str) -> str:
    return f"{id} messages"


def step(view: ComponentView) -> str:
    """The step most behind of all tasks."""
    opening = sorted(name for name in view.steps if name.startswith(OPENING))
    order = ("starting", "joining", "restoring", *opening, "bootstrapping")
    first = next((name for name in order if name in view.steps), "running")
    what = {"restoring": STATE, "bootstrapping": TABLES}.get(first)
    return f"{first} {view.progress(what).share:.0%}" if what and view.readings(what) else first


def _bound(view: ComponentView) -> str:
    """What backpressure allows, where it does anything."""
    rate = view.total("rate_limit")
    return f", at most {rate:,.0f} records/s" if rate else ""


def _quick(latency: Mapping[str, float]) -> str:
    return f"{latency['p50']:,.0f}/{latency['p99']:,.0f}" if latency else ""


def latency_lines(job: Job) -> Iterator[str]:
    """Of each component: from a record's timestamp to its commit, in the last seconds."""
    seen = {id: view.latency_ms for id, view in job.watch.components.items()}
    seen |= {id: query.figures.latency_ms for id, query in job.queries.jobs.items()}
    for id, latency in seen.items():
        if latency:
            told = ", ".join(f"{name} {ms:,.0f} ms" for name, ms in latency.items())
            yield f"{id}: latency {told}, from record to commit"


def commit_ms(view: ComponentView) -> float:
    commits = view.total("commits")
    return 1000 * view.total("commit_seconds") / commits if commits else 0.0


def rows_table(title: str, rows: list[dict[str, Any]], limit: int) -> Table:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(
        title=title, title_justify="left", caption=f"and {len(rows) - limit} more" if len(rows) > limit else None
    )
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows[:limit]:
        table.add_row(*("" if row.get(name) is None else str(row[name]) for name in columns))
    return table


def summary(job: Job, seconds: float) -> str:
    stretches = (*job.earlier, job)
    views = [view for each in stretches for view in each.watch.components.values()]
    queries = [query for each in stretches for query in each.queries.jobs.values()]
    read, written, dead = (sum(view.total(name) for view in views) for name in ("read", "written", "dead"))
    read += sum(query.figures.read for query in queries)
    written += sum(query.written for query in queries)
    dead += sum(query.batches.dead for query in queries)
    dead_letters = f", {dead:,.0f} to '{job.plan.dead_letter}'" if dead else ""
    told = f"{job.plan.pipeline}: read {read:,.0f}, written {written:,.0f}{dead_letters} in {seconds:.1f} s"
    return told if job.quiet_after is None else f"{told}\n{_quiet(job)}"


def _quiet(job: Job) -> str:
    views = [view for id, view in job.watch.components.items() if id in loops_of(job)]
    rounds, messages = max((view.most("round") for view in views), default=0), sum(v.total("messages") for v in views)
    return f"{job.plan.pipeline}: quiet after {rounds:,} rounds, {messages:,.0f} messages, {job.quiet_after:.2f} s"
