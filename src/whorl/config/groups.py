"""Groups of settings that the framework as a whole is run by: resources, where it is deployed, the cleaner, logging."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from whorl.config.validation import Problem
from whorl.operators.operator import Options
from whorl.units import Duration, Size

ENGINE = "spark"


def _engine(value: Any) -> Any:
    if value == ENGINE:
        return value
    what = f"there is no engine {value!r}: Whorl compiles pipelines to Spark's own queries and tasks, whose exactly once it relies on"
    raise Problem(what, hint="write `engine: spark`, or leave it out")


def _mode(value: Any) -> Any:
    if value == "cluster":
        what = "'cluster' would move the driver away from this process, which holds the pipeline"
        raise Problem(what, hint="write `mode: client`, and run whorl on a machine of the cluster")
    return value


Engine = Annotated[Literal["spark"], BeforeValidator(_engine)]
Mode = Annotated[Literal["client"], BeforeValidator(_mode)]


class Resources(Options):
    """What a job takes of the cluster. With a `local` master only `driver_memory` counts: all of it is one process."""

    executors: int | None = Field(
        default=None, ge=1, description="of a job; without it as many as the cluster gives (spark.executor.instances)"
    )
    cores: int | None = Field(
        default=None, ge=1, description="of each executor; without it all of a worker's (spark.executor.cores)"
    )
    memory: Size = Field(default=1 << 30, ge=1 << 20, description="of each executor's JVM (spark.executor.memory)")
    driver_memory: Size = Field(default=1 << 30, ge=1 << 20, description="of the driver's JVM (spark.driver.memory)")

    def spark(self) -> dict[str, str]:
        """As Spark names them."""
        given = {"spark.executor.instances": self.executors, "spark.executor.cores": self.cores}
        whole = self.executors * self.cores if self.executors and self.cores else None
        counts = {**given, "spark.cores.max": whole}
        memory = {"spark.executor.memory": self.memory, "spark.driver.memory": self.driver_memory}
        return {
            **{name: str(value) for name, value in counts.items() if value is not None},
            **{name: f"{max(1, value >> 20)}m" for name, value in memory.items()},
        }


class Deploy(Options):
    """How a job is started on a cluster; `master` says where."""

    mode: Mode = Field(default="client", description="client: the driver is the process that holds the pipeline")
    queue: str | None = Field(default=None, description="of YARN (spark.yarn.queue); without it the default one")

    def spark(self) -> dict[str, str]:
        return {"spark.submit.deployMode": self.mode, **({"spark.yarn.queue": self.queue} if self.queue else {})}


class Cleaner(Options):
    """What is deleted of what a pipeline leaves behind: never anything that a running job or a savepoint needs."""

    interval: Duration | None = Field(
        default=None,
        gt=0,
        description="how often a running pipeline cleans up after its former lives; without it only `whorl clean`",
    )
    retention: Duration = Field(
        default=7 * 86400.0,
        description="how long checkpoints and topics of a former life are kept, since they were last written",
    )
    savepoints: Duration | None = Field(
        default=None,
        gt=0,
        description="how long savepoints are kept, the newest of a pipeline always; without it for ever",
    )


class Logging(Options):
    """What is told while something runs."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="what is told at least")
    format: Literal["auto", "text", "json"] = Field(
        default="auto",
        description="text: a line an event; json: an object a line; auto: on the terminal tables instead, in a log file text",
    )
    dir: str | None = Field(
        default=None, description="folder of a log file for each pipeline, PIPELINE.log; without it none"
    )
    max_size: Size = Field(default=10 << 20, ge=1024, description="of a log file before the next is begun")
    keep: int = Field(default=5, ge=1, le=1000, description="earlier log files that are kept")
    spark: Literal["off", "error", "warn", "info"] = Field(
        default="off", description="what Spark's own log tells at least, on stderr; `--verbose` is at least warn"
    )
