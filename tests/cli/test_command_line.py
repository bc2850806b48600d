"""What holds for all verbs: quick, no pyspark where none is needed, help with an example, one-line errors."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Whorl = Callable[..., tuple[int, str, str]]
LIGHT = ["new", "check", "plan", "topics", "produce", "consume", "dead", "doctor"]


def python(code: str, folder: Path) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder).stdout


def test_help_is_quick_and_without_pyspark(folder: Path) -> None:
    code = "import sys; from whorl.cli.main import main; main(['--help']); print('pyspark' in sys.modules)"
    started = time.monotonic()
    out = python(code, folder)
    assert time.monotonic() - started < 3
    assert out.splitlines()[-1] == "False"
    assert all(f"  {verb}" in out for verb in LIGHT)


def test_light_verbs_import_no_pyspark(folder: Path) -> None:
    modules = ", ".join(f"whorl.cli.{verb}" for verb in LIGHT)
    assert python(f"import sys, {modules}; print('pyspark' in sys.modules)", folder).strip() == "False"


@pytest.mark.parametrize(
    "verb",
    ["new", "plan", "topics list", "topics describe", "topics create", "topics delete", "produce", "consume", "dead list",
     "dead replay", "doctor"],
)  # fmt: skip
def test_help_has_an_example(whorl: Whorl, verb: str) -> None:
    code, out, _ = whorl(*verb.split(), "--help")
    assert code == 0
    assert f"Example: whorl {verb}" in " ".join(out.split())


@pytest.mark.parametrize("verb", ["topics list", "produce t", "consume t", "dead list t"])
def test_without_any_broker_the_error_is_one_line(whorl: Whorl, verb: str) -> None:
    code, out, err = whorl(*verb.split())
    assert (code, out) == (3, "")
    assert err.startswith("[no-broker]") and err.count("\n") == 1


def test_a_wrong_option_is_a_usage_error(whorl: Whorl) -> None:
    assert whorl("topics", "list", "--nonsense")[0] == 2


def test_a_wrong_whorl_yaml_is_the_users_fault(whorl: Whorl, folder: Path) -> None:
    (folder / "whorl.yaml").write_text("brocker: localhost:9092\n")
    code, _, err = whorl("topics", "list")
    assert code == 1
    assert err.startswith("whorl.yaml:1:1: [unknown-key]") and "did you mean 'broker'?" in err


def test_an_unknown_profile_is_named(whorl: Whorl) -> None:
    code, _, err = whorl("topics", "list", "--profile", "moon")
    assert code == 1
    assert "there is no profile 'moon'" in err
