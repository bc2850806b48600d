"""How a StreamProcessor runs: keywords of its constructor."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError

from whorl.config.offset_stores import Store
from whorl.errors import UsageError
from whorl.operators.operator import Options
from whorl.units import Duration


class ProcessorSettings(Options):
    """Keywords of `StreamProcessor`."""

    broker: str | None = Field(
        default=None, description="host:port of Kafka; without it whorl.yaml's, or this folder's own"
    )
    max_messages: int = Field(default=100_000, ge=1, description="the most records that a fetch takes of one partition")
    offsets: Store | None = Field(
        default=None, description="URL of the store of committed offsets; without it the Kafka group"
    )
    start: Literal["earliest", "latest"] = Field(
        default="earliest", description="where reading begins without a commit"
    )
    on_gap: Literal["fail", "earliest"] = Field(
        default="fail",
        description="records that are gone before they were read: fail, or go on, told with their number",
    )
    idle: Duration = Field(default=0.1, gt=0, description="the wait after a fetch that found nothing")
    attempts: int | None = Field(
        default=None, ge=0, description="retries in a row before `run` gives up; without it for ever"
    )
    delay: Duration = Field(default=1.0, description="the wait before the first retry; it doubles")
    max_delay: Duration = Field(default=30.0, description="the longest wait before a retry")
    stop_port: int | None = Field(
        default=None, ge=0, le=65535, description="where `POST /stop` is heard; 0 takes a free port"
    )
    stop_host: str = Field(default="127.0.0.1", description="the address of that port")
    master: str = Field(default="local[*]", description="of the Spark session that is opened where none was given")
    spark_conf: dict[str, Any] = Field(default_factory=dict, description="further settings of that session")
    py_files: list[str] = Field(default_factory=list, description="Python files and zips that executors need")
    kafka: dict[str, Any] = Field(
        default_factory=dict, description="passed on to Kafka clients, as librdkafka names it"
    )

    @classmethod
    def of(cls, given: dict[str, Any]) -> ProcessorSettings:
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise UsageError(_sentence(error), hint=f"keywords are {', '.join(cls.model_fields)}") from None


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"StreamProcessor has no keyword '{name}'"
    return f"'{name}' of StreamProcessor: {first['msg']}"
