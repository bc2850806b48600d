from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from whorl.cli.foreground import _log_of
from whorl.cli.options import logging_sets
from whorl.cli.telling import Telling
from whorl.config.groups import Logging
from whorl.errors import WorldError
from whorl.jobs.job import State
from whorl.query.progress import QueryFigures
from whorl.tasks.watch import Watch


def job(state: State, batch: int, restarts: int, dead: int) -> Any:
    batches = SimpleNamespace(dead=dead, raised=WorldError("it broke"), notices=[])
    query = SimpleNamespace(
        figures=QueryFigures(batch=batch), restarts=restarts, batches=batches, written=0, state=State.RUNNING
    )
    return SimpleNamespace(
        state=state, headlines=lambda: ["Spark application x"], queries=SimpleNamespace(jobs={"q": query}), watch=Watch(Logging())  # type: ignore[arg-type]
    )  # fmt: skip


def test_each_thing_is_told_once_with_its_component_and_batch(tmp_path: Path) -> None:
    telling = Telling("p")
    with _log_of(Logging(level="debug", format="json", dir=str(tmp_path)), "p") as logs:
        telling.show(job(State.RUNNING, 0, 0, 0), [("q", "a schema changed")])
        telling.show(job(State.RUNNING, 0, 0, 0), [])
        telling.show(job(State.RUNNING, 1, 1, 3), [])
        telling.show(job(State.ENDED, 1, 1, 3), [])
    assert logs
    events = [json.loads(line) for line in (tmp_path / "p.log").read_text().splitlines()]
    assert [(event["level"], event.get("component"), event.get("batch"), event["message"]) for event in events] == [
        ("info", None, None, "Spark application x"),
        ("info", None, None, "running"),
        ("warning", "q", None, "a schema changed"),
        ("debug", "q", 0, "read 0, lag 0, 0 ms"),
        ("debug", "q", 1, "read 0, lag 0, 0 ms"),
        ("error", "q", None, "failed and starts again (1 so far): [world] it broke"),
        ("warning", "q", None, "3 dead letters so far"),
        ("info", None, None, "ended"),
    ]
    assert all(event["job"] == "p" for event in events)


def test_the_settings_say_where_lines_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WorldError), _log_of(Logging(dir=str(tmp_path / "logs")), "p") as logs:
        raise WorldError("no broker answers")
    assert not logs and capsys.readouterr().out == ""
    assert "error   p  [world] no broker answers" in (tmp_path / "logs" / "p.log").read_text()
    assert (
        logging_sets("debug", "json") == ["logging.level=debug", "logging.format=json"]
        and logging_sets(None, None) == []
    )
