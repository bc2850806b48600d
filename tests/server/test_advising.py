"""What could be better in how a job runs: asked in a process of its own, remembered for a while, and told over REST."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from whorl.errors import WorldError
from whorl.server.advising import Adviser, asked, found
from whorl.server.bundles import Submission
from whorl.server.records import Inspected, JobRecord

PIPELINE = (
    "name: a\nsources: {in: {type: kafka, topic: in, schema: {n: long}}}\nsinks: {out: {type: kafka, topic: out}}\n"
)
UPLOAD = Submission("pipeline.yaml", {"pipeline.yaml": PIPELINE.encode()})
ADVICE = {"rule": "memory", "component": "", "finding": "f", "evidence": "e", "setting": "s", "change": "c"}


class Asked:
    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer, self.times, self.now = answer, list[tuple[str, list[str]]](), 0.0

    def __call__(self, upload: Submission, job: JobRecord) -> dict[str, Any]:
        assert upload == UPLOAD
        self.times.append((job.name, job.settings))
        return self.answer


def record(id: str = "j1") -> JobRecord:
    known = Inspected(pipeline="a", findings=[])
    fields: dict[str, Any] = {"bundle": "b", "settings": ["tasks=2"], "known": known, "created": 0.0}
    return JobRecord(id=id, name="mine", pipeline="a", file="pipeline.yaml", **fields)


def test_an_answer_holds_for_a_while_and_each_job_has_its_own() -> None:
    ask = Asked({"advice": [ADVICE]})
    adviser = Adviser(ask, lambda: ask.now)
    for _ in range(3):
        (said,) = adviser.of(record(), UPLOAD.pack)
        assert said.model_dump() == ADVICE
    assert ask.times == [("mine", ["tasks=2"])]
    adviser.of(record("j2"), UPLOAD.pack)
    assert len(ask.times) == 2
    ask.now = 31
    adviser.of(record(), UPLOAD.pack)
    assert len(ask.times) == 3
    adviser.forget("j1")
    adviser.of(record(), UPLOAD.pack)
    assert len(ask.times) == 4


def test_that_nothing_is_known_is_remembered_too() -> None:
    ask = Asked({"error": {"message": "nothing is known", "hint": "wait", "code": "no-history"}})
    adviser = Adviser(ask, lambda: ask.now)
    for _ in range(2):
        with pytest.raises(WorldError, match="nothing is known") as raised:
            adviser.of(record(), UPLOAD.pack)
        assert (raised.value.hint, raised.value.code) == ("wait", "no-history")
    assert len(ask.times) == 1


def test_what_is_wrong_is_told_by_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    here = found(tmp_path, "pipeline.yaml", "a", ())
    assert here["error"]["code"] == "no-broker"
    assert asked(UPLOAD, record().changed(name="a", settings=[])) == here


def test_over_rest(client: TestClient) -> None:
    (said,) = client.get("/jobs/totals/feedback").json()
    assert (said["rule"], said["setting"]) == ("lag-grows", "tasks")
    assert client.get("/jobs/nobody/feedback").status_code == 404
