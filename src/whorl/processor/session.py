"""The Spark session of a StreamProcessor that was given none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from whorl.jobs.bundle import bundle_whorl
from whorl.jvm.jars import CONNECTOR, resolve
from whorl.spark.session import SessionOptions, open_session

_TASK_FAILURES = 4
"""As Spark has it: what fails again and again fails the fetch, of which `run` begins another."""


def open_session_for(
    name: str, master: str = "local[*]", conf: Mapping[str, Any] | None = None, py_files: Sequence[str] = ()
) -> SparkSession:
    """With the jars of Spark's Kafka connector; executors elsewhere get Whorl's own code too."""
    jars = ",".join(str(path) for path in resolve(CONNECTOR))
    own = [] if master.startswith("local") else [str(bundle_whorl(Path(tempfile.mkdtemp(prefix="whorl-"))))]
    cores, code = os.cpu_count() or 1, (*own, *py_files)
    shuffle = {} if own else {"spark.sql.shuffle.partitions": str(cores)}  # Spark's own 200 are for clusters
    settings = {"spark.jars": jars, **shuffle, **(conf or {})}
    return open_session(SessionOptions(f"whorl {name}", master, cores, settings, code, task_failures=_TASK_FAILURES))
