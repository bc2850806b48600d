"""Types from values, how sure they are, and what has changed since."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.config.sources import FileSource
from whorl.errors import PipelineError, WorldError
from whorl.formats import codec, parse_format
from whorl.schema import INFER, Schema, normal_type
from whorl.schemas.drift import drifts, widened
from whorl.schemas.observe import infer, infer_cells
from whorl.schemas.sampling import of_values, sample_files

JSON = parse_format("json")


@pytest.mark.parametrize(
    ("values", "type"),
    [
        ([1, 2], "long"),
        ([1, 2.5], "double"),
        ([True], "boolean"),
        ([1 << 70, 1], "decimal(38,0)"),
        ([1 << 70, 1.5], "double"),
        (["2026-01-01T10:00:00Z"], "timestamp"),
        (["2026-01-01", "2026-01-01 10:00"], "timestamp"),
        (["2026-01-01"], "date"),
        (["2026-13-45"], "string"),
        ([1, "x"], "string"),
        ([True, 1], "string"),
        ([[1], [2.5], []], "array<double>"),
        ([{"a": 1}, {"b": "x"}], "struct<a:long,b:string>"),
        ([{"odd name": 1}], "string"),
        ([{}], "string"),
        ([None], "string"),
        ([[]], "array<string>"),
    ],
)
def test_types_are_merged(values: list[Any], type: str) -> None:
    assert infer({"x": value} for value in values).schema == Schema((("x", type),))


def test_how_sure_it_is_grows_with_what_was_seen() -> None:
    few, many = infer([{"n": 1}]), infer([{"n": 1}] * 1000)
    assert few.columns[0].sure == pytest.approx(2 / 3) and many.columns[0].sure > 0.99
    mixed = infer([*[{"n": 1}] * 98, {"n": "x"}, {}, None])
    column = mixed.columns[0]
    assert (column.type, column.found) == ("string", "98 long, 1 string, 1 without")
    assert column.sure < 0.05 and mixed.rows == 100 and mixed.unreadable == 1
    assert infer([{"n": None}]).columns[0].sure == 0


def test_cells_of_text() -> None:
    found = infer_cells(["a", "b", "c", "d"], [["1", "2.5", "true", ""], ["-3", "4", "false", "Infinity"]])
    assert dict(found.schema) == {"a": "long", "b": "double", "c": "boolean", "d": "string"}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab_", min_size=1, max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(st.lists(st.dictionaries(st.sampled_from("abc"), JSON_VALUES, max_size=3), min_size=1, max_size=8))
def test_what_was_sampled_is_read_by_what_was_found(rows: list[dict[str, Any]]) -> None:
    """The law: a schema inferred from all rows is a right type, reads each of them, and sees no drift in them."""
    encoded = [json.dumps(row).encode() for row in rows]
    found = of_values(encoded, JSON)
    assert [normal_type(kind) for _, kind in found.schema] == [kind for _, kind in found.schema]
    if found.columns:
        read = codec(parse_format({"type": "json", "strict": True}), found.schema).decode
        assert all(read(value) is not None for value in encoded)
    assert list(drifts(found.schema, found)) == []


def test_drift_is_a_new_column_or_another_type() -> None:
    pinned = Schema.of({"id": "long", "amount": "double", "note": "string", "at": "timestamp", "tags": "array<string>"})
    same = infer([{"id": 1, "amount": 2, "note": 5, "at": "2026-01-01T00:00:00Z", "tags": ["a"]}, {"id": None}, {}])
    assert list(drifts(pinned, same)) == []
    now = infer([{"id": "a-1", "amount": 2.5, "coupon": "X", "tags": "a"}])
    found = list(drifts(pinned, now))
    assert [str(each) for each in found] == [
        "column 'id' is string now, it was long",
        "new column 'coupon' string",
        "column 'tags' is string now, it was array<string>",
    ]
    assert widened(pinned, found).names == (*pinned.names, "coupon")


def test_strict_json_refuses_what_is_not_in_the_schema() -> None:
    decode = codec(parse_format({"type": "json", "strict": True}), Schema.of({"a": "long"})).decode
    assert decode(b'{"a":1}') == {"a": 1} and decode(b"{}") == {"a": None}
    with pytest.raises(ValueError, match="column 'b' is new"):
        decode(b'{"a":1,"b":2}')


def test_files_are_sampled(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"n": 1}\n\n{"n": 2.5}\nno json\n')
    (tmp_path / "_SUCCESS").write_text("")
    found = sample_files(FileSource(path=str(tmp_path), schema=INFER))
    assert dict(found.schema) == {"n": "double"} and (found.rows, found.unreadable) == (2, 1)
    table = tmp_path / "csv"
    table.mkdir()
    (table / "a.csv").write_text("id;when\n1;2026-01-01\n")
    source = FileSource(path=str(table), format="csv", delimiter=";", schema=INFER)
    assert dict(sample_files(source).schema) == {"id": "long", "when": "date"}
    with pytest.raises(WorldError, match="no files"):
        sample_files(FileSource(path=str(tmp_path / "none"), schema=INFER))
    with pytest.raises(WorldError, match="not on this machine"):
        sample_files(FileSource(path="hdfs://x/y", schema=INFER))
    with pytest.raises(PipelineError, match="not inferred"):
        sample_files(FileSource(path=str(tmp_path), format="orc", schema=INFER))


def test_columns_of_csv_records_need_names() -> None:
    with pytest.raises(PipelineError, match="do not say what their columns are called"):
        of_values([b"1,2"], parse_format("csv"))
    assert dict(of_values([b"1,x"], parse_format({"type": "csv", "columns": ["a", "b"]})).schema) == {
        "a": "long",
        "b": "string",
    }
    with pytest.raises(PipelineError, match="text says itself"):
        of_values([b"x"], parse_format("text"))
