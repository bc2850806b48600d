"""One Spark session for all tests of queries, and a pipeline on both hosts over the same records."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hosts import AtRest, Both
from pyspark.sql import DataFrame, SparkSession

from sessions import spark
from whorl.plan.plan import Input
from whorl.query import compile as compiling
from whorl.query.decode import decoded
from whorl.query.read import Reading

__all__ = ["spark"]
# Compiling plans of a few rows to Java takes most of the time.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture
def quick(spark: SparkSession) -> SparkSession:
    """A session of its own, as a component has, for plans of a few rows."""
    session = spark.newSession()
    for name, value in INTERPRETED.items():
        session.conf.set(name, value)
    return session


@pytest.fixture
def at_rest(quick: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AtRest]:
    """`at_rest(pipeline, source=[records])`: a pipeline as a query, which reads them at rest instead of from Kafka."""
    return partial(_prepared, AtRest, quick, tmp_path, monkeypatch)


@pytest.fixture
def both(quick: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Both]:
    """The same, with what the tasks host makes of it."""
    return partial(_prepared, Both, quick, tmp_path, monkeypatch)


def _prepared(
    kind: type[Any],
    session: SparkSession,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    steps: str = "",
    **sent: Any,
) -> Any:
    monkeypatch.chdir(folder)
    (folder / "pipeline.yaml").write_text(text)
    made = kind(session, folder / "pipeline.yaml")
    for source, records in sent.items():
        made.send(source, records)

    def stream_of(session: SparkSession, input: Input, reading: Reading, *, headers: bool) -> DataFrame:
        return decoded(made.frame(session, input), input)

    monkeypatch.setattr(compiling, "stream_of", stream_of)
    return made
