"""csv: a line a record. An empty cell is null; a line with another number of cells than columns is wrong."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import orjson

from whorl.errors import PipelineError
from whorl.formats.codec import Codec, Decode, Encode, Quick, Row
from whorl.formats.coerce import cell_converter
from whorl.formats.options import CsvFormat
from whorl.schema import UNKNOWN, Schema

_END = "\r\n"
"""What the writer puts behind a line: cells that hold any of it are quoted."""


def csv_codec(options: CsvFormat, schema: Schema | None) -> Codec:
    names = options.columns or (schema.names if schema else ())
    if not names:
        raise PipelineError(
            "format csv does not know its columns", code="format", hint="give a schema, or columns in the format"
        )
    return Codec(_decoder(options, names, schema), _encoder(options, names), quick=partial(_numbers, options, names))


def _decoder(options: CsvFormat, names: tuple[str, ...], schema: Schema | None) -> Decode:
    columns = [(name, cell_converter(schema.type_of(name) if schema else UNKNOWN)) for name in names]
    delimiter, quote = options.delimiter, options.quote

    def decode(data: bytes | None) -> Row | None:
        if data is None:
            return None
        cells = _cells(_text(data), delimiter, quote)
        if len(cells) != len(columns):
            raise ValueError(f"the line has {len(cells)} cells, not {len(columns)} ({', '.join(names)})")
        return {name: _converted(name, convert, cell) for (name, convert), cell in zip(columns, cells, strict=True)}

    return decode


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"the value is not UTF-8 text: {error.reason} at byte {error.start}") from None


def _cells(text: str, delimiter: str, quote: str) -> list[str]:
    if quote not in text and "\n" not in text and "\r" not in text:
        return text.split(delimiter)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote, strict=True))
    except csv.Error as error:
        raise ValueError(f"the value is not a CSV line: {error}") from None
    if len(lines) != 1:
        raise ValueError(f"the value has {len(lines)} CSV lines, not one")
    return lines[0]


def _converted(name: str, convert: Callable[[str], Any] | None, cell: str) -> Any:
    if cell == "":
        return None
    if convert is None:
        return cell
    try:
        return convert(cell)
    except (ValueError, ArithmeticError) as error:
        raise ValueError(f"column '{name}': {error}") from None


def _encoder(options: CsvFormat, names: tuple[str, ...]) -> Encode:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=options.delimiter, quotechar=options.quote, lineterminator=_END)

    def encode(row: Row) -> bytes:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow([_cell(row.get(name)) for name in names])
        return buffer.getvalue().removesuffix(_END).encode()

    quick = _numbers(options, names, {name: f"c{index}" for index, name in enumerate(names)})
    return encode if quick is None else _numbers_first(quick, names, encode)


def _numbers(options: CsvFormat, names: tuple[str, ...], columns: Mapping[str, str]) -> Quick | None:
    """Of rows that hold whole numbers alone, which need no quotes."""
    cells = [f"({columns[name]})" for name in names if name in columns]
    if len(cells) < len(names) or set(options.delimiter + options.quote) & set("-0123456789"):
        return None
    line = options.delimiter.replace("%", "%%").join("%d" for _ in cells).encode()
    where = " and ".join(f"{cell}.__class__ is int" for cell in cells)
    return Quick(f"{line!r} % ({''.join(f'{cell}, ' for cell in cells)})", where)


def _numbers_first(quick: Quick, names: tuple[str, ...], others: Encode) -> Encode:
    """It is compiled, being called for each row."""
    scope: dict[str, Any] = {"others": others}
    lines = [
        "def encode(row):",
        *(f"    c{index} = row.get({name!r})" for index, name in enumerate(names)),
        f"    return {quick.value} if {quick.where} else others(row)",
    ]
    exec("\n".join(lines), scope)
    encoder: Encode = scope["encode"]
    return encoder


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return orjson.dumps(value).decode() if isinstance(value, list | dict) else value
