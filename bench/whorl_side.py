"""Whorl as its users run it: `whorl run FILE` in a process of its own, stopped with Ctrl-C."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.peers import Work
from bench.places import LOGS, PIPELINES, WHORL
from bench.processes import Member, Process, spark_files_in, temporary_folder

SPARK = re.compile(r"Spark application (\S+) on .*?(\d+ (?:tasks?|query|queries))", re.DOTALL)
DAEMON = "pyspark.daemon"


class Whorl:
    def __init__(self, pipeline: str, name: str = "whorl") -> None:
        self.name = name
        self._pipeline = pipeline

    def prepare(self) -> None:
        """Nothing: it is here."""

    def start(self, work: Work, stack: ExitStack) -> Sequence[Process]:
        process = stack.enter_context(run_whorl(self._pipeline, work, temporary_folder(stack)))
        stack.callback(process.interrupt)
        return [process]

    def describe(self, processes: Sequence[Process]) -> str:
        return spark_of("".join(process.log.read_text(errors="replace") for process in processes))


def spark_of(log: str) -> str:
    said = SPARK.search(log)
    return f"Spark application {said[1]}, {said[2]}" if said else "Spark application not named"


def run_whorl(pipeline: str, work: Work, folder: Path, *options: str, log: str = "", verb: str = "run") -> Process:
    """`pipeline` is a file of bench/pipelines; it takes names and topics from its environment."""
    command: tuple[str | Path, ...] = (WHORL, verb, PIPELINES / pipeline, "--broker", work.broker, *options)
    env = {"BENCH_NAME": work.name, "BENCH_SOURCE": work.source, "BENCH_SINK": work.sink}
    return Process(command, LOGS / f"{log or work.name}.log", env | spark_files_in(folder))


def jvm(process: Process) -> list[Member]:
    return [member for member in process.members() if "SparkSubmit" in member.command]


def daemons(process: Process) -> list[Member]:
    """The parents of Spark's Python workers."""
    java = {member.pid for member in jvm(process)}
    return [member for member in process.members() if DAEMON in member.command and member.parent in java]


def workers(process: Process) -> list[Member]:
    """Also those that outlived their daemon: Spark goes on with them, and starts another daemon only when it needs another worker."""
    parents = {member.pid for member in daemons(process)}
    return [member for member in process.members() if DAEMON in member.command and member.pid not in parents]
