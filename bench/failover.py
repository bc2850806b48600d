"""kill -9 of the task manager that runs a job, again and again under load: how soon it runs elsewhere, and whether every record is there.

A start is measured from `POST /jobs` or a resume to the first record that it commits, a recovery from the kill to the first one of the new
task manager. The judge is a `read_committed` consumer that shares nothing with Whorl.
"""

from __future__ import annotations

import signal
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

import httpx

from bench.cluster import cluster
from bench.failures import BenchFailed, FeederFailed, TooSlow
from bench.killing import STUCK_S, add_kill_options
from bench.peers import Work
from bench.places import LOGS, PIPELINES, WHORL
from bench.processes import Process, all_processes, send, spark_files_in, temporary_folder
from bench.sequences import Feeder, judge, numbered, numbers
from bench.topics import Topics
from whorl.broker.ports import free_port

STARTS = 3
HEARTBEATS_S = 3.0
START_TIMES = 2


def add_options(parser: ArgumentParser) -> None:
    add_kill_options(parser, records=50_000, rate=2_000)


def main(options: Namespace) -> int:
    name = f"failover-{uuid4().hex[:8]}"
    with cluster() as broker, ExitStack() as stack:
        topics = Topics(broker.address)
        work = Work(broker.address, name, f"{name}-in", f"{name}-out")
        topics.create(work.source, work.sink)
        feeder = Feeder(broker.address, work.source, options.rate, numbered)
        stack.callback(feeder.stop)
        server = stack.enter_context(_Server(work, temporary_folder(stack), topics))
        starts = server.starts(STARTS)
        recoveries = [server.kill_and_recover(number) for number in range(1, options.kills + 1)]
        sent = feeder.finish(options.records)
        server.await_end(sum(sent.values()))
        server.act("stop", savepoint=False)
        if not judge(sent, numbers(topics.read(work.source))).clean:
            raise FeederFailed("the source topic itself is not what was sent")
        verdict = judge(sent, numbers(topics.read(work.sink, timeout=300)))
    start, recover = median(starts), median(recoveries)
    allowed = HEARTBEATS_S + START_TIMES * start
    print(f"starts {_listed(starts)} recoveries {_listed(recoveries)} allowed {allowed:.1f}")
    print(
        f"failover kills={options.kills} lost={verdict.lost} doubled={verdict.doubled} "
        f"recover_s_p50={recover:.1f} start_s_p50={start:.1f}"
    )
    return 0 if verdict.clean and recover <= allowed else 1


def _listed(seconds: list[float]) -> str:
    return ",".join(f"{each:.1f}" for each in seconds)


class _Server:
    """`whorl serve` with one job."""

    def __init__(self, work: Work, folder: Path, topics: Topics) -> None:
        self._work, self._topics, self._file = work, topics, PIPELINES / "forward.yaml"
        port = free_port(set())
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
        env = {"BENCH_NAME": work.name, "BENCH_SOURCE": work.source, "BENCH_SINK": work.sink}
        where = ["--port", str(port), "--data", str(folder / "server"), "--broker", work.broker]
        self._process = Process([WHORL, "serve", *where], LOGS / f"{work.name}-serve.log", env | spark_files_in(folder))
        self._job = ""

    def __enter__(self) -> _Server:
        self._await(self._answers, "the server answers")
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(httpx.HTTPError, BenchFailed):
            for manager in self._ask("GET", "/taskmanagers"):
                for member in all_processes():
                    if member.session == manager["pid"]:
                        send(member.pid, signal.SIGKILL)
        self._process.kill()

    def starts(self, count: int) -> list[float]:
        """Of a new job, then of one that is resumed."""
        began = time.monotonic()
        sent = self._file.read_bytes()
        headers = {"content-type": "application/yaml"}
        self._job = self._ask("POST", "/jobs", content=sent, headers=headers)["id"]
        taken = [self._until_records_flow(began)]
        for _ in range(count - 1):
            self.act("stop", savepoint=False)
            began = time.monotonic()
            self.act("resume")
            taken.append(self._until_records_flow(began))
        return taken

    def kill_and_recover(self, number: int) -> float:
        self._await(lambda: self._job_now()["status"] == "RUNNING", "the job runs")
        [victim] = [
            each for each in self._ask("GET", "/taskmanagers") if each["job"] == self._job and each["status"] == "busy"
        ]
        killed = time.monotonic()
        send(victim["pid"], signal.SIGKILL)
        self._await(lambda: self._job_now()["status"] == "RESTARTING", "the death is noticed")
        noticed = time.monotonic() - killed
        took = self._until_records_flow(killed)
        print(
            f"kill {number}: {victim['id']}, noticed after {noticed:.1f} s, records flow after {took:.1f} s", flush=True
        )
        return took

    def act(self, verb: str, **body: Any) -> None:
        operation = self._ask("POST", f"/jobs/{self._job}/{verb}", json=body)
        path = f"/jobs/{self._job}/operations/{operation['id']}"
        self._await(lambda: self._ask("GET", path)["status"] != "RUNNING", verb)
        if problem := self._ask("GET", path)["problem"]:
            raise BenchFailed(f"{verb}: {problem['detail']}")

    def await_end(self, records: int) -> None:
        self._await(lambda: self._job_now()["lag"] == 0 and self._committed() >= records, "all is read")

    def _until_records_flow(self, since: float) -> float:
        """What was under way at the kill may still be committed by its orphans: only what comes while the job runs counts."""
        self._await(lambda: self._job_now()["status"] == "RUNNING", "the job runs")
        before = self._committed()
        self._await(lambda: self._committed() > before, "records flow")
        return time.monotonic() - since

    def _committed(self) -> int:
        return self._topics.committed_end(self._work.sink)

    def _job_now(self) -> dict[str, Any]:
        return dict(self._ask("GET", f"/jobs/{self._job}"))

    def _answers(self) -> bool:
        self._process.check()
        with suppress(httpx.HTTPError):
            return self._http.get("/healthz").is_success
        return False

    def _ask(self, method: str, path: str, **given: Any) -> Any:
        response = self._http.request(method, path, **given)
        if not response.is_success:
            raise BenchFailed(f"{method} {path}: {response.text}")
        return response.json()

    def _await(self, condition: Callable[[], Any], what: str) -> None:
        deadline = time.monotonic() + STUCK_S
        while not condition():
            if time.monotonic() > deadline:
                raise TooSlow(f"not within {STUCK_S} s: {what}; the server's log:\n{self._process.tail()}")
            time.sleep(0.05)
