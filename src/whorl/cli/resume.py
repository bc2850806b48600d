"""`whorl resume`: a job of the server goes on; or a pipeline as a savepoint has it, running in the foreground."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.foreground import run_in_foreground
from whorl.cli.options import AcceptLoss, BrokerOption, Config, Profile, Sets, UntilCaughtUp, Verbose
from whorl.cli.remote import SERVER, Remote, ServerOption, TokenOption, job_of
from whorl.config.framework import framework_settings
from whorl.config.loader import Loaded, load
from whorl.errors import PreflightFailed, UsageError
from whorl.jobs.changes import refused
from whorl.jobs.resume import on_former_hosts, resume_from
from whorl.jobs.runner import RunOptions, plan_of
from whorl.jobs.schemas import settle
from whorl.jobs.session import session_aside
from whorl.plan.plan import Plan
from whorl.savepoints.by_spark import by_spark
from whorl.savepoints.manifest import Manifest

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl resume orders/before-the-upgrade, or of a job: whorl resume orders")
def resume(
    of: Annotated[
        str,
        typer.Argument(
            metavar="ID|SAVEPOINT", help="A job; or a savepoint: PIPELINE/NAME, or its folder.", show_default=False
        ),
    ],
    savepoint: Annotated[
        str | None, typer.Option(help="Of a job: from this one; else from where it ended.", show_default=False)
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="The pipeline file; else the one it was taken of.", show_default=False)
    ] = None,
    until_caught_up: UntilCaughtUp = False,
    accept_loss: AcceptLoss = None,
    verbose: Verbose = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Let a job of the server go on; or run a pipeline from a savepoint: state and positions are what they were then."""
    if found := _job(of, savepoint, server, token):
        remote, id, chosen = found
        remote.act(id, "resume", {"savepoint": chosen})
        typer.echo(f"resumed '{id}'" + (f" from savepoint '{chosen}'" if chosen else ""))
        return
    if savepoint:
        raise UsageError(f"no job server has a job '{of}'", hint=f"'whorl resume {savepoint}' runs it in this terminal")
    given = [*(set_ or []), *([f"broker={broker}"] if broker else [])]
    accepted = frozenset(accept_loss or ())
    settings = (
        load(file, profile=profile, overrides=given, config=config).settings
        if file
        else framework_settings(profile, config, given)
    )
    with session_aside(settings, "resume") as session:
        folder, manifest = by_spark(session, settings.savepoints).find(of)
        loaded = load(_file(file, manifest, folder.path), profile=profile, overrides=given, config=config)
        plan = _checked(settle(loaded)[0], manifest, accepted)
        typer.echo(_before(manifest))
        resume_from(session, plan, folder, manifest)
    run_in_foreground(loaded, RunOptions(until_caught_up=until_caught_up, verbose=verbose, accept_loss=accepted))


def _job(of: str, savepoint: str | None, url: str | None, token: str | None) -> tuple[Remote, str, str | None] | None:
    """`PIPELINE/NAME` names a savepoint and the job that it is of; without a server being told it is run in this terminal."""
    job, slash, _ = of.partition("/")
    told = url or os.environ.get(SERVER)
    if slash and not told:
        return None
    found = job_of(job, url, token, at_work=False)
    return (*found, savepoint or (of if slash else None)) if found else None


def _file(given: Path | None, manifest: Manifest, where: str) -> Path:
    file = given or Path(manifest.file)
    if not file.is_file():
        raise UsageError(f"the pipeline file '{file}' of savepoint '{where}' is gone", hint="give one with --file")
    return file


def _checked(loaded: Loaded, manifest: Manifest, accepted: frozenset[str]) -> Plan:
    plan = plan_of(loaded)
    if plan.pipeline != manifest.pipeline:
        what = f"the savepoint is of pipeline '{manifest.pipeline}', '{loaded.spec.file}' is '{plan.pipeline}'"
        raise UsageError(what, hint="give the file of that pipeline with --file")
    saved = manifest.registration
    if findings := list(refused(on_former_hosts(plan, saved), saved, accepted)):
        raise PreflightFailed(findings)
    return plan


def _before(manifest: Manifest) -> str:
    taken = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(manifest.taken))
    return (
        f"resuming '{manifest.pipeline}' as it was at {taken}: {manifest.entries:,} entries of state\n"
        "what it has written since then is written again, and what it has kept since then is gone"
    )
