"""`whorl logs`: what a job has said."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from whorl.cli.remote import JobId, Remote, ServerOption, TokenOption, server_of
from whorl.errors import Unavailable
from whorl.server.schemas import LogLine

app = typer.Typer(add_completion=False)
_POLL = 20.0
_AGAIN = 1.0


@app.command(epilog="Example: whorl logs orders -f")
def logs(
    id: JobId,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with new lines until Ctrl-C.")] = False,
    lines: Annotated[int, typer.Option("-n", "--lines", min=1, max=10_000, help="How many of the newest.")] = 200,
    json: Annotated[bool, typer.Option("--json", help="As JSON, one line each.")] = False,
    server: ServerOption = None,
    token: TokenOption = None,
) -> None:
    """Show the log of a job, the newest lines last."""
    remote, after = server_of(server, token), 0
    try:
        after = _show(remote.get(f"/jobs/{id}/logs", limit=lines), after, json)
        while follow:
            after = _more(remote, id, after, json)
    except KeyboardInterrupt:
        return


def _more(remote: Remote, id: str, after: int, json: bool) -> int:
    """A server that restarts is waited for."""
    try:
        return _show(remote.get(f"/jobs/{id}/logs", after=after, wait=_POLL), after, json)
    except Unavailable:
        time.sleep(_AGAIN)
        return after


def _show(found: list[dict[str, object]], after: int, json: bool) -> int:
    for each in found:
        line = LogLine.model_validate(each)
        typer.echo(line.model_dump_json() if json else _written(line))
        after = line.number
    return after


def _written(line: LogLine) -> str:
    at = time.strftime("%H:%M:%S", time.localtime(line.at))
    of = f" {line.component}" if line.component else ""
    batch = f" batch {line.batch}" if line.batch is not None else ""
    return f"{at} {line.level.upper():<7}{of}{batch}: {line.message}"
