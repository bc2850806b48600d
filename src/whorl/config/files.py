"""What file sources and file sinks have in common: the options of Spark's own readers and writers of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from whorl.config.validation import Problem
from whorl.operators.operator import Options

FileFormat = Literal["json", "csv", "parquet", "orc", "avro", "text"]
SELF_DESCRIBING = ("parquet", "orc", "avro")
"""Formats whose files say themselves which columns they have."""
_OF_CSV = ("header", "delimiter")


def _folder(value: Any) -> Any:
    if value == "":
        raise Problem("the path is empty", hint="name a folder, such as data/in")
    return value


Folder = Annotated[str, BeforeValidator(_folder)]


class FileOptions(Options):
    path: Folder = Field(
        description="a folder: relative to the working directory, absolute, or any URL of a Hadoop file system"
    )
    format: FileFormat = Field(default="json", description="json, csv and text: one row a line")
    header: bool = Field(default=True, description="csv: the first line of a file names the columns")
    delimiter: str = Field(default=",", min_length=1, max_length=1, description="csv: what stands between cells")

    @model_validator(mode="before")
    @classmethod
    def _only_of_csv(cls, value: Any) -> Any:
        odd = [key for key in _OF_CSV if isinstance(value, Mapping) and key in value and value.get("format") != "csv"]
        if odd:
            raise Problem(f"'{odd[0]}' is of csv files alone", hint=f"take '{odd[0]}' away, or write `format: csv`")
        return value

    @property
    def file_options(self) -> dict[str, str]:
        """As Spark's readers and writers of the format name them."""
        return {"header": str(self.header).lower(), "sep": self.delimiter} if self.format == "csv" else {}
