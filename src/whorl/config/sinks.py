"""The options of sinks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from whorl.config.fields import OptionalFormat, Topic
from whorl.config.files import FileOptions
from whorl.config.tree import Path
from whorl.operators.operator import Columns, Options
from whorl.schema import UNKNOWN, Schema

_NESTED = ("array", "map", "struct", "binary")


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


class FileSink(FileOptions, SinkOptions):
    """Writes files into a folder, each row once and for good: what a query would still change does not go here."""

    type: Literal["file"] = "file"
    partition_by: Columns = Field(default=(), description="the column or columns that become folders: country=NL/…")

    def columns(self) -> tuple[tuple[Path, str], ...]:
        return tuple((("partition_by", index), name) for index, name in enumerate(self.partition_by))

    def unfit(self, schema: Schema) -> Iterator[tuple[str, str]]:
        """(what is wrong, what to do) with columns that files of this format cannot hold."""
        written = [(name, kind) for name, kind in schema if name not in self.partition_by]
        if not written:
            yield "every column is in `partition_by`, so none is left to write", "take one away from it"
        elif self.format == "text" and (len(written) > 1 or written[0][1] not in ("string", UNKNOWN)):
            yield "text files hold one column of type string", "select one, or choose another format"
        for name, kind in written if self.format == "csv" else ():
            if kind.startswith(_NESTED):
                yield (
                    f"csv files hold no {kind.partition('<')[0]}, such as '{name}'",
                    "drop it, or choose another format",
                )


class ConsoleSink(SinkOptions):
    """Prints rows as tables."""

    type: Literal["console"] = "console"
    limit: int = Field(default=20, ge=1, description="rows of one table; of more the number is shown")


class ListSink(SinkOptions):
    """Keeps rows in memory, for tests and trials."""

    type: Literal["list"] = "list"


SINKS: dict[str, type[SinkOptions]] = {
    "kafka": KafkaSink, "file": FileSink, "console": ConsoleSink, "list": ListSink,
}  # fmt: skip
