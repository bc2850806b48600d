from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import PipelineError
from whorl.formats import FORMATS, Codec, codec, format_schema, parse_format
from whorl.schema import BYTES, TEXT, Schema

AVRO = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": ["null", "string"], "default": None}],
}


def made(format: Any, schema: dict[str, str] | None = None) -> Codec:
    return codec(parse_format(format), Schema.of(schema) if schema else None)


class TestOptions:
    def test_short_and_long_spelling(self) -> None:
        assert parse_format("json") == parse_format({"type": "json"})
        assert parse_format({"type": "csv", "delimiter": ";"}).delimiter == ";"  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        "value", ["jsn", {"type": "csv", "delimeter": ";"}, {"delimiter": ";"}, {"type": "avro"}, 5, None]
    )
    def test_refusals(self, value: Any) -> None:
        with pytest.raises(ValueError):
            parse_format(value)

    def test_every_option_is_described(self) -> None:
        for options in FORMATS.values():
            assert options.__doc__
            assert all(field.description for field in options.model_fields.values())

    def test_columns_that_a_format_gives(self) -> None:
        assert format_schema(parse_format("text")) == TEXT
        assert format_schema(parse_format("bytes")) == BYTES
        assert format_schema(parse_format("json")) is None
        assert format_schema(parse_format({"type": "csv", "columns": ["x", "y"]})) == Schema.of(
            {"x": "string", "y": "string"}
        )
        assert format_schema(parse_format({"type": "avro", "schema": AVRO})) == Schema.of({"a": "long", "b": "string"})


@pytest.mark.parametrize(
    "format", ["json", "text", "bytes", {"type": "csv", "columns": ["a"]}, {"type": "avro", "schema": AVRO}, "rows"]
)
def test_no_value_is_none(format: Any) -> None:
    assert made(format).decode(None) is None


class TestText:
    def test_value(self) -> None:
        text = made("text")
        assert text.decode("ünï".encode()) == {"value": "ünï"}
        assert text.decode(b"") == {"value": ""}
        assert text.encode({"value": "ü"}) == "ü".encode()
        assert text.encode({"value": 42}) == b"42"
        assert text.encode({"value": None}) is None

    def test_invalid_utf8(self) -> None:
        with pytest.raises(ValueError, match=r"not UTF-8 text: .* at byte 1"):
            made("text").decode(b"a\xff")

    def test_what_has_no_text(self) -> None:
        with pytest.raises(ValueError, match=r"no column 'value'.*the row has: a"):
            made("text").encode({"a": 1})
        with pytest.raises(ValueError, match="not text"):
            made("text").encode({"value": [1]})


class TestBytes:
    def test_value(self) -> None:
        assert made("bytes").decode(b"\xff\x00") == {"value": b"\xff\x00"}
        assert made("bytes").decode(b"") == {"value": b""}
        assert made("bytes").encode({"value": b"x"}) == b"x"
        assert made("bytes").encode({"value": None}) is None
        with pytest.raises(ValueError, match="not bytes"):
            made("bytes").encode({"value": "text"})


class TestJson:
    SCHEMA = {
        "s": "string",
        "n": "long",
        "d": "double",
        "b": "boolean",
        "at": "timestamp",
        "day": "date",
        "price": "decimal(10,2)",
    }

    def test_without_a_schema(self) -> None:
        assert made("json").decode(b'{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}

    def test_coerces_fills_and_leaves_out(self) -> None:
        data = b'{"s": "x", "n": 5, "d": 2, "b": true, "at": "2024-01-01T12:00:00+02:00", "day": "2024-01-02", "price": 1.255, "extra": 1}'
        row = made("json", self.SCHEMA).decode(data)
        assert row == {
            "s": "x", "n": 5, "d": 2.0, "b": True, "at": datetime(2024, 1, 1, 10, tzinfo=UTC), "day": date(2024, 1, 2), "price": Decimal("1.26"),
        }  # fmt: skip
        assert isinstance(row["d"], float)
        assert made("json", self.SCHEMA).decode(b"{}") == dict.fromkeys(self.SCHEMA)

    @pytest.mark.parametrize(
        ("text", "moment"),
        [
            ('"2024-01-01 00:00:00"', datetime(2024, 1, 1, tzinfo=UTC)), ('"2024-01-01"', datetime(2024, 1, 1, tzinfo=UTC)),
            ('"2024-01-01T00:00:00.123456Z"', datetime(2024, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)),
            ("0", datetime(1970, 1, 1, tzinfo=UTC)), ("1.5", datetime(1970, 1, 1, 0, 0, 1, 500000, tzinfo=UTC)),
        ],
    )  # fmt: skip
    def test_timestamps(self, text: str, moment: datetime) -> None:
        assert made("json", {"at": "timestamp"}).decode(f'{{"at": {text}}}'.encode()) == {"at": moment}

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            ("long", "1.5"), ("long", '"5"'), ("long", "true"), ("int", "3000000000"), ("double", '"x"'), ("boolean", "1"), ("timestamp", '"x"'),
            ("timestamp", "true"), ("date", "5"), ("array<long>", "{}"), ("array<long>", '["x"]'), ("struct<a:long>", '{"a": "x"}'),
            ("map<string,long>", '{"a": "x"}'), ("decimal(3,1)", "12345"), ("binary", '"%"'),
        ],
    )  # fmt: skip
    def test_a_mismatch_names_the_column(self, kind: str, value: str) -> None:
        with pytest.raises(ValueError, match="column 'col'"):
            made("json", {"col": kind}).decode(f'{{"col": {value}}}'.encode())

    def test_nested_types(self) -> None:
        nested = made("json", {"x": "struct<at:timestamp,tags:array<string>>", "m": "map<int,double>"})
        assert nested.decode(b'{"x": {"at": 0, "tags": ["a", null, 5]}, "m": {"1": 2}}') == {
            "x": {"at": datetime(1970, 1, 1, tzinfo=UTC), "tags": ["a", None, "5"]}, "m": {1: 2.0},
        }  # fmt: skip

    @pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'"x"', b"null", b'{"a": "\xff"}'])
    def test_what_is_no_object(self, data: bytes) -> None:
        for each in (made("json"), made("json", {"a": "string"})):
            with pytest.raises(ValueError, match="the value is"):
                each.decode(data)

    def test_encode(self) -> None:
        row = {
            "at": datetime(2024, 1, 1, tzinfo=UTC),
            "day": date(2024, 1, 2),
            "price": Decimal("1.50"),
            "raw": b"\x00\xff",
            "m": {1: None},
        }
        assert (
            made("json").encode(row)
            == b'{"at":"2024-01-01T00:00:00Z","day":"2024-01-02","price":1.50,"raw":"AP8=","m":{"1":null}}'
        )
        with pytest.raises(ValueError, match="has no JSON form"):
            made("json").encode({"x": object()})

    def test_there_and_back(self) -> None:
        both = made("json", {**self.SCHEMA, "raw": "binary", "odd 'name'": "string"})
        row = {
            "s": "x", "n": -5, "d": 0.1, "b": False, "at": datetime(2024, 1, 1, 1, 2, 3, 4, tzinfo=UTC), "day": date(2024, 1, 2),
            "price": Decimal("99999999.99"), "raw": b"\x00\xff", "odd 'name'": None,
        }  # fmt: skip
        assert both.decode(both.encode(row)) == row


class TestCsv:
    SCHEMA = {"a": "long", "b": "string", "at": "timestamp", "t": "array<long>"}

    def test_there_and_back(self) -> None:
        both = made({"type": "csv", "delimiter": ";"}, self.SCHEMA)
        row = {"a": 5, "b": 'semi;colon "quoted"\nline', "at": datetime(2024, 1, 1, tzinfo=UTC), "t": [1, 2]}
        assert both.decode(both.encode(row)) == row
        alone = {**row, "b": "one\nline\rand another"}
        assert both.decode(both.encode(alone)) == alone
        empty = dict.fromkeys(self.SCHEMA)
        assert both.encode(empty) == b";;;"
        assert both.decode(b";;;") == empty

    def test_columns_of_the_format(self) -> None:
        assert made({"type": "csv", "columns": ["x", "y"]}).decode(b"1,z\n") == {"x": "1", "y": "z"}

    @pytest.mark.parametrize(
        ("data", "words"), [(b"1,2", "2 cells, not 4"), (b"x,,,", "column 'a'"), (b'1,"open,,', "not a CSV line"), (b"\xff,,,", "UTF-8"), (b"1,a,,\n2,b,,", "2 CSV lines")]
    )  # fmt: skip
    def test_errors(self, data: bytes, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            made("csv", self.SCHEMA).decode(data)

    def test_needs_columns(self) -> None:
        with pytest.raises(PipelineError, match="does not know its columns"):
            made("csv")


class TestAvro:
    def test_there_and_back(self, tmp_path: Path) -> None:
        (tmp_path / "r.avsc").write_text(json.dumps(AVRO))
        for options in ({"schema": AVRO}, {"schema": json.dumps(AVRO)}, {"file": str(tmp_path / "r.avsc")}):
            both = made({"type": "avro", **options})
            assert both.decode(both.encode({"a": 5, "b": "x"})) == {"a": 5, "b": "x"}

    def test_errors(self) -> None:
        both = made({"type": "avro", "schema": AVRO})
        for data in (b"", b"\x0a", both.encode({"a": 1, "b": None}) + b"x"):
            with pytest.raises(ValueError, match="the value is"):
                both.decode(data)
        with pytest.raises(ValueError, match="does not fit the Avro schema"):
            both.encode({"a": "x"})

    @pytest.mark.parametrize(
        ("options", "words"), [({"schema": "{"}, "schema is wrong"), ({"schema": {"type": "nope"}}, "schema is wrong"), ({"file": "missing.avsc"}, "cannot be read"), ({"schema": '"long"'}, "not a record")]
    )  # fmt: skip
    def test_wrong_schemas(self, options: dict[str, Any], words: str) -> None:
        with pytest.raises(PipelineError, match=words):
            made({"type": "avro", **options})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False) | st.text(max_size=5) | st.binary(max_size=5)
    | st.dates() | st.datetimes(timezones=st.just(UTC)) | st.decimals(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(0, 9), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


class TestRows:
    @given(st.dictionaries(st.text(max_size=5), VALUES, max_size=5))
    def test_every_row_comes_back(self, row: dict[str, Any]) -> None:
        both = made("rows")
        assert both.decode(both.encode(row)) == row

    def test_types_come_back(self) -> None:
        both = made("rows")
        row = {"a": 1, "b": 1.0, "c": True, "d": Decimal("1.50"), "e": b"x"}
        back = both.decode(both.encode(row))
        assert [type(each) for each in back.values()] == [type(each) for each in row.values()]
        assert str(back["d"]) == "1.50"

    def test_the_first_byte_is_the_version(self) -> None:
        data = made("rows").encode({"a": 1})
        assert data[0] == 1
        for wrong in (b"\x02" + data[1:], b""):
            with pytest.raises(ValueError, match="version"):
                made("rows").decode(wrong)
        with pytest.raises(ValueError, match="not in the rows format"):
            made("rows").decode(data[:-1])

    def test_what_has_no_form(self) -> None:
        with pytest.raises(ValueError, match="cannot be written"):
            made("rows").encode({"a": object()})
