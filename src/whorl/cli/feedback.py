"""`whorl feedback`: what could be better in how a pipeline runs, and which setting changes it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.options import BrokerOption, Config, Of, Profile, Sets
from whorl.cli.table import count
from whorl.config.framework import framework_settings
from whorl.config.loader import load
from whorl.config.modules import is_module
from whorl.errors import UsageError
from whorl.feedback.evidence import Advice
from whorl.feedback.gather import gathered
from whorl.feedback.rules import advice
from whorl.jobs.address import clients_at
from whorl.jobs.runner import plan_of
from whorl.jobs.schemas import settle
from whorl.kafka.topics import Cluster
from whorl.tasks.register import registration_of

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl feedback pipeline.yaml")
def feedback(
    of: Of,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Look at how a pipeline runs, or has run in the last hour, and say what to change. It changes nothing."""
    file = of if Path(of).is_file() or is_module(of) else _file_of(of, broker, profile, set_, config)
    loaded = load(file, profile=profile, overrides=set_ or (), config=config)
    cluster = Cluster(clients_at(broker, loaded.settings))
    plan = plan_of(settle(loaded, cluster)[0])
    found = advice(gathered(cluster, plan))
    if as_json:
        typer.echo(json.dumps([asdict(each) for each in found], indent=2))
        return
    for each in found:
        typer.echo(told(each))
    typer.echo(f"{plan.pipeline}: {count(len(found), 'finding')}" if found else f"{plan.pipeline}: nothing to change")


def told(each: Advice) -> str:
    where = f"{each.component}: " if each.component else ""
    return f"[{each.rule}] {where}{each.finding}\n  seen    {each.evidence}\n  change  {each.setting}: {each.change}\n"


def _file_of(name: str, broker: str | None, profile: str | None, sets: list[str] | None, config: Path | None) -> str:
    """The register knows what a pipeline was last started from."""
    cluster = Cluster(clients_at(broker, framework_settings(profile, config, sets or ())))
    file = registration_of(cluster.clients, cluster.partition_counts(), name).file
    if not Path(file).is_file():
        what = f"the file of pipeline '{name}', '{file}', is not here"
        raise UsageError(what, hint="name the pipeline's file", code="file")
    return file
