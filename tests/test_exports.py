"""The door: what `from whorl import …` gives, and what it does not bring along."""

from __future__ import annotations

import subprocess
import sys

import whorl

HEAVY = ("pyspark", "confluent_kafka", "pydantic", "sqlglot", "yaml", "typer", "rich", "fastapi")


def _loaded(code: str) -> set[str]:
    report = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_every_name_is_there_and_they_are_sorted() -> None:
    assert all(hasattr(whorl, name) for name in whorl.__all__)
    assert list(whorl.__all__) == sorted(whorl.__all__)


def test_the_door_is_light() -> None:
    assert not _loaded("import whorl") & set(HEAVY)


def test_check_and_plan_need_neither_spark_nor_a_kafka_client() -> None:
    loaded = _loaded("import whorl.cli.main, whorl.cli.check, whorl.cli.plan")
    assert "typer" in loaded
    assert not loaded & {"pyspark", "confluent_kafka", "fastapi"}


def test_the_help_needs_no_spark() -> None:
    loaded = _loaded("from whorl.cli.main import main\nmain(['--help'])")
    assert not loaded & {"pyspark", "confluent_kafka", "sqlglot", "fastapi"}
