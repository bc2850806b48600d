"""Where the states of an operator act now, and what all of them have in common.

One operator object serves all logical partitions of a task. What belongs to the present one is in the `Scope`, so going to another is
setting one attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from whorl.errors import PipelineError, StateUnfit
from whorl.state.table import Table

MIGRATE = "migrate(self, state, key, value, version)"
"""What an operator that declares a version has."""


class Scope:
    """Where the states of one operator act now."""

    __slots__ = ("key", "keys", "tables")

    def __init__(self) -> None:
        self.key: bytes | None = None
        """None: no record and no timer is being processed."""
        self.keys: Container[bytes] = ()
        """Of the records that are being processed together."""
        self.tables: tuple[Table, ...] = ()
        """Of the present lp, in the order in which the states are bound."""


class Conversion(NamedTuple):
    """From a declared type to what can be kept, and back; None where nothing is to be done."""

    kind: type | None = None
    """A class whose own objects need no `dump`."""
    dump: Callable[[Any], Any] | None = None
    load: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """What was declared of a state, ready for use."""

    operator: str
    name: str
    conversion: Conversion
    ttl: int | None
    """ms"""
    refresh: bool


def used_outside(what: str, operator: str) -> PipelineError:
    return PipelineError(
        f"{what} of '{operator}' was used where there is no current key",
        hint="use it in process or on_timer; a record with a null key has no state",
        code="state-outside",
    )


def unfit(rules: Rules, key: bytes | None, error: Exception) -> StateUnfit:
    """What was stored is not of the type that is declared now."""
    first = str(error).splitlines()[0]
    return StateUnfit(
        f"the state '{rules.name}' of '{rules.operator}' holds something else for the key {key!r:.80} than its type takes: {first}",
        hint=f"declare the next `version` in its class, with a method {MIGRATE}; or give the operator another id, and so no state",
    )


class Bound:
    __slots__ = ("_at", "_dump", "_kind", "_load", "_refresh", "_rules", "_scope", "_ttl")

    def __init__(self, scope: Scope, at: int, rules: Rules) -> None:
        self._scope, self._at, self._rules = scope, at, rules
        self._kind, self._dump, load = rules.conversion
        self._load = None if load is None else self._loading(load)
        self._ttl = rules.ttl
        self._refresh = rules.refresh and rules.ttl is not None

    @property
    def _table(self) -> Table:
        """Of the present logical partition, whatever the key."""
        return self._scope.tables[self._at]

    def _place(self) -> tuple[Table, bytes]:
        scope = self._scope
        if scope.key is None:
            raise self._outside()
        return scope.tables[self._at], scope.key

    def _places(self, keys: Iterable[bytes]) -> tuple[Table, list[bytes]]:
        """Of many keys, all of which must be at hand: those of other records may be kept by another task."""
        scope, listed = self._scope, list(keys)
        for key in listed:
            if key not in scope.keys:
                raise PipelineError(
                    f"the state '{self._rules.name}' of '{self._rules.operator}' was asked for the key {key!r:.80}, which no record here has",
                    hint="use get_many and put_many in process_batch, with its keys",
                    code="state-outside",
                )
        return scope.tables[self._at], listed

    def _outside(self) -> PipelineError:
        return used_outside(f"the state '{self._rules.name}'", self._rules.operator)

    def _ends(self, table: Table) -> int | None:
        return None if self._ttl is None else table.ends(self._ttl)

    def _dumped(self, value: Any) -> Any:
        try:
            return value if self._dump is None else self._dump(value)
        except (TypeError, ValueError) as error:
            name = f"'{self._rules.name}' of '{self._rules.operator}'"
            raise PipelineError(f"the state {name} cannot hold this value: {error}", code="state-value") from error

    def _loading(self, load: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def loaded(value: Any) -> Any:
            try:
                return load(value)
            except ValueError as error:
                raise unfit(self._rules, self._scope.key, error) from error

        return loaded

    def _loaded(self, value: Any) -> Any:
        return value if self._load is None or value is None else self._load(value)
