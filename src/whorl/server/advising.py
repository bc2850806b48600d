"""What could be better in how a job runs, found out in a process of its own, since a plan takes the pipeline's code.

python -m whorl.server.advising FOLDER FILE < {"name": …, "settings": […], "profile": …}      prints a list of `AdviceSaid`, or a problem, as JSON
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from whorl.config.loader import load
from whorl.errors import WhorlError, WorldError
from whorl.feedback.gather import gathered
from whorl.feedback.rules import advice
from whorl.flow.check import checked
from whorl.jobs.address import clients_of
from whorl.jobs.schemas import settle
from whorl.kafka.topics import Cluster
from whorl.plan.planner import make_plan
from whorl.server.bundles import Submission
from whorl.server.inspection import in_process
from whorl.server.records import JobRecord
from whorl.server.schemas import AdviceSaid
from whorl.server.uploads import unpacked

_FRESH = 30.0
"""Seconds for which an answer holds: what it is drawn from is an hour of figures."""
Ask = Callable[[Submission, JobRecord], dict[str, Any]]


def asked(upload: Submission, job: JobRecord) -> dict[str, Any]:
    given = {"name": job.name, "settings": job.settings, "profile": job.profile}
    answer: dict[str, Any] = json.loads(in_process(__name__, upload, given))
    return answer


class Adviser:
    """Asks for one job at a time, and remembers what it was told, also that nothing is known."""

    def __init__(self, ask: Ask = asked, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._clock = ask, clock
        self._told: dict[str, tuple[float, dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def of(self, job: JobRecord, bundle: Callable[[], bytes]) -> list[AdviceSaid]:
        with self._lock:
            at, answer = self._told.get(job.id, (float("-inf"), {}))
            if self._clock() - at > _FRESH:
                answer = self._ask(Submission(job.file, unpacked(bundle())), job)
                self._told[job.id] = self._clock(), answer
        if error := answer.get("error"):
            raise WorldError(error["message"], hint=error["hint"], code=error["code"])
        return [AdviceSaid.model_validate(each) for each in answer["advice"]]

    def forget(self, job: str) -> None:
        with self._lock:
            self._told.pop(job, None)


def found(folder: Path, file: str, name: str, settings: tuple[str, ...], profile: str | None = None) -> dict[str, Any]:
    os.chdir(folder)
    try:
        loaded = load(file, profile=profile, overrides=settings, name=name)
        cluster = Cluster(clients_of(loaded.settings))
        plan = make_plan(checked(settle(loaded, cluster)[0]), loaded.settings)
        return {"advice": [asdict(each) for each in advice(gathered(cluster, plan))]}
    except WhorlError as error:
        return {"error": {"message": error.message, "hint": error.hint, "code": error.code}}


def main() -> None:
    folder, file = sys.argv[1:]
    given = json.load(sys.stdin)
    answer = found(Path(folder), file, given["name"], tuple(given["settings"]), given["profile"])
    print("\n\n" + json.dumps(answer))


if __name__ == "__main__":
    main()
