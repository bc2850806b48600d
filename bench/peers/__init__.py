"""The systems that Whorl is measured beside, each set up as someone who knows it well would.

A peer copies or transforms one topic into another from the first record on, under a name that no earlier run had.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.failures import Skipped
from bench.jars import connector, streams_class_path
from bench.places import KEPT, LOGS, PEERS, PIPELINES, PYTHON
from bench.processes import Process, spark_files_in, temporary_folder

QUIX = "quixstreams==3.28.1"
QUIX_PROCESSES = 2
MAX_OFFSETS = 400_000
PER_BATCH = "100000"


@dataclass(frozen=True, slots=True)
class Work:
    """One run: read `source`, write `sink`, under a fresh `name`."""

    broker: str
    name: str
    source: str
    sink: str


class System(Protocol):
    name: str

    def prepare(self) -> None:
        """What is done once and not measured; raises Skipped."""

    def start(self, work: Work, stack: ExitStack) -> Sequence[Process]:
        """Starts the processes; the stack ends them and removes their files."""

    def describe(self, processes: Sequence[Process]) -> str:
        """What the run's own log says that belongs beside its figure."""


class Peer:
    def describe(self, processes: Sequence[Process]) -> str:
        return ""


class KafkaStreams(Peer):
    name = "kafka_streams"

    def __init__(self, program: str, **options: str) -> None:
        """`program` is a class of bench/peers; `options`: guarantee, commit (ms) and linger (ms), where they are not what throughput wants."""
        self._program = program
        self._options = tuple(f"-D{name}={value}" for name, value in options.items())

    def prepare(self) -> None:
        compiler = shutil.which("javac")
        if compiler is None:
            raise Skipped("no javac here: install a JDK to compare with Kafka Streams")
        classes = KEPT / "classes"
        classes.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [compiler, "-cp", streams_class_path(), "-d", classes, *PEERS.glob("*.java")], check=True, timeout=120
        )

    def start(self, work: Work, stack: ExitStack) -> Sequence[Process]:
        java = shutil.which("java") or "java"
        where = f"{KEPT / 'classes'}{os.pathsep}{streams_class_path()}"
        folder = temporary_folder(stack)
        arguments = (work.broker, work.name, work.source, work.sink, folder / "state")
        options = ("-Xms1g", "-Xmx1g", f"-Djava.io.tmpdir={folder}", *self._options, "-cp", where)
        command: list[str | Path] = [java, *options, self._program, *arguments]
        return [stack.enter_context(Process(command, LOGS / f"{work.name}.log"))]


class BareSpark(Peer):
    name = "bare_spark"

    def __init__(self, max_offsets: int = MAX_OFFSETS) -> None:
        self._max_offsets = max_offsets

    def prepare(self) -> None:
        connector()

    def start(self, work: Work, stack: ExitStack) -> Sequence[Process]:
        arguments = (work.broker, work.source, work.sink, temporary_folder(stack), connector(), str(self._max_offsets))
        log = LOGS / f"{work.name}.log"
        command = (PYTHON, PEERS / "bare_spark.py", *arguments)
        return [stack.enter_context(Process(command, log, spark_files_in(temporary_folder(stack))))]


class PerKey(Peer):
    """Spark's own state by key in Python, with the settings of the query benchmark."""

    name = "per_key"

    def prepare(self) -> None:
        connector()

    def start(self, work: Work, stack: ExitStack) -> Sequence[Process]:
        arguments = (work.broker, work.source, work.sink, temporary_folder(stack), connector(), "local[2]", PER_BATCH)
        command = (PYTHON, PEERS / "bare_query.py", "per_key", *arguments)
        # Else Spark's workers are of whatever Python comes first, which may lack what it needs.
        env = spark_files_in(temporary_folder(stack)) | {"PYSPARK_PYTHON": str(PYTHON)}
        return [stack.enter_context(Process(command, LOGS / f"{work.name}.log", env))]


class Quix(Peer):
    name = "quix"

    def __init__(self, kind: str) -> None:
        """`kind` of work, as quix_app.py names it."""
        self._kind = kind

    def prepare(self) -> None:
        self._python = own_environment("quix", QUIX)

    def start(self, work: Work, stack: ExitStack) -> Sequence[Process]:
        arguments = (self._kind, work.broker, work.name, work.source, work.sink)
        command = (self._python, PEERS / "quix_app.py", *arguments)
        env = {"PYTHONPATH": str(PIPELINES)}
        logs = [LOGS / f"{work.name}-{number}.log" for number in range(QUIX_PROCESSES)]
        return [stack.enter_context(Process((*command, temporary_folder(stack)), log, env)) for log in logs]


def own_environment(name: str, package: str) -> Path:
    """The Python of one that has this package, whose pins are not Whorl's; made where there is none. Raises Skipped."""
    folder = KEPT / name
    done, python = folder / f"{package}.installed", folder / "bin" / "python"
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        installed = subprocess.run([python, "-m", "pip", "install", "--quiet", package], timeout=600, check=False)
        if installed.returncode:
            raise Skipped(f"{package} could not be installed")
        done.touch()
    return python
