"""What file sources and file sinks have in common: the options of Spark's own readers and writers of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from whorl.config.validation import Problem
from whorl.operators.operator import Options

FileFormat = Literal["json", "csv", "parquet", "orc", "avro", "text", "xml"]
SELF_DESCRIBING = ("parquet", "orc", "avro")
"""Formats whose files say themselves which columns they have."""
_OF = {"header": "csv", "delimiter": "csv", "row_tag": "xml"}
"""Options of one format alone."""


def _folder(value: Any) -> Any:
    if value == "":
        raise Problem("the path is empty", hint="name a folder, such as data/in")
    return value


Folder = Annotated[str, BeforeValidator(_folder)]


class FileOptions(Options):
    path: Folder = Field(
        description="a folder: relative to the working directory, absolute, or any URL of a Hadoop file system"
    )
    format: FileFormat = Field(
        default="json", description="json, csv and text: one row a line; xml: one row an element `row_tag`"
    )
    header: bool = Field(default=True, description="csv: the first line of a file names the columns")
    delimiter: str = Field(default=",", min_length=1, max_length=1, description="csv: what stands between cells")

    row_tag: str = Field(default="row", min_length=1, description="xml: the element that is a row")

    @model_validator(mode="before")
    @classmethod
    def _only_of_one(cls, value: Any) -> Any:
        given = [key for key in _OF if isinstance(value, Mapping) and key in value]
        for key, format in ((key, _OF[key]) for key in given if value.get("format") != _OF[key]):
            raise Problem(f"'{key}' is of {format} files alone", hint=f"take '{key}' away, or write `format: {format}`")
        return value

    @property
    def file_options(self) -> dict[str, str]:
        """As Spark's readers and writers of the format name them."""
        if self.format == "xml":
            return {"rowTag": self.row_tag}
        return {"header": str(self.header).lower(), "sep": self.delimiter} if self.format == "csv" else {}
