"""One Spark session for all tests of queries, and a pipeline on both hosts over the same records."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hosts import AtRest, Both
from pyspark.sql import DataFrame, SparkSession

from whorl.plan.plan import Input
from whorl.query import compile as compiling
from whorl.query.decode import decoded
from whorl.query.read import Reading

# Compiling plans of a few rows to Java takes most of the time.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("queries")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


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
