"""How a record's bytes become a row: `format: json`, or `format: {type: csv, delimiter: ";"}`."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator, model_validator

INLINE = "base64:"
"""Before a descriptor set that stands in the pipeline itself."""


class _Format(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class JsonFormat(_Format):
    """A JSON object is a row. With a schema: its columns and types, missing ones null, others left out."""

    type: Literal["json"] = Field("json", description="one JSON object a record")
    strict: bool = Field(False, description="with a schema: a record that has any other column cannot be read")


class TextFormat(_Format):
    """UTF-8 text is a row with the one column `value`."""

    type: Literal["text"] = Field("text", description="UTF-8 text, in the column 'value'")


class BytesFormat(_Format):
    """Any bytes are a row with the one column `value`."""

    type: Literal["bytes"] = Field("bytes", description="bytes as they are, in the column 'value'")


class CsvFormat(_Format):
    """A line is a row. Columns come from `columns`, or from the schema; an empty cell is null."""

    type: Literal["csv"] = Field("csv", description="one line a record")
    delimiter: str = Field(",", min_length=1, max_length=1, description="what stands between cells")
    quote: str = Field('"', min_length=1, max_length=1, description="what surrounds a cell that holds the delimiter")
    columns: tuple[str, ...] | None = Field(
        None, min_length=1, description="names of the columns; default those of the schema"
    )


class AvroFormat(_Format):
    """Avro without a file header: the record alone, written with this schema; or, as with a schema registry, behind five bytes that give its number."""

    type: Literal["avro"] = Field("avro", description="Avro binary, one record")
    schema_: dict[str, Any] | str | None = Field(
        None, alias="schema", description="the Avro schema, as a mapping or as JSON text"
    )
    file: str | None = Field(None, description="path of a file that holds the Avro schema")
    registry: str | None = Field(
        None,
        description="URL of a schema registry, http://user:password@host:8081: what a record's number stands for is asked there, and a sink "
        "registers its schema; without `schema` and `file` the subject's latest is taken",
    )
    subject: str | None = Field(None, description="with `registry`: the subject, by custom TOPIC-value")
    wire: Literal["plain", "registry"] = Field(
        "plain",
        description="registry: a zero byte and the schema's number, four bytes, stand before each record; so it is with `registry`",
    )
    schema_id: int = Field(
        1, ge=0, description="with `wire: registry` and no `registry`: the number that a sink writes"
    )

    @field_validator("schema_")
    @classmethod
    def _as_text(cls, schema: dict[str, Any] | str | None) -> str | None:
        return json.dumps(schema) if isinstance(schema, dict) else schema

    @model_validator(mode="after")
    def _one_of_both(self) -> AvroFormat:
        if self.schema_ is not None and self.file is not None:
            raise ValueError("give either 'schema' or 'file'")
        if self.schema_ is None and self.file is None and self.registry is None:
            raise ValueError("give 'schema' or 'file', or a 'registry'")
        if (self.registry is None) != (self.subject is None):
            raise ValueError("'registry' and 'subject' go together")
        return self

    @property
    def has_number(self) -> bool:
        """Whether a schema's number stands before each record."""
        return self.wire == "registry" or self.registry is not None


class ProtobufFormat(_Format):
    """A Protocol Buffers message is a row; its fields are the columns. Enums are text, Timestamp a timestamp, wrapped values may be null."""

    type: Literal["protobuf"] = Field("protobuf", description="one message a record")
    descriptor: str = Field(
        description="path of a descriptor set, as `protoc --include_imports --descriptor_set_out=FILE` writes it; or base64:… of its bytes"
    )
    message: str = Field(description="the full name of the message: shop.Order")


class XmlFormat(_Format):
    """An XML element is a row: children and attributes are columns, repeated children arrays. It needs a schema; names of attributes begin with `_`."""

    type: Literal["xml"] = Field("xml", description="one element a record")
    row_tag: str = Field("row", description="the element that a sink writes")


class RowsFormat(_Format):
    """Whorl's own, for topics between components: every type of a row comes back as it was."""

    type: Literal["rows"] = Field("rows", description="Whorl's own, for topics between components")


FormatOptions = JsonFormat | TextFormat | BytesFormat | CsvFormat | AvroFormat | ProtobufFormat | XmlFormat | RowsFormat
FORMATS: dict[str, type[FormatOptions]] = {
    "json": JsonFormat, "text": TextFormat, "bytes": BytesFormat, "csv": CsvFormat, "avro": AvroFormat,
    "protobuf": ProtobufFormat, "xml": XmlFormat, "rows": RowsFormat,
}  # fmt: skip
_ADAPTER: TypeAdapter[FormatOptions] = TypeAdapter(
    Annotated[FormatOptions, Field(discriminator="type")], config=ConfigDict(defer_build=True)
)


def parse_format(value: Any) -> FormatOptions:
    """From the short or the long spelling. Raises ValueError (pydantic's is one)."""
    return _ADAPTER.validate_python({"type": value} if isinstance(value, str) else value)
