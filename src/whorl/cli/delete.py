"""`whorl delete`: the server forgets a job."""

from __future__ import annotations

import typer

from whorl.cli.remote import JobId, ServerOption, TokenOption, server_of

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl delete orders")
def delete(id: JobId, server: ServerOption = None, token: TokenOption = None) -> None:
    """Forget a job that does not run. What it wrote, its topics and its savepoints stay."""
    server_of(server, token).delete(f"/jobs/{id}")
    typer.echo(f"deleted job '{id}'")
