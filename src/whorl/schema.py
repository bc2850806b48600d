"""Column names and types of rows, in Spark's words.

A type is Spark's DDL spelling in lower case: `string`, `long`, `array<double>`, `struct<a:long,b:string>`. `UNKNOWN` stands for a
column that exists but whose type nobody declared. A schema that is not known at all is `None` wherever one is expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

UNKNOWN = "unknown"
ALIASES = {
    "int": "int", "integer": "int", "bigint": "long", "long": "long", "smallint": "int", "short": "int", "tinyint": "int",
    "byte": "int", "float": "float", "real": "float", "double": "double", "string": "string", "text": "string",
    "varchar": "string", "boolean": "boolean", "bool": "boolean", "timestamp": "timestamp", "date": "date",
    "binary": "binary", "bytes": "binary", UNKNOWN: UNKNOWN,
}  # fmt: skip
_DECIMAL = re.compile(r"decimal(\(\s*\d+\s*(,\s*\d+\s*)?\))?$")


def normal_type(text: str) -> str:
    """The one spelling of a type; raises ValueError naming the part that is not a type."""
    word = text.strip().lower()
    if word in ALIASES:
        return ALIASES[word]
    if _DECIMAL.match(word):
        return re.sub(r"\s", "", word) if "(" in word else "decimal(10,0)"
    outer, _, inner = text.strip().partition("<")
    if not inner.endswith(">") or outer.lower() not in ("array", "map", "struct"):
        raise ValueError(f"'{text}' is not a type")
    parts = split_top(inner[:-1])
    if outer.lower() == "struct":
        fields = [part.replace(" ", ":", 1) if ":" not in part else part for part in parts]
        return (
            "struct<"
            + ",".join(f"{n.strip()}:{normal_type(t)}" for n, _, t in (f.partition(":") for f in fields))
            + ">"
        )
    if len(parts) != (2 if outer.lower() == "map" else 1):
        raise ValueError(f"'{text}' is not a type")
    return f"{outer.lower()}<{','.join(normal_type(part) for part in parts)}>"


def split_top(text: str) -> list[str]:
    """`a,map<b,c>` at its outer commas."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "<(":
            depth += 1
        elif char in ">)":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()]


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns in order: (name, type) pairs."""

    columns: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, columns: Mapping[str, str]) -> Schema:
        return cls(tuple((name, normal_type(kind)) for name, kind in columns.items()))

    def __contains__(self, name: object) -> bool:
        return any(column == name for column, _ in self.columns)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    def type_of(self, name: str) -> str:
        return dict(self.columns).get(name, UNKNOWN)


INFER = Schema(())
"""Stands for columns that are found when a pipeline first starts."""
TEXT = Schema((("value", "string"),))
BYTES = Schema((("value", "binary"),))
