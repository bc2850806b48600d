"""Operator types by name: those of Whorl, and those that installed packages offer under the entry point `whorl.operators`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

from whorl.errors import PipelineError
from whorl.operators.builtin import BUILTIN
from whorl.operators.operator import OperatorType

GROUP = "whorl.operators"


class Operators(Mapping[str, type[OperatorType]]):
    """Whorl's own names win; another package's code is imported when its operator is first asked for."""

    def __init__(self) -> None:
        self._known = {operator.type: operator for operator in BUILTIN}

    def __getitem__(self, name: str) -> type[OperatorType]:
        if name not in self._known:
            self._known[name] = _loaded(self._offered[name])
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._known, *self._offered]))

    def __len__(self) -> int:
        return len(set(self._known) | set(self._offered))

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._offered

    @cached_property
    def _offered(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=GROUP)}


def _loaded(point: EntryPoint) -> type[OperatorType]:
    try:
        found = point.load()
    except Exception as error:
        raise PipelineError(
            f"operator type '{point.name}' does not load from '{point.value}': {error}", code="import"
        ) from error
    if not (isinstance(found, type) and issubclass(found, OperatorType)):
        raise PipelineError(
            f"'{point.value}' is not an operator type", code="import", hint="derive it from OperatorType"
        )
    return found


OPERATORS: Mapping[str, type[OperatorType]] = Operators()
