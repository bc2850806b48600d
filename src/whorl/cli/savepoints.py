"""`whorl savepoints`: those that there are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from whorl.cli.options import Config, Profile, Sets
from whorl.cli.table import count, table
from whorl.config.framework import framework_settings
from whorl.config.settings import Settings
from whorl.jobs.session import session_aside
from whorl.savepoints.by_spark import by_spark
from whorl.savepoints.catalog import Catalog
from whorl.spark.local import LocalFolder
from whorl.units import format_size

app = typer.Typer(add_completion=False, no_args_is_help=True, help="List and delete savepoints.")
_COLUMNS = ("SAVEPOINT", "TAKEN", "COMPONENTS", "ENTRIES", "SIZE", "PIPELINE FILE")


@app.command("list", epilog="Example: whorl savepoints list")
def list_(
    pipeline: Annotated[str | None, typer.Argument(help="Only those of this pipeline.", show_default=False)] = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """List savepoints, oldest first."""
    settings = framework_settings(profile, config, set_ or ())
    with _catalog(settings) as catalog:
        found = list(catalog.all(pipeline))
    rows = [
        (
            f"{each.pipeline}/{each.name}",
            time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each.taken)),
            str(len(each.components) + len(each.queries)),
            f"{each.entries:,}",
            format_size(each.size),
            each.file,
        )
        for each in found
    ]
    if rows:
        typer.echo(table(_COLUMNS, rows))
    typer.echo(f"{count(len(rows), 'savepoint')} in '{settings.savepoints}'")


@app.command(epilog="Example: whorl savepoints delete orders/before-the-upgrade")
def delete(
    savepoint: Annotated[str, typer.Argument(help="PIPELINE/NAME, or its folder.", show_default=False)],
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Delete a savepoint."""
    settings = framework_settings(profile, config, set_ or ())
    with _catalog(settings, savepoint) as catalog:
        gone = catalog.delete(savepoint)
    typer.echo(f"deleted savepoint '{gone.name}' of '{gone.pipeline}', {format_size(gone.size)}")


@contextmanager
def _catalog(settings: Settings, savepoint: str = "") -> Iterator[Catalog[Any]]:
    """Spark is started only where its file systems are needed."""
    if LocalFolder.has(settings.savepoints) and LocalFolder.has(savepoint):
        yield Catalog(settings.savepoints, LocalFolder)
        return
    with session_aside(settings, "savepoints") as session:
        yield by_spark(session, settings.savepoints)
