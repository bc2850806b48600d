"""`whorl serve` as a user starts it, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
from tests.jobs.running import eventually

from whorl.broker.ports import free_port
from whorl.server.bundles import Submission


class Serving:
    def __init__(self, data: Path, broker: str, *options: str, port: int = 0) -> None:
        self.port = port or free_port(set())
        self.url = f"http://127.0.0.1:{self.port}"
        self.data, self._broker, self._options = data, broker, options
        self.http = httpx.Client(base_url=self.url, timeout=60)
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "whorl", "serve", "--port", str(self.port), "--data", str(self.data)]
        self.log = self.data.parent / f"serve-{self.port}.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--broker", self._broker, *self._options], cwd=self.data.parent, stdout=log, stderr=log
            )
        eventually(self._answers, 60, "the server answers")

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.http.get("/healthz").is_success
        except httpx.HTTPError:
            return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Cleanly; jobs go on."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0, self.log.read_text()

    def end(self) -> None:
        """With all task managers that were started for it, also those that it has given up."""
        if self.process.poll() is None:
            self.kill()
        for command in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = command.read_bytes().split(b"\0")
                if b"taskmanager" in words and self.url.encode() in words:
                    end_session(int(command.parent.name))

    def leads(self) -> bool:
        return self.http.get("/readyz").is_success

    # -- what people ask --------------------------------------------------------------------------------------------------------------

    def ask(self, method: str, path: str, **given: Any) -> Any:
        response = self.http.request(method, path, **given)
        assert response.is_success, response.text
        return response.json() if response.content else None

    def submit(self, file: Path, *settings: str) -> str:
        files = Submission.of(file).files
        sent = [("file", (path, content)) for path, content in files.items()]
        job = self.ask("POST", "/jobs", files=sent, params={"file": file.name, "set": list(settings)})
        return str(job["id"])

    def job(self, id: str) -> dict[str, Any]:
        return dict(self.ask("GET", f"/jobs/{id}"))

    def until(self, id: str, status: str, within: float = 400) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            job = self.job(id)
            assert job["status"] in (status, "CREATED", "RUNNING", "RESTARTING"), job["reason"]
            return job if job["status"] == status else None

        return dict(eventually(reached, within, f"job {id} is {status}"))

    def act(self, id: str, verb: str, within: float = 400, **body: Any) -> dict[str, Any]:
        """Begun, and awaited."""
        operation = self.ask("POST", f"/jobs/{id}/{verb}", json=body)

        def done() -> dict[str, Any] | None:
            now = self.ask("GET", f"/jobs/{id}/operations/{operation['id']}")
            assert now["status"] != "FAILED", now["problem"]
            return dict(now) if now["status"] == "DONE" else None

        return dict(eventually(done, within, f"{verb} of {id}"))

    def manager_of(self, id: str) -> dict[str, Any]:
        """The task manager that runs the job."""
        found: Callable[[], Any] = lambda: [  # noqa: E731
            each for each in self.ask("GET", "/taskmanagers") if each["job"] == id and each["status"] == "busy"
        ]
        return dict(eventually(found, 30, f"a task manager runs {id}")[0])


def end_session(pid: int) -> None:
    """A task manager with Spark and all below it."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == pid:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (OSError, ValueError):
            continue
