"""Processes that outlive the command that started them, and are known again by pid and time of start together.

A pid alone may by now belong to someone else; nothing here signals a process whose start does not fit.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    started: str
    """When, in the system's own words; with the pid it names a process for ever."""

    @property
    def alive(self) -> bool:
        _reap(self.pid)
        return bool(self.started) and _started(self.pid) == self.started

    @property
    def memory(self) -> int:
        """Resident bytes; 0 when it is gone."""
        return _resident(self.pid) if self.alive else 0

    def send(self, sign: signal.Signals) -> None:
        if self.alive:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sign)

    def ended_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.alive:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


def spawn(command: list[str], log: Path) -> Process:
    """Start it in a session of its own, everything it prints in `log`; what an earlier one printed moves to `log.1`."""
    if log.exists():
        log.replace(log.with_name(f"{log.name}.1"))
    out = (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    none = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    redirect = [none, out, (os.POSIX_SPAWN_DUP2, 1, 2)]
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=redirect, setsid=True)
    return Process(pid, _started(pid))


def _reap(pid: int) -> None:
    """A child of ours that ended stays a zombie until it is asked for."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _started(pid: int) -> str:
    """Empty when there is no such process, or only its zombie."""
    if not _PROC.is_dir():
        return _ask_ps(pid, "lstart")
    fields = _stat(pid)
    return "" if not fields or (fields[0] == "Z" and not _has_threads(pid)) else fields[19]


def _has_threads(pid: int) -> bool:
    """The first thread of a killed process may be a zombie while others still hold its ports and files."""
    with suppress(OSError):
        return len(os.listdir(_PROC / str(pid) / "task")) > 1
    return False


def _resident(pid: int) -> int:
    if not _PROC.is_dir():
        return int(_ask_ps(pid, "rss") or 0) * 1024
    fields = _stat(pid)
    return int(fields[21]) * os.sysconf("SC_PAGE_SIZE") if fields else 0


def _stat(pid: int) -> list[str]:
    """The fields after the command's name, which may itself hold blanks and brackets."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _ask_ps(pid: int, field: str) -> str:
    return subprocess.run(["ps", "-p", str(pid), "-o", f"{field}="], capture_output=True, text=True).stdout.strip()
