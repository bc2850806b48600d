from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from whorl.log import file_of, logger, set_up


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(form: str = "text", level: str = "info", stream: io.StringIO | None = None) -> str:
    stream = stream or io.StringIO()
    with set_up(level, form, stream):  # type: ignore[arg-type]
        log = logger("payments", "judge")
        log.debug("small")
        log.info("a line\nof two", batch=7)
        log.error("bad %s", "thing", component="other")
    return stream.getvalue()


def test_one_line_for_people_and_one_for_machines() -> None:
    first, second = told().splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} info    payments/judge batch 7  a line of two", first)
    assert second.endswith(" error   payments/other  bad thing")
    event, _ = map(json.loads, told("json").splitlines())
    assert event.pop("time").endswith("Z")
    assert event == {"level": "info", "job": "payments", "component": "judge", "batch": 7, "message": "a line\nof two"}


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" not in told() and "\x1b[31merror" in told(stream=Terminal())
    assert "\x1b[" in told("auto", stream=Terminal()) and told("auto").startswith("{")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in told(stream=Terminal())


def test_only_what_is_at_least_of_the_level_is_told() -> None:
    assert len(told(level="debug").splitlines()) == 3 and len(told(level="error").splitlines()) == 1


def test_a_full_file_becomes_an_earlier_one(tmp_path: Path) -> None:
    file = file_of(str(tmp_path), "odd name/x")
    assert file.name == "odd-name-x.log"
    with set_up("info", "json", None, file, max_size=2000, keep=2):
        for number in range(100):
            logger("p").info("event %d", number)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["odd-name-x.log", "odd-name-x.log.1", "odd-name-x.log.2"]
    assert all(path.stat().st_size <= 2000 for path in tmp_path.iterdir())
    assert json.loads(file.read_text().splitlines()[-1])["message"] == "event 99"


def test_nothing_stays_set_up(tmp_path: Path) -> None:
    told()
    stream = io.StringIO()
    logger("p").info("to nobody")
    assert stream.getvalue() == ""


def test_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "hunter2-hunter2")
    for form in ("text", "json"):
        out = io.StringIO()
        with set_up("info", form, out):  # type: ignore[arg-type]
            try:
                raise ValueError("token=abcdef")
            except ValueError:
                logger("p").exception("no way with hunter2-hunter2 or sasl.password=xyzzy")
        assert "***" in out.getvalue()
        assert not [secret for secret in ("hunter2", "abcdef", "xyzzy") if secret in out.getvalue()]


def test_without_stream_and_file_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with set_up(stream=None):
        logger("demo").warning("sink 'totals' waits")
    assert capsys.readouterr() == ("", "")
