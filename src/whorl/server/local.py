"""Task managers of the server's own: processes that it starts when jobs wait for them, and that go on when it dies."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from whorl.server.managers import Manager

_JOINS_WITHIN = 60.0


@dataclass
class LocalManagers:
    url: str
    """Where the server answers."""
    folder: Path
    """Of their logs."""
    most: int = 4
    slots: int = 0
    extra: tuple[str, ...] = ()
    """Further arguments of `whorl taskmanager`."""
    environment: Mapping[str, str] = field(default_factory=dict)
    _started: dict[str, tuple[float, subprocess.Popen[bytes]]] = field(default_factory=dict)

    def may_start(self, known: Mapping[str, Manager]) -> int:
        living = sum(manager.hello.local and not manager.lost for manager in known.values())
        return max(self.most - living - self.coming(known), 0)

    def coming(self, known: Mapping[str, Manager]) -> int:
        for id, (at, process) in list(self._started.items()):
            joined_or_dead = id in known or process.poll() is not None
            if joined_or_dead or time.monotonic() - at > _JOINS_WITHIN:
                process.poll()
                self._started.pop(id)
        return len(self._started)

    def start(self, count: int) -> None:
        for _ in range(count):
            self._start(f"tm-{uuid.uuid4().hex[:6]}")

    def _start(self, id: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "whorl", "taskmanager", "--join", self.url, "--id", id, "--local", *self.extra]
        command += ["--slots", str(self.slots)] if self.slots else []
        with (self.folder / f"{id}.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, **self.environment},
            )
        self._started[id] = (time.monotonic(), process)
