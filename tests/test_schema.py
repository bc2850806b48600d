"""Types have one spelling; a schema knows its columns."""

from __future__ import annotations

import pytest

from whorl.schema import UNKNOWN, Schema, normal_type, split_top


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("STRING", "string"),
        ("bigint", "long"),
        (" Integer ", "int"),
        ("decimal", "decimal(10,0)"),
        ("decimal( 12 , 2 )", "decimal(12,2)"),
        ("array<bigint>", "array<long>"),
        ("map<string, array<int>>", "map<string,array<int>>"),
        ("struct<a:long,b:string>", "struct<a:long,b:string>"),
        ("struct<Name string, at: timestamp>", "struct<Name:string,at:timestamp>"),
        ("array<struct<a:decimal(4,1)>>", "array<struct<a:decimal(4,1)>>"),
    ],
)
def test_a_type_has_one_spelling(written: str, normal: str) -> None:
    assert normal_type(written) == normal
    assert normal_type(normal) == normal


@pytest.mark.parametrize(
    "written", ["", "duoble", "array<", "array<>", "array<int,int>", "map<string>", "list<int>", "array<nope>"]
)
def test_what_is_no_type_is_named(written: str) -> None:
    with pytest.raises(ValueError, match="is not a type"):
        normal_type(written)


def test_text_is_split_at_its_outer_commas() -> None:
    assert split_top("a,map<b,c>, decimal(3,1)") == ["a", "map<b,c>", "decimal(3,1)"]


def test_a_schema_knows_its_columns_in_order() -> None:
    schema = Schema.of({"account": "string", "amount": "DOUBLE"})
    assert schema.names == ("account", "amount")
    assert list(schema) == [("account", "string"), ("amount", "double")]
    assert "amount" in schema and "Amount" not in schema
    assert schema.type_of("amount") == "double" and schema.type_of("other") == UNKNOWN


def test_schemas_are_values() -> None:
    assert Schema.of({"a": "bigint"}) == Schema.of({"a": "long"})
    assert len({Schema.of({"a": "bigint"}), Schema.of({"a": "long"})}) == 1
