"""A pipeline that runs in the background of this process, as a notebook shows it: one row for each component, current whenever it is looked at."""

from __future__ import annotations

import html
import threading
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple

from whorl.config.loader import Loaded
from whorl.errors import UsageError
from whorl.jobs.job import Job
from whorl.jobs.runner import RunOptions, run

_EVERY = 0.5
COLUMNS = ("component", "host", "state", "read", "written", "dead", "lag", "restarts")


class Line(NamedTuple):
    """What is told of one component."""

    component: str
    host: str
    state: str
    read: int
    written: int
    dead: int
    lag: int
    restarts: int


class Running:
    def __init__(self, loaded: Loaded, options: RunOptions) -> None:
        self.pipeline = loaded.spec.name
        self.error: BaseException | None = None
        self.rows: dict[str, list[dict[str, object]]] = {}
        """Of its console and list sinks, by id."""
        self._loaded, self._options = loaded, options
        self._job: Job | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"whorl-{self.pipeline}", daemon=True)
        self._thread.start()

    def stop(self) -> Running:
        """Asks for a graceful stop, and waits for it."""
        self._stop.set()
        return self.wait()

    def wait(self, seconds: float | None = None) -> Running:
        """For its end; raises what made it fail."""
        self._thread.join(seconds)
        if self.error is not None:
            raise self.error
        return self

    def shown(self) -> Running:
        """Waits, and shows how it goes: a table that changes in a notebook. Ctrl-C stops it gracefully."""
        display = _display()
        handle = display(self, display_id=True) if display else None
        try:
            while self._thread.is_alive():
                self._thread.join(_EVERY)
                if handle is not None:
                    handle.update(self)
        except KeyboardInterrupt:
            self._stop.set()
        return self.wait()

    @property
    def state(self) -> str:
        if self.error is not None:
            return "failed"
        return self._job.state.value if self._job else "starting"

    def lines(self) -> Iterator[Line]:
        """One for each component."""
        for id, view in self._job.watch.components.items() if self._job else ():
            read, written, dead, lag = (round(view.total(name)) for name in ("read", "written", "dead", "lag"))
            yield Line(id, "tasks", ", ".join(sorted(view.steps)), read, written, dead, lag, len(view.failures))
        for id, query in self._job.queries.jobs.items() if self._job else ():
            read, lag, dead = query.figures.read, query.figures.lag, query.batches.dead
            yield Line(id, "query", query.state.value, read, query.written, dead, lag, query.restarts)

    def __repr__(self) -> str:
        return "\n".join([f"{self.pipeline}: {self.state}", *(f"  {_told(line)}" for line in self.lines())])

    def _repr_html_(self) -> str:
        title = html.escape(f"{self.pipeline}: {self.state}")
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        rows = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in line) + "</tr>" for line in self.lines())
        return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def _run(self) -> None:
        try:
            self._job = run(self._loaded, self._options, self._show, self._stop.is_set)
        except BaseException as error:
            self.error = error

    def _show(self, job: Job, rows: dict[str, list[dict[str, object]]]) -> None:
        self._job = job
        for sink, new in rows.items():
            self.rows.setdefault(sink, []).extend(new)


def start(loaded: Loaded, **options: bool) -> Running:
    unknown = set(options) - set(RunOptions.__dataclass_fields__)
    if unknown:
        known = ", ".join(RunOptions.__dataclass_fields__)
        raise UsageError(f"a run has no option '{min(unknown)}'", hint=f"known: {known}")
    given: dict[str, Any] = dict(options)
    return Running(loaded, RunOptions(**given))


def _told(line: Line) -> str:
    return ", ".join(f"{name} {_cell(cell)}" for name, cell in zip(COLUMNS, line, strict=True))


def _cell(cell: object) -> str:
    return f"{cell:,}" if isinstance(cell, int) else html.escape(str(cell))


def _display() -> Any:
    """What shows things in a notebook; None where there is none."""
    with suppress(ImportError):
        shell = import_module("IPython").get_ipython()
        return import_module("IPython.display").display if shell is not None else None
    return None
