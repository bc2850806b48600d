"""`whorl serve`: the job server, on one port."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
import uvicorn

from whorl.cli.options import BrokerOption
from whorl.cli.protection import AllowHostOption, CertOption, KeyOption, TokensOption, protection
from whorl.config.framework import framework_settings
from whorl.server.app import create_app
from whorl.server.service import JobServer, ServerOptions

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl serve --port 8765 --data .whorl/server")
def serve(
    port: Annotated[int, typer.Option(help="Where it answers.")] = 8765,
    host: Annotated[str, typer.Option(help="The address it listens on.")] = "127.0.0.1",
    data: Annotated[Path, typer.Option(metavar="DIR", help="Its jobs, bundles and logs.")] = Path(".whorl/server"),
    task_managers: Annotated[int, typer.Option(min=0, help="The most that it starts itself, when jobs wait.")] = 4,
    slots: Annotated[int, typer.Option(min=0, help="Of each of those; else 8 for each core.")] = 0,
    heartbeat: Annotated[float, typer.Option(min=0.1, help="Seconds; three missed: a task manager is dead.")] = 1.0,
    idle_timeout: Annotated[float, typer.Option(min=1, help="Seconds after which one without a job ends.")] = 60.0,
    hang_timeout: Annotated[
        float, typer.Option(min=1, help="Seconds after which one whose work does not move is given up.")
    ] = 300.0,
    ha: Annotated[
        str, typer.Option(metavar="URL", help="zookeeper://host:port/path: one of several leads.", show_default=False)
    ] = "",
    session_timeout: Annotated[float, typer.Option(min=1, help="Seconds after which a standby takes over.")] = 10.0,
    broker: BrokerOption = None,
    tokens: TokensOption = None,
    allow_host: AllowHostOption = None,
    tls_cert: CertOption = None,
    tls_key: KeyOption = None,
) -> None:
    """Run the job server: jobs under supervision, with REST and a web UI. It finds its jobs again; they go on while it is away."""
    guarded = protection(host, tokens, allow_host, tls_cert, tls_key)
    url = guarded.url(host, port)
    options = ServerOptions(
        data,
        url,
        broker,
        heartbeat,
        task_managers,
        slots,
        idle_timeout,
        hang_timeout,
        extra=guarded.extra,
        environment=guarded.environment,
        ha=ha or framework_settings().ha or "",
        session_timeout=session_timeout,
    )
    data.mkdir(mode=0o700, parents=True, exist_ok=True)  # settings of jobs are in it, secrets included
    server = JobServer(options).start()
    typer.echo(f"job server on {url}, jobs in {data}")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))  # uvicorn raises again what ended it, which is a clean end
    try:
        made = create_app(server, guarded.access, guarded.hosts)
        uvicorn.run(made, host=host, port=port, log_level="warning", access_log=False, **guarded.uvicorn)
    finally:
        server.close()
