"""`whorl submit`: a pipeline becomes a job of the server, with the files beside it as they are now."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.options import PipelineFile, Profile, Sets
from whorl.cli.remote import ServerOption, TokenOption, server_of
from whorl.cli.table import count
from whorl.config.layers import CONFIG, PROFILE_VARIABLE, find_config
from whorl.errors import UsageError
from whorl.server.bundles import Submission
from whorl.server.schemas import Job

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl submit pipeline.yaml --name orders --set tasks=4")
def submit(
    file: PipelineFile,
    name: Annotated[str | None, typer.Option(help="Of the job; else the pipeline's.", show_default=False)] = None,
    profile: Profile = None,
    set_: Sets = None,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Submit a pipeline to the job server. Files and Python modules beside it go along: an edit on disk does not change the job."""
    if not file.is_file():
        raise UsageError(f"there is no file '{file}'", hint="name a pipeline file")
    bundle = bundled(file)
    given = {"name": name, "profile": profile or os.environ.get(PROFILE_VARIABLE), "set": set_}
    query = {"file": bundle.file, **{key: value for key, value in given.items() if value}}
    remote = server_of(server, token)
    job = Job.model_validate(remote.upload("/jobs", bundle.pack(), **query))
    typer.echo(f"job {job.id}: '{job.pipeline}', {count(len(bundle.files), 'file')}, {job.status.lower()}")
    typer.echo(f"see it: whorl job {job.id}")


def bundled(file: Path) -> Submission:
    """With the whorl.yaml that is in force, also where it is in a folder above."""
    bundle, config = Submission.of(file), find_config(str(file))
    if config is None or CONFIG in bundle.files:
        return bundle
    return replace(bundle, files={**bundle.files, CONFIG: Path(config).read_bytes()})
