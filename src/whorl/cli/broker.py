"""`whorl broker start|stop|status`: the embedded Kafka in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from whorl.broker import DEFAULT_FOLDER, DEFAULT_HEAP, Broker, NodeStatus
from whorl.errors import WorldError
from whorl.jvm.jars import Progress as JarProgress
from whorl.units import format_size

app = typer.Typer(help="Start, stop and show the embedded Kafka broker.", no_args_is_help=True)
out = Console(highlight=False, soft_wrap=True)

Data = Annotated[Path, typer.Option("--data", help="The folder that holds the broker's data.")]


@app.command()
def start(
    data: Data = DEFAULT_FOLDER,
    port: Annotated[
        int | None, typer.Option(help="Port of the first node, the others follow; free ones if not given.")
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, max=9, help="Nodes of the cluster; 1 in a new folder.")] = None,
    heap: Annotated[str, typer.Option(help="Java heap of each node.")] = DEFAULT_HEAP,
) -> None:
    """Start a real Kafka in the background and wait until it answers."""
    running = Broker.find(data) is not None
    with waiting("starting the broker") as progress:
        broker = Broker.start(data, nodes=nodes, port=port, heap=heap, progress=progress)
    out.print(f"broker {'runs already' if running else 'started'} at [bold]{broker.address}[/]")
    out.print(f"data in {broker.data}; it runs until: whorl broker stop{_option(data)}")


@app.command()
def stop(data: Data = DEFAULT_FOLDER) -> None:
    """Stop it; its data stays."""
    broker = Broker.find(data)
    if broker is None:
        out.print(f"no broker runs in {data}")
        return
    with waiting("stopping the broker"):
        broker.stop()
    out.print(f"broker stopped; its data stays in {broker.data}")


@app.command()
def status(data: Data = DEFAULT_FOLDER) -> None:
    """Show address and nodes; exit code 3 if none runs."""
    broker = Broker.find(data)
    if broker is None:
        raise WorldError(
            f"no broker runs in '{data}'", code="broker-missing", hint=f"whorl broker start{_option(data)}"
        )
    found = broker.status()
    out.print(f"broker at [bold]{found.address}[/], data in {found.data}")
    for node in found.nodes:
        out.print(_line(node))


def _line(node: NodeStatus) -> str:
    if not node.alive:
        return f"  node {node.id}  port {node.port}  [red]not running[/]  log {node.log}"
    return f"  node {node.id}  port {node.port}  [green]running[/]  pid {node.pid}  memory {format_size(node.memory)}"


def _option(data: Path) -> str:
    return "" if data == DEFAULT_FOLDER else f" --data {data}"


@contextmanager
def waiting(what: str) -> Iterator[JarProgress]:
    """A pulsing bar; one that fills while jars have to be downloaded."""
    with Progress(
        BarColumn(), TextColumn("{task.description}"), console=out, transient=True, disable=not out.is_terminal
    ) as bar:
        task = bar.add_task(what, total=None)

        def show(done: int, total: int, name: str) -> None:
            busy = done < total
            description = f"downloading jars {done}/{total} {name}" if busy else what
            bar.update(task, completed=done, total=total if busy else None, description=description)

        yield show
