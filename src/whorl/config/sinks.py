"""The options of sinks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from whorl.config.fields import Columns, OptionalFormat, Topic
from whorl.config.tree import Path
from whorl.operators.operator import Options


class SinkOptions(Options):
    """What all sinks have."""

    type: str

    def columns(self) -> tuple[tuple[Path, str], ...]:
        """(path inside the options, column) of every column that must exist."""
        return ()


class KafkaSink(SinkOptions):
    """Writes a Kafka topic."""

    type: Literal["kafka"] = "kafka"
    topic: Topic = Field(description="the topic")
    key: Columns = Field(
        default=(), description="the column or columns of the Kafka key; without it records keep theirs"
    )
    format: OptionalFormat = Field(
        default=None, description="how values are written; without it json, or text or bytes where rows are only that"
    )
    headers: bool = Field(default=True, description="records keep their headers")

    def columns(self) -> tuple[tuple[Path, str], ...]:
        return tuple((("key", index), name) for index, name in enumerate(self.key))


class ConsoleSink(SinkOptions):
    """Prints rows as tables."""

    type: Literal["console"] = "console"
    limit: int = Field(default=20, ge=1, description="rows of one table; of more the number is shown")


class ListSink(SinkOptions):
    """Keeps rows in memory, for tests and trials."""

    type: Literal["list"] = "list"


SINKS: dict[str, type[SinkOptions]] = {"kafka": KafkaSink, "console": ConsoleSink, "list": ListSink}
