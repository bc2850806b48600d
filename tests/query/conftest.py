"""One Spark session for all tests of queries, and a pipeline on both hosts over the same records."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from hosts import Both, kafka_frame
from whorl.plan.plan import Input
from whorl.query import compile as compiling
from whorl.query.decode import decoded
from whorl.query.read import Reading
from whorl.testing import PipelineHarness

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
def both(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Both]:
    """`both(pipeline, source=[records])`: what each host makes of them; the query reads them at rest instead of from Kafka."""
    monkeypatch.chdir(tmp_path)

    def make(text: str, steps: str = "", **sent: list[Any]) -> Both:
        (tmp_path / "pipeline.yaml").write_text(text)
        (tmp_path / "steps.py").write_text(steps)
        harness = PipelineHarness(tmp_path / "pipeline.yaml", partitions=2)
        for source, records in sent.items():
            harness.send(source, records)

        def stream_of(session: SparkSession, input: Input, reading: Reading, *, headers: bool) -> DataFrame:
            return decoded(kafka_frame(session, harness, input), input)

        monkeypatch.setattr(compiling, "stream_of", stream_of)
        session = spark.newSession()
        for name, value in INTERPRETED.items():
            session.conf.set(name, value)
        return Both(session, harness)

    return make
