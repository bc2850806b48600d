"""A pipeline that runs in a terminal: what is shown of it, and how it is stopped."""

from __future__ import annotations

import signal
import time
from types import FrameType

from rich.console import Console

from whorl.cli.live import LiveView, summary
from whorl.config.loader import Loaded
from whorl.errors import OperatorFailed
from whorl.jobs.job import Job
from whorl.jobs.runner import RunOptions, Show, run


def run_in_foreground(loaded: Loaded, options: RunOptions) -> None:
    """Until it is stopped, has caught up, or fails."""
    console = Console(highlight=False, soft_wrap=True)
    started = time.monotonic()
    try:
        with LiveView(console) as view:
            job = run(loaded, options, _announcing(console, view), StopSignals())
    except OperatorFailed as error:
        if options.verbose:
            console.print(error.trace, markup=False)
        raise
    console.print(summary(job, time.monotonic() - started))


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


def _announcing(console: Console, view: LiveView) -> Show:
    """Says once what was made and where Spark can be watched."""
    said = False

    def show(job: Job, rows: dict[str, list[dict[str, object]]]) -> None:
        nonlocal said
        if not said:
            said = True
            for line in job.headlines():
                console.print(line, markup=False)
        view.show(job, rows)

    return show
