"""The two sides of the query benchmark: Whorl by `whorl run`, and the same work in hand-written PySpark."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from bench.jars import connector
from bench.peers import Work
from bench.places import LOGS, PEERS, PYTHON
from bench.processes import Process, spark_files_in, temporary_folder
from bench.whorl_side import run_whorl, spark_of

SPARE = 2
"""Slots beside those that a query needs, as `whorl run` has them."""
Guarantee = Literal["at_least_once", "exactly_once"]


@dataclass(frozen=True, slots=True)
class QueryWork:
    """One run, with what both sides have alike."""

    work: Work
    checkpoints: Path
    slots: int
    max_per_batch: int | None = None

    @property
    def master(self) -> str:
        return f"local[{self.slots}]"


class Side(Protocol):
    name: str

    def start(self, run: QueryWork, stack: ExitStack) -> Process:
        """The stack ends it and removes its files."""

    def describe(self, process: Process) -> str: ...


class Bare:
    def __init__(self, kind: str) -> None:
        self.name = "bare"
        self._kind = kind

    def start(self, run: QueryWork, stack: ExitStack) -> Process:
        work = run.work
        arguments = (work.broker, work.source, work.sink, run.checkpoints, connector(), run.master)
        command = (PYTHON, PEERS / "bare_query.py", self._kind, *arguments, str(run.max_per_batch))
        files = spark_files_in(temporary_folder(stack))
        return stack.enter_context(Process(command, LOGS / f"{work.name}.log", files))

    def describe(self, process: Process) -> str:
        return ""


class WhorlQuery:
    def __init__(self, pipeline: str, guarantee: Guarantee) -> None:
        self.name: str = guarantee
        self._pipeline = pipeline

    def start(self, run: QueryWork, stack: ExitStack) -> Process:
        most = {"max_per_batch": run.max_per_batch} if run.max_per_batch else {}
        settings = {"guarantee": self.name, "checkpoints": run.checkpoints, **most}
        options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        folder = temporary_folder(stack)
        process = stack.enter_context(run_whorl(self._pipeline, run.work, folder, "--master", run.master, *options))
        stack.callback(process.interrupt)
        return process

    def describe(self, process: Process) -> str:
        return spark_of(process.log.read_text(errors="replace"))


def slots_for_batches() -> int:
    return (os.cpu_count() or 1) + SPARE
