"""`whorl test`: the cases beside pipelines, without Spark, Java or a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.options import Config, Profile, Sets
from whorl.config.loader import load
from whorl.errors import CheckFailed
from whorl.flow.check import checked
from whorl.plan.planner import make_plan
from whorl.testing.cases import Located, read_cases
from whorl.testing.run_case import run_case

app = typer.Typer()


@app.command(epilog="Example: whorl test pipeline.yaml")
def test(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Pipeline files.", show_default=False)],
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Run the cases beside pipelines: NAME.test.yaml and tests/*.yaml. Exit 1 if one fails."""
    passed = failed = wrong = 0
    for file in map(_pipeline, files):
        loaded = load(file, profile=profile, overrides=set_ or (), config=config)
        try:
            plan = make_plan(checked(loaded), loaded.settings)
            cases = read_cases(file, plan)
        except CheckFailed as error:
            typer.echo(str(error))
            wrong += 1
            continue
        for located in cases:
            lines = run_case(plan, file, located.case)
            _show(file, located, lines)
            passed, failed = passed + (not lines), failed + bool(lines)
    typer.echo(f"{passed} passed, {failed} failed")
    if failed or wrong:
        raise typer.Exit(1)


def _pipeline(file: Path) -> Path:
    """A case file stands for its pipeline."""
    stem = file.stem
    return file.with_name(stem.removesuffix(".test") + file.suffix) if stem.endswith(".test") else file


def _show(file: Path, located: Located, lines: tuple[str, ...]) -> None:
    if not lines:
        typer.echo(f"pass  {file}: {located.name}")
        return
    typer.echo(f"FAIL  {file}: {located.name}  ({located.at})")
    for line in lines:
        typer.echo(f"      {line}")
