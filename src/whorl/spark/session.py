"""The Spark session of a job: as many slots as its long tasks need, quiet, on loopback unless it runs on a cluster."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from whorl.errors import Finding, PreflightFailed, WorldError
from whorl.jvm.java import find_java
from whorl.plan.explain import SPARE_SLOTS
from whorl.spark.noise import filtered_stderr

_TASK_FAILURES = 10_000
"""Spark itself never gives up on a task: the restart strategy does."""
_REGISTER_WITHIN = 30.0
_END_WITHIN = 10.0
_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,\d+)?\])?$")


@dataclass(frozen=True)
class SessionOptions:
    name: str
    master: str
    slots: int
    """Long tasks that must run at the same time, spare ones included."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    py_files: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    verbose: bool = False
    task_failures: int = _TASK_FAILURES
    log: str = "off"
    """What Spark's own log tells at least."""

    @property
    def told(self) -> str:
        return "warn" if self.verbose and self.log in ("off", "error") else self.log


def slots_needed(long_tasks: int) -> int:
    return long_tasks + SPARE_SLOTS


def open_session(options: SessionOptions) -> SparkSession:
    """Raises PreflightFailed where the cluster has fewer slots than the job needs: it would wait for ever."""
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if _on_loopback(options.master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName(options.name).master(_master(options))
    for name, value in {**_defaults(options), **options.settings}.items():
        builder = builder.config(name, _text(value))
    with nullcontext() if options.told != "off" else filtered_stderr():
        try:
            session = builder.getOrCreate()
        except Exception as error:
            hint = "is the master up, and has it workers? --verbose shows what Spark says"
            raise WorldError(
                f"Spark cannot start on '{options.master}': {_reason(error)}", hint=hint, code="spark"
            ) from error
    for path in options.py_files:
        session.sparkContext.addPyFile(path)
    return session


def close_session(session: SparkSession) -> None:
    """Ends the JVM too: the next session may need other jars, or more memory, and a JVM takes them only when it starts."""
    with suppress(Exception):  # a JVM that was killed cannot be stopped, and has said so already
        session.stop()
    gateway: Any = SparkContext._gateway
    if gateway is not None:
        SparkContext._gateway = SparkContext._jvm = None
        with suppress(Exception):
            gateway.shutdown()
            gateway.proc.stdin.close()  # by which it knows that nobody needs it any more
            gateway.proc.wait(_END_WITHIN)


def heap_share(session: SparkSession) -> float:
    """How much of the driver's memory is in use, between 0 and 1; 0 where its JVM is gone."""
    with suppress(Exception):
        context: Any = session.sparkContext
        runtime = context._jvm.java.lang.Runtime.getRuntime()
        return float(runtime.totalMemory() - runtime.freeMemory()) / float(runtime.maxMemory())
    return 0.0


def _reason(error: Exception) -> str:
    """The sentence in what py4j wraps around it."""
    lines = [line.strip(": ") for line in str(error).splitlines() if line.strip(": ")]
    return next((line for line in lines if "Exception" in line), lines[0] if lines else type(error).__name__)[:300]


def check_slots(session: SparkSession, needed: int) -> None:
    """Long tasks that find no slot would wait for ever. A cluster's executors get some time to register."""
    until = time.monotonic() + (0 if _LOCAL.match(session.sparkContext.master) else _REGISTER_WITHIN)
    while (available := int(session.sparkContext.defaultParallelism)) < needed and time.monotonic() < until:
        time.sleep(0.2)
    if available < needed:
        hint = f"give it more cores ('--master local[{needed}]', 'spark.cores.max'), or set 'tasks' or 'state.standby' lower"
        message = f"the pipeline needs {needed} slots, '{master_of(session.sparkContext)}' has {available}"
        raise PreflightFailed([Finding("slots", message, hint)])


def master_of(context: SparkContext) -> str:
    """As the user wrote it, without the number of failures that `local` gets from us."""
    return re.sub(r",\d+\]$", "]", context.master)


def _on_loopback(master: str) -> bool:
    return bool(_LOCAL.match(master)) or "//127.0.0.1:" in master or "//localhost:" in master


def _master(options: SessionOptions) -> str:
    local = _LOCAL.match(options.master)
    if not local:
        return options.master
    threads = local.group(1) or str(options.slots)
    return f"local[{threads},{options.task_failures}]"


def _defaults(options: SessionOptions) -> dict[str, str]:
    logging = files("whorl.spark") / ("log4j2.properties" if options.told == "off" else "log4j2-verbose.properties")
    java = f"-Dlog4j2.configurationFile=file:{logging} -Dwhorl.log={options.told} -Xss8m -XX:+UseSerialGC"
    return {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": java,
        "spark.executor.memory": "1g",
        "spark.ui.showConsoleProgress": "false",
        "spark.task.maxFailures": str(options.task_failures),
        "spark.speculation": "false",
        "spark.dynamicAllocation.enabled": "false",
        "spark.locality.wait": "0",
        "spark.python.worker.idleTimeoutSeconds": "0",
        # TCP's delayed acknowledgement costs a small task 40 ms; but the folders of YARN's containers are too long for a socket's name.
        "spark.python.unix.domain.socket.enabled": str(not options.master.startswith("yarn")).lower(),
        "spark.sql.session.timeZone": "UTC",
        **({"spark.archives": ",".join(options.archives)} if options.archives else {}),
        **(
            {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
            if _LOCAL.match(options.master)
            else {}
        ),
    }


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
