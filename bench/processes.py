"""Processes that a benchmark starts: each in a session of its own, so that nothing of it outlives the benchmark.

A session keeps its members even when they change group or lose their parent, as Spark's Python workers do.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType

from bench.failures import ProcessFailed

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Member:
    """A process of a session as the kernel shows it."""

    pid: int
    parent: int
    session: int
    command: str


class Process:
    def __init__(self, command: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        with log.open("wb") as output:
            self._child = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._child.pid

    def members(self) -> list[Member]:
        return [member for member in all_processes() if member.session == self.pid]

    def ended(self) -> int | None:
        return self._child.poll()

    def check(self) -> None:
        """Raises if the process has ended."""
        if (code := self.ended()) is not None:
            raise ProcessFailed(f"{self.log.stem} ended with exit code {code}; the end of {self.log}:\n{self.tail()}")

    def wait(self, timeout: float) -> int:
        try:
            return self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            raise ProcessFailed(f"{self.log.stem} did not end in {timeout:g} s; its log:\n{self.tail()}") from None

    def tail(self, lines: int = 25) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def interrupt(self, timeout: float = 20) -> int | None:
        """Ctrl-C for the leader, then whatever is left is killed. Its exit code, None if it did not end by itself."""
        if self.ended() is None:
            self._child.send_signal(signal.SIGINT)
        try:
            return self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.kill()

    def kill(self) -> None:
        """kill -9 for every member until none is left."""
        deadline = time.monotonic() + 10
        while (members := self.members()) and time.monotonic() < deadline:
            for member in members:
                send(member.pid, signal.SIGKILL)
            self._child.poll()
            time.sleep(0.02)
        self._child.wait(10)

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def all_processes() -> list[Member]:
    """Zombies are left out: they run nothing and only wait for their parent."""
    return [member for entry in PROC.iterdir() if entry.name.isdigit() and (member := _member(entry))]


def send(pid: int, number: signal.Signals) -> bool:
    """False if there is no such process any more."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def temporary_folder(stack: ExitStack) -> Path:
    """A new folder that goes when the stack closes."""
    folder = Path(mkdtemp(prefix="whorl-bench-"))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder


def spark_files_in(folder: Path) -> dict[str, str]:
    """The environment in which Spark and Python keep their temporary files there: one that is killed cannot remove them."""
    place = str(folder)
    return {"TMPDIR": place, "SPARK_LOCAL_DIRS": place, "JDK_JAVA_OPTIONS": f"-Djava.io.tmpdir={place}"}


def memory_mb(members: Sequence[Member]) -> float:
    """Proportional share: pages shared between forked workers count once."""
    return sum(_pss_kb(member.pid) for member in members) / 1024


def resident_mb(members: Sequence[Member], kind: str = "VmRSS") -> float:
    """`kind` as the kernel names it: all that is in memory (VmRSS), or only what is the processes' own (RssAnon) and no page of a file."""
    return sum(_status_kb(member.pid, kind) for member in members) / 1024


def cpu_seconds(members: Sequence[Member]) -> float:
    return sum(_cpu_ticks(member.pid) for member in members) / os.sysconf("SC_CLK_TCK")


def _member(entry: Path) -> Member | None:
    try:
        head, _, rest = (entry / "stat").read_text().rpartition(")")
        command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, parent, _, session = rest.split()[:4]
    return None if state in "ZX" else Member(int(head.split()[0]), int(parent), int(session), command)


def _pss_kb(pid: int) -> int:
    return _kb_in(PROC / str(pid) / "smaps_rollup", "Pss")


def _status_kb(pid: int, kind: str) -> int:
    return _kb_in(PROC / str(pid) / "status", kind)


def _kb_in(file: Path, name: str) -> int:
    try:
        lines = file.read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)


def _cpu_ticks(pid: int) -> int:
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(fields[11]) + int(fields[12])
