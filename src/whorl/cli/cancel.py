"""`whorl cancel`: a job ends at once."""

from __future__ import annotations

import typer

from whorl.cli.remote import JobId, ServerOption, TokenOption, server_of

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl cancel orders")
def cancel(id: JobId, server: ServerOption = None, token: TokenOption = None) -> None:
    """End a job at once, without a savepoint. 'whorl resume' goes on from its last commit."""
    server_of(server, token).act(id, "cancel")
    typer.echo(f"canceled '{id}'")
