"""`whorl taskmanager`: a process that runs jobs for a job server, of this machine or another."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from whorl.manager.agent import Agent
from whorl.manager.client import Server
from whorl.server.orders import Ended, Run

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl taskmanager --join http://127.0.0.1:8765 --slots 8")
def taskmanager(
    join: Annotated[str, typer.Option(metavar="URL", help="The job server; several by comma.", show_default=False)],
    slots: Annotated[int, typer.Option(min=0, help="Long tasks that it takes at once; else 8 for each core.")] = 0,
    id: Annotated[str, typer.Option(help="Its name; else one is made.", show_default=False)] = "",
    local: Annotated[bool, typer.Option(hidden=True)] = False,
    ca: Annotated[str, typer.Option(help="Certificates to trust, a file.", show_default=False)] = "",
) -> None:
    """Run jobs for a job server: one at a time, each in a Spark driver of its own. WHORL_TOKEN holds the token, where one is needed."""
    name = id or f"tm-{uuid.uuid4().hex[:6]}"
    server = Server(join.split(","), verify=ca or True)
    again = ["taskmanager", "--join", join, "--id", name, "--ca", ca]
    again += [*(["--slots", str(slots)] if slots else []), *(["--local"] if local else [])]
    agent = Agent(server, name, slots or 8 * (os.cpu_count() or 1), local, again)
    _leave_on_signals(agent)
    order = agent.await_order()
    if order is None:
        return
    agent.serve(order, _Work())
    if not agent.wants_to_leave:
        agent.start_anew()


class _Work:
    """Imported when there is something to do, as Spark takes a hundred megabytes; and beside the heartbeat, as that takes seconds."""

    _NAME = "whorl.manager.work"

    def perform(self, order: Run, folder: Path, agent: Agent) -> Ended:
        done: Ended = import_module(self._NAME).perform(order, folder, agent)
        return done

    def drop(self) -> None:
        if self._NAME in sys.modules:
            import_module(self._NAME).drop()


def _leave_on_signals(agent: Agent) -> None:
    """The job ends at a commit and goes to another task manager; a second signal ends at once."""

    def take(number: int, frame: FrameType | None) -> None:
        if agent.wants_to_leave:
            raise KeyboardInterrupt
        agent.wants_to_leave = agent.wants_to_stop = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, take)
