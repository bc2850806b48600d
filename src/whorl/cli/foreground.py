"""A pipeline that runs in a terminal: what is shown of it, and how it is stopped."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from rich.console import Console

from whorl.cli.live import LiveView, latency_lines, news_of, summary
from whorl.cli.telling import Telling
from whorl.config.groups import Logging
from whorl.config.loader import Loaded
from whorl.errors import OperatorFailed, WhorlError
from whorl.jobs.job import Job
from whorl.jobs.runner import RunOptions, Show, run
from whorl.log import file_of, logger, set_up


def run_in_foreground(loaded: Loaded, options: RunOptions) -> None:
    """Until it is stopped, has caught up, or fails."""
    console = Console(highlight=False, soft_wrap=True)
    started, name = time.monotonic(), loaded.spec.name
    try:
        with _log_of(loaded.settings.logging, name) as logs, ExitStack() as opened:
            view = None if logs else opened.enter_context(LiveView(console))
            job = run(loaded, options, _announcing(console, view, Telling(name)), StopSignals())
            told = summary(job, time.monotonic() - started)
            logger(name).info("%s", told)
    except OperatorFailed as error:
        if options.verbose:
            console.print(error.trace, markup=False)
        raise
    if not logs:
        for line in latency_lines(job):
            console.print(line, markup=False)
        console.print(told)


@contextmanager
def _log_of(settings: Logging, pipeline: str) -> Iterator[bool]:
    """Gives whether the log is what the terminal shows, instead of tables."""
    logs = settings.format != "auto"
    file = file_of(settings.dir, pipeline) if settings.dir else None
    stream = sys.stdout if logs else None
    with set_up(settings.level, settings.format, stream, file, settings.max_size, settings.keep):
        try:
            yield logs
        except WhorlError as error:
            logger(pipeline).error("%s", error)
            raise


class StopSignals:
    """Ctrl-C and SIGTERM ask for a graceful stop; a second one ends at once."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._take)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __call__(self) -> bool:
        return self.asked


def _announcing(console: Console, view: LiveView | None, telling: Telling) -> Show:
    """Says once what was made and where Spark can be watched; without a view, only to the log."""
    said = view is None

    def show(job: Job, rows: dict[str, list[dict[str, object]]]) -> None:
        nonlocal said
        if not said:
            said = True
            for line in job.headlines():
                console.print(line, markup=False)
        news = news_of(job)
        telling.show(job, news)
        if view is not None:
            view.show(job, rows, news)

    return show
