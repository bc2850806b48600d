"""How a record's bytes become a row: `format: json`, or `format: {type: csv, delimiter: ";"}`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator


class _Format(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class JsonFormat(_Format):
    """A JSON object is a row. With a schema: its columns and types, missing ones null, others left out."""

    type: Literal["json"] = Field("json", description="one JSON object a record")


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
    """Avro without a file header: the record alone, written with this schema."""

    type: Literal["avro"] = Field("avro", description="Avro binary, one record")
    schema_: dict[str, Any] | str | None = Field(
        None, alias="schema", description="the Avro schema, as a mapping or as JSON text"
    )
    file: str | None = Field(None, description="path of a file that holds the Avro schema")

    @model_validator(mode="after")
    def _one_of_both(self) -> AvroFormat:
        if (self.schema_ is None) == (self.file is None):
            raise ValueError("give either 'schema' or 'file'")
        return self


class RowsFormat(_Format):
    """Whorl's own, for topics between components: every type of a row comes back as it was."""

    type: Literal["rows"] = Field("rows", description="Whorl's own, for topics between components")


FormatOptions = JsonFormat | TextFormat | BytesFormat | CsvFormat | AvroFormat | RowsFormat
FORMATS: dict[str, type[FormatOptions]] = {
    "json": JsonFormat, "text": TextFormat, "bytes": BytesFormat, "csv": CsvFormat, "avro": AvroFormat, "rows": RowsFormat,
}  # fmt: skip
_ADAPTER: TypeAdapter[FormatOptions] = TypeAdapter(Annotated[FormatOptions, Field(discriminator="type")])


def parse_format(value: Any) -> FormatOptions:
    """From the short or the long spelling. Raises ValueError (pydantic's is one)."""
    return _ADAPTER.validate_python({"type": value} if isinstance(value, str) else value)
