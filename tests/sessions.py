"""The Spark session of tests: a fixture that the conftest of each folder that needs one imports."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from whorl.jobs.stores import DELTA_SETTINGS
from whorl.jvm.jars import DELTA, POSTGRESQL, resolve
from whorl.spark.session import close_session


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
        "spark.jars": ",".join(str(path) for jars in (DELTA, POSTGRESQL) for path in resolve(jars)),
        **DELTA_SETTINGS,
    }
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    close_session(session)  # also where a pipeline of another test has ended the JVM that they share
