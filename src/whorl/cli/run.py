"""`whorl run`: a pipeline in the foreground, until it is stopped (Ctrl-C, SIGTERM), has caught up, or fails."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from whorl.cli.live import LiveView, summary
from whorl.cli.options import BrokerOption, Config, Profile, Sets
from whorl.config.loader import load
from whorl.errors import OperatorFailed
from whorl.jobs.job import Job
from whorl.jobs.runner import RunOptions, Show
from whorl.jobs.runner import run as run_pipeline

app = typer.Typer()


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


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="The pipeline file.", show_default=False)],
    until_caught_up: Annotated[bool, typer.Option(help="End when all that is there now has been processed.")] = False,
    master: Annotated[str | None, typer.Option(help="Spark master: local, local[n], spark://host:port.")] = None,
    fresh: Annotated[bool, typer.Option(help="Forget this pipeline's positions and start over.")] = False,
    accept_gap: Annotated[bool, typer.Option(help="Go on where records are gone from Kafka.")] = False,
    accept_repeat: Annotated[
        bool, typer.Option(help="Go on from a query's checkpoint that is older than what it wrote.")
    ] = False,
    accept_loss: Annotated[
        list[str] | None,
        typer.Option(metavar="OPERATOR", help="Leave behind what this operator has kept; may be repeated."),
    ] = None,
    verbose: Annotated[bool, typer.Option(help="Show Spark's warnings and whole stack traces.")] = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Run a pipeline in the foreground. Example: whorl run pipeline.yaml --until-caught-up"""
    given = [*(set_ or []), *([f"broker={broker}"] if broker else []), *([f"master={master}"] if master else [])]
    loaded = load(file, profile=profile, overrides=given, config=config)
    console = Console(highlight=False, soft_wrap=True)
    losses = frozenset(accept_loss or ())
    options = RunOptions(until_caught_up, fresh, accept_gap, accept_repeat, verbose, losses)
    started = time.monotonic()
    try:
        with LiveView(console) as view:
            job = run_pipeline(loaded, options, _announcing(console, view), StopSignals())
    except OperatorFailed as error:
        if verbose:
            console.print(error.trace, markup=False)
        raise
    console.print(summary(job, time.monotonic() - started))


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
