"""Verbs that speak to the job server: what they send, and what they say. The server runs nothing; its REST side is the real one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from fastapi import FastAPI
from tests.server.fake import PIPELINE, FakeServer, submission
from tests.server.serving import served

from whorl.cli import logs
from whorl.cli import remote as remote_module
from whorl.cli.figures import age
from whorl.cli.top import By, Row, ranked
from whorl.server.access import access_of
from whorl.server.api import make_api
from whorl.server.schemas import Component, ComponentStatus, Health, JobStatus

Whorl = Callable[..., SimpleNamespace]


@pytest.fixture
def jobs() -> FakeServer:
    server = FakeServer()
    server.submit(submission())
    return server


@pytest.fixture
def url(jobs: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with served(make_api(jobs)) as url:
        monkeypatch.setenv("WHORL_SERVER", url)
        yield url


def test_submit_takes_what_lies_beside_and_the_settings_in_force(whorl: Whorl, jobs: FakeServer, url: str) -> None:
    folder = Path("flows")
    folder.mkdir()
    (folder / "pipeline.yaml").write_text(PIPELINE.format(name="orders"))
    (folder / "steps.py").write_text("x = 1\n")
    Path("whorl.yaml").write_text("partitions: 7\nprofiles: {night: {tasks: 1}}\n")
    taken = []
    submit = jobs.submit
    jobs.submit = lambda *given: (taken.append(given), submit(*given))[1]  # type: ignore[method-assign,func-returns-value]
    ran = whorl(
        "submit",
        folder / "pipeline.yaml",
        "--name",
        "mine",
        "--set",
        "tasks=2",
        "--set",
        "partitions=3",
        "--profile",
        "night",
    )
    assert ran.code == 0, ran.err
    assert "job job0002: 'orders', 3 files, running" in ran.out
    ((upload, name, settings, profile),) = taken
    assert upload.files.keys() == {"pipeline.yaml", "steps.py", "whorl.yaml"}
    assert (name, settings, profile) == ("mine", ("tasks=2", "partitions=3"), "night")


def test_submit_of_a_wrong_pipeline_reads_as_check_does(whorl: Whorl, url: str) -> None:
    Path("pipeline.yaml").write_text("name: x\nsources: {a: {type: kafke}}\n")
    ran = whorl("submit", "pipeline.yaml")
    assert ran.code == 1
    assert "pipeline.yaml:2:" in ran.err
    assert "[" in ran.err
    assert whorl("submit", "none.yaml").code == 2


def test_jobs_and_job(whorl: Whorl, jobs: FakeServer, url: str) -> None:
    listed = whorl("jobs").out.splitlines()
    assert listed[0].split()[:4] == ["JOB", "NAME", "STATUS", "HEALTH"]
    assert listed[1].split()[:4] == ["job0001", "totals", "RUNNING", "ok"]
    assert listed[-1] == "1 job"
    shown = whorl("job", "totals")
    assert "job job0001: pipeline 'totals'" in shown.out
    assert "steps.py:3: ValueError: no" in shown.out
    assert whorl("job", "totals", "--settings").out.startswith("SETTING")


def test_a_job_that_is_not_there(whorl: Whorl, url: str) -> None:
    ran = whorl("job", "nobody")
    assert (ran.code, ran.err.strip()) == (3, "[no-job] there is no job 'nobody' ('whorl jobs' lists them)")


def test_stop_savepoint_rescale_resume_cancel_delete(whorl: Whorl, jobs: FakeServer, url: str) -> None:
    jobs.takes = 0.3
    saved = whorl("savepoint", "totals", "early")
    assert saved.out.startswith("savepoint 'early' of 'totals': 1 component, 10 entries of state")
    dry = whorl("rescale", "totals", "--tasks", 3, "--dry-run")
    assert dry.out.endswith("nothing was changed\n")
    scaled = whorl("rescale", "totals", "--tasks", 3)
    assert "2 -> 3" in scaled.out
    assert "rescaled 'totals', in 0.5 s" in scaled.out
    assert whorl("rescale", "totals", "--tasks", 3, "--component", "big").code == 2
    stopped = whorl("stop", "totals", "late", "--timeout", 5)
    assert "savepoint 'late' of 'totals'" in stopped.out
    assert stopped.out.endswith("stopped 'totals'\n")
    assert jobs.job("totals").status is JobStatus.SUSPENDED
    again = whorl("stop", "totals")
    assert (again.code, "[not-running]" in again.err) == (3, True)
    assert whorl("resume", "totals").out == "resumed 'totals'\n"
    assert whorl("stop", "totals", "--no-savepoint").out == "stopped 'totals'\n"
    assert whorl("resume", "totals/late").out == "resumed 'totals' from savepoint 'totals/late'\n"
    assert whorl("delete", "totals").code == 3
    assert whorl("cancel", "totals").out == "canceled 'totals'\n"
    assert whorl("delete", "totals").out == "deleted job 'totals'\n"
    assert jobs.kept == {}


def test_a_verb_takes_the_file_of_a_pipeline(whorl: Whorl, jobs: FakeServer, url: str) -> None:
    Path("pipeline.yaml").write_text(PIPELINE.format(name="totals"))
    assert whorl("stop", "pipeline.yaml", "--no-savepoint").out == "stopped 'totals'\n"


def test_an_operation_that_fails_later_reads_as_if_it_failed_at_once(whorl: Whorl, jobs: FakeServer, url: str) -> None:
    jobs.fails = ("disk", "the disk is full", "make room")
    ran = whorl("savepoint", "totals")
    assert (ran.code, ran.err.strip()) == (3, "[disk] the disk is full (make room)")


def test_logs(whorl: Whorl, jobs: FakeServer, url: str) -> None:
    jobs.log("totals", "two")
    assert [line.split(": ", 1)[1] for line in whorl("logs", "totals").out.splitlines()] == ["started 'totals'", "two"]
    assert len(whorl("logs", "totals", "-n", 1).out.splitlines()) == 1
    assert whorl("logs", "totals", "--json").out.startswith('{"number":1')


def test_logs_are_followed(whorl: Whorl, jobs: FakeServer, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whorl.cli.logs._more", _until(2))
    threading.Timer(0.5, jobs.log, ("totals", "later")).start()
    assert whorl("logs", "totals", "-f").out.splitlines()[-1].endswith(": later")


def _until(last: int) -> Callable[..., int]:
    more = logs._more

    def bounded(remote: object, id: str, after: int, json: bool) -> int:
        if after >= last:
            raise KeyboardInterrupt
        return more(remote, id, after, json)  # type: ignore[arg-type]

    return bounded


def test_top_once(whorl: Whorl, jobs: FakeServer, url: str) -> None:
    lines = whorl("top", "--once", "--by", "busy").out.splitlines()
    assert "1 job, 1 component at work, by busy" in lines[0]
    assert lines[-1].split()[:3] == ["totals", "big", "RUNNING"]


def test_top_ranks_the_largest_first_and_the_unknown_last(jobs: FakeServer) -> None:
    def row(id: str, lag: int | None) -> Row:
        component = Component(id=id, host="tasks", status=ComponentStatus.RUNNING, health=Health.OK, lag=lag)
        return Row(jobs.jobs()[0], component)

    rows = [row("a", 5), row("b", None), row("c", 7), row("d", 0)]
    assert [each.component.id for each in ranked(rows, By.LAG)] == ["c", "a", "d", "b"]


# -- which server ------------------------------------------------------------------------------------------------------------------


def test_without_a_server_it_says_so(whorl: Whorl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_SERVER", "http://127.0.0.1:1")
    ran = whorl("jobs")
    assert ran.code == 3
    assert "[server-unreachable] no job server answers at 'http://127.0.0.1:1'" in ran.err
    assert "whorl serve" in ran.err
    assert whorl("jobs", "--server", "no url").code == 3


def test_a_server_on_the_default_port_is_asked_whether_it_knows_the_name(
    whorl: Whorl, jobs: FakeServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WHORL_SERVER")
    monkeypatch.setattr(remote_module, "DEFAULT", url)
    assert whorl("stop", "totals", "--no-savepoint").out == "stopped 'totals'\n"
    asked = whorl("stop", "totals", "--broker", "127.0.0.1:1")
    assert asked.code == 3
    assert "broker" in asked.err, (
        "a job that has stopped is not what is meant: somebody's terminal may have the pipeline"
    )
    assert whorl("resume", "totals").out == "resumed 'totals'\n"


def test_tokens(whorl: Whorl, jobs: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    access = access_of(variables={"WHORL_TOKENS": "viewer:just-looking,admin:may-do-all"})
    with served(make_api(jobs, access)) as url:
        refused = whorl("jobs", "--server", url)
        assert (refused.code, "[token]" in refused.err) == (3, True)
        assert whorl("jobs", "--server", url, "--token", "just-looking").code == 0
        monkeypatch.setenv("WHORL_TOKEN", "just-looking")
        assert "[role]" in whorl("stop", "totals", "--server", url).err
        assert whorl("stop", "totals", "--server", url, "--token", "may-do-all").code == 0


def test_something_else_on_that_port(whorl: Whorl) -> None:
    with served(FastAPI()) as url:
        ran = whorl("jobs", "--server", url)
    assert "as no job server does" in ran.err


def test_ages() -> None:
    now = time.time()
    assert [age(now - back) for back in (5, 90, 200, 10_000, 400_000)] == ["5 s", "90 s", "3 min", "2 h", "4 d"]
