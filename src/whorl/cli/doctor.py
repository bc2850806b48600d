"""`whorl doctor`: what this machine has, what it lacks, and what to do about it."""

from __future__ import annotations

import typer

from whorl.cli.checkups import Diagnosis, Level, Patient, examine
from whorl.cli.options import BrokerOption, Config, Profile

app = typer.Typer(add_completion=False)
_COLOURS = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "red"}


@app.command(epilog="Example: whorl doctor --broker localhost:9092")
def doctor(broker: BrokerOption = None, profile: Profile = None, config: Config = None) -> None:
    """Look at Python, Java, Spark, jars, memory, disk, ports and the broker; exit 3 if something must be mended."""
    failed = 0
    for diagnosis in examine(Patient(broker, profile, config)):
        _tell(diagnosis)
        failed += diagnosis.level is Level.FAIL
    if failed:
        typer.echo(f"{failed} thing{'s' * (failed != 1)} to mend")
        raise typer.Exit(3)


def _tell(diagnosis: Diagnosis) -> None:
    level = typer.style(f"{diagnosis.level.value:<5}", fg=_COLOURS[diagnosis.level])
    typer.echo(f"{level} {diagnosis.what:<15} {diagnosis.told}")
    if diagnosis.remedy:
        typer.echo(f"{'':<21} → {diagnosis.remedy}")
