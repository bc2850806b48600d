from __future__ import annotations

from typing import Any

from helpers_operators import faults, operator, step

from whorl.operators.native import Project
from whorl.schema import Schema

COLUMNS = {"id": "long", "who": "struct<name:string,at:struct<city:string,zip:int>>", "tags": "map<string,int>"}
SCHEMA = Schema.of(COLUMNS)
ROW = {"id": 1, "who": {"name": "Ada", "at": {"city": "Delft", "zip": 2600}}, "tags": {"a": 1}}


def flat(row: dict[str, Any], schema: Schema | None = SCHEMA, **options: Any) -> dict[str, Any]:
    made: dict[str, Any] = step("flatten", schema, **options).call(row)
    return made


def test_all_the_way_down() -> None:
    assert flat(ROW) == {"id": 1, "who_name": "Ada", "who_at_city": "Delft", "who_at_zip": 2600, "tags": {"a": 1}}
    assert operator("flatten").output(SCHEMA) == Schema.of(
        {"id": "long", "who_name": "string", "who_at_city": "string", "who_at_zip": "int", "tags": "map<string,int>"}
    )


def test_some_levels_of_some_columns() -> None:
    assert flat(ROW, levels=1, separator=".") == {
        "id": 1, "who.name": "Ada", "who.at": {"city": "Delft", "zip": 2600}, "tags": {"a": 1},
    }  # fmt: skip
    assert flat(ROW, columns=["id"]) == ROW


def test_where_a_struct_is_null_its_fields_are() -> None:
    nothing = {"who_name": None, "who_at_city": None, "who_at_zip": None}
    assert flat({"id": 1, "who": None, "tags": None}) == {"id": 1, **nothing, "tags": None}
    assert flat({"id": 1, "who": {"name": "x", "at": None}, "tags": None})["who_at_city"] is None


def test_without_columns_every_map_is_one() -> None:
    assert flat(ROW, None) == {"id": 1, "who_name": "Ada", "who_at_city": "Delft", "who_at_zip": 2600, "tags_a": 1}
    assert operator("flatten").output(None) is None


def test_to_spark_it_is_a_projection() -> None:
    native = operator("flatten", levels=1).native(SCHEMA)
    assert isinstance(native, Project)
    assert native.columns[1] == ("who_name", "`who`.`name`")


def test_what_is_wrong_with_it() -> None:
    assert [fault.code for fault in faults("flatten", {**COLUMNS, "who_name": "string"})] == ["column"]
    assert [fault.code for fault in faults("flatten", COLUMNS, columns=["id"])] == ["type"]
    assert faults("flatten", COLUMNS) == []
