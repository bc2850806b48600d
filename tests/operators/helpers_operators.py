"""Short ways to make operators, steps and metadata."""

from __future__ import annotations

from typing import Any

from whorl.operators.operator import OperatorType, Step
from whorl.operators.record import Metadata
from whorl.operators.registry import OPERATORS
from whorl.schema import Schema


class FakeMessage:
    def topic(self) -> str:
        return "in"

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return 14

    def key(self) -> bytes | None:
        return b"k"

    def value(self) -> bytes | None:
        return b""

    def headers(self) -> Any:
        return [("h", b"1")]

    def timestamp(self) -> tuple[int, int]:
        return (1, 1000)


def operator(type: str, **options: Any) -> OperatorType:
    cls = OPERATORS[type]
    return cls(cls.Options.model_validate(options))


def step(type: str, schema: Schema | None = None, **options: Any) -> Step:
    return operator(type, **options).step(schema)


def metadata(key: bytes | None = b"k") -> Metadata:
    return Metadata(FakeMessage(), key)
