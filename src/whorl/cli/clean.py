"""`whorl clean`: deletes what former lives of pipelines have left behind."""

from __future__ import annotations

from typing import Annotated

import typer

from whorl.cli.options import BrokerOption, Config, Profile, Sets
from whorl.cli.table import count, table
from whorl.config.framework import framework_settings, named
from whorl.jobs.address import clients_at
from whorl.jobs.cleaning import cleaning
from whorl.kafka.topics import Cluster
from whorl.units import format_duration

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl clean --dry-run")
def clean(
    pipeline: Annotated[
        str | None, typer.Argument(metavar="[FILE|NAME]", help="Only this pipeline's.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Delete checkpoints and topics of former lives, and savepoints past their time: never what a running job or a savepoint needs."""
    name, settings = (
        named(pipeline, profile, set_ or (), config)
        if pipeline
        else (None, framework_settings(profile, config, set_ or ()))
    )
    with cleaning(Cluster(clients_at(broker, settings)), settings) as cleaner:
        found = cleaner.found(name)
        if not dry_run:
            cleaner.delete(found)
    if found:
        rows = [(each.kind, each.pipeline, each.name, format_duration(round(each.age))) for each in found]
        typer.echo(table(("KIND", "PIPELINE", "NAME", "AGE"), rows))
    kept = format_duration(settings.cleaner.retention)
    typer.echo(f"{count(len(found), 'leftover')} {'would be ' * dry_run}deleted; what is younger than {kept} is kept")
