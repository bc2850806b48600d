"""`whorl run`: a pipeline in the foreground, until it is stopped (Ctrl-C, SIGTERM), has caught up, or fails."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.foreground import run_in_foreground
from whorl.cli.options import (
    AcceptLoss,
    BrokerOption,
    Config,
    LogFormat,
    LogLevel,
    Profile,
    Sets,
    UntilCaughtUp,
    UntilQuiet,
    Verbose,
    logging_sets,
)  # fmt: skip
from whorl.config.loader import load
from whorl.jobs.runner import RunOptions

app = typer.Typer()


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="The pipeline file.", show_default=False)],
    until_caught_up: UntilCaughtUp = False,
    until_quiet: UntilQuiet = False,
    master: Annotated[str | None, typer.Option(help="Spark master: local, local[n], spark://host:port.")] = None,
    fresh: Annotated[bool, typer.Option(help="Forget this pipeline's positions and start over.")] = False,
    accept_gap: Annotated[bool, typer.Option(help="Go on where records are gone from Kafka.")] = False,
    accept_repeat: Annotated[
        bool, typer.Option(help="Go on from a query's checkpoint that is older than what it wrote.")
    ] = False,
    accept_loss: AcceptLoss = None,
    verbose: Verbose = False,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Run a pipeline in the foreground. Example: whorl run pipeline.yaml --until-caught-up"""
    given = [*(set_ or []), *([f"broker={broker}"] if broker else []), *([f"master={master}"] if master else [])]
    given += logging_sets(log_level, log_format)
    loaded = load(file, profile=profile, overrides=given, config=config)
    losses = frozenset(accept_loss or ())
    options = RunOptions(until_caught_up, until_quiet, fresh, accept_gap, accept_repeat, verbose, losses)
    run_in_foreground(loaded, options)
