"""A real PostgreSQL of Debian's package, on a free port of loopback, by a user without rights."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
USER = "nobody"


class PostgreSql:
    def __init__(self) -> None:
        # Not in a folder of pytest's, into which other users cannot go.
        self._folder = Path(tempfile.mkdtemp(prefix="whorl-postgresql-"))
        self._bin, self._data, self._log = BINARIES[-1], self._folder / "data", self._folder / "log"
        self._as: dict[str, Any] = {"user": USER} if os.getuid() == 0 else {}
        if self._as:
            shutil.chown(self._folder, USER)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        name = pwd.getpwuid(pwd.getpwnam(USER).pw_uid if self._as else os.getuid()).pw_name
        self.user = name
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", name, "--no-sync")

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        self._run("pg_ctl", "-D", str(self._data), "-l", str(self._log), "-o", options, "-w", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "-w", "stop")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def sql(self, text: str) -> list[list[str]]:
        command = [
            str(self._bin / "psql"),
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
            "-U",
            self.user,
            "-AtqX",
            "-F",
            "|",
            "-c",
            text,
            "postgres",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [line.split("|") for line in done.stdout.splitlines()]

    def await_(self, text: str, wanted: list[list[str]], seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while (found := self.sql(text)) != wanted:
            assert time.monotonic() < until, found
            time.sleep(0.2)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._bin / program), *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            **self._as,
        )
        assert done.returncode == 0, done.stderr
