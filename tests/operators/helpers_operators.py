"""Short ways to make operators, steps and metadata, and to crash an operator with state at every record."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from whorl.operators.operator import Fault, OperatorType, Step, Upstream
from whorl.operators.record import Metadata, Row
from whorl.operators.registry import OPERATORS
from whorl.schema import Schema
from whorl.testing import OperatorHarness


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


Act = Callable[[OperatorHarness], Any]


def sent(*rows: tuple[Any, Row]) -> list[Act]:
    """Records, each a key and a row, as what happens to a harness."""
    return [lambda harness, key=key, row=row: harness.send(key, row) for key, row in rows]  # type: ignore[misc]


def assert_survives(make: Callable[[], OperatorHarness], acts: Sequence[Act], keys: Sequence[Any]) -> None:
    """Wherever a commit and then a crash fall, rows, states and timers are as without them."""
    once = _life(make(), acts, len(acts), len(acts))
    for committed, crashed in itertools.combinations_with_replacement(range(len(acts)), 2):
        again = _life(make(), acts, committed, crashed)
        assert again.rows == once.rows
        assert again.timers() == once.timers()
        assert [again.states(key) for key in keys] == [once.states(key) for key in keys]


def _life(harness: OperatorHarness, acts: Sequence[Act], committed: int, crashed: int) -> OperatorHarness:
    for number, act in enumerate(acts):
        act(harness)
        if number == committed:
            harness.commit()
        if number == crashed:
            harness.crash()
    return harness


def faults(type: str, schema: dict[str, str] | None, **options: Any) -> list[Fault]:
    """What an operator finds wrong with itself where rows of this schema enter."""
    columns = Schema.of(schema) if schema else None
    return list(operator(type, **options).reading([Upstream("in", columns)]).faults())


def metadata(key: bytes | None = b"k") -> Metadata:
    return Metadata(FakeMessage(), key)
