"""Options that several verbs share, spelled once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PipelineFile = Annotated[Path, typer.Argument(metavar="FILE", help="The pipeline file.", show_default=False)]
Of = Annotated[str, typer.Argument(metavar="FILE|NAME", help="Pipeline file or pipeline name.", show_default=False)]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="NAME", help="Profile of whorl.yaml; WHORL_PROFILE says it too.", show_default=False
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting; may be repeated.", show_default=False),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="The whorl.yaml to use instead of the one found.", show_default=False
    ),
]
UntilCaughtUp = Annotated[bool, typer.Option(help="End when all that is there now has been processed.")]
UntilQuiet = Annotated[
    bool,
    typer.Option(help="End when nothing is left to do: no record to read, none going round, no timer to wait for."),
]
AcceptLoss = Annotated[
    list[str] | None,
    typer.Option(metavar="OPERATOR", help="Leave behind what this operator has kept; may be repeated."),
]
LogLevel = Annotated[
    str | None, typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning or error.", show_default=False)
]
LogFormat = Annotated[
    str | None,
    typer.Option(
        "--log-format", metavar="FORMAT", help="text or json: lines of a log instead of tables.", show_default=False
    ),
]
Verbose = Annotated[bool, typer.Option(help="Show Spark's warnings and whole stack traces.")]
BrokerOption = Annotated[
    str | None,
    typer.Option(
        "--broker",
        metavar="HOST:PORT",
        help="Kafka's address; else that of the settings, else this folder's own broker.",
        show_default=False,
    ),
]


def logging_sets(level: str | None, format: str | None) -> list[str]:
    """As `--set` would say it."""
    return [*([f"logging.level={level}"] if level else []), *([f"logging.format={format}"] if format else [])]
