"""Makes the states that an operator's class declares usable on one object of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whorl.errors import PipelineError
from whorl.state.codec import HIGHEST_VERSION
from whorl.state.conversion import conversion
from whorl.state.fitting import Fitting, Versions
from whorl.state.partition import LpState
from whorl.state.scope import Rules, Scope
from whorl.state.states import Lifetime, ListState, State, TtlTime
from whorl.state.table import Table
from whorl.units import parse_duration


def declared(operator: type) -> dict[str, State[Any]]:
    """By name, those of the base classes first."""
    names = {name: None for cls in reversed(operator.__mro__) for name, each in vars(cls).items() if _is_state(each)}
    found = {name: getattr(operator, name) for name in names}
    return {name: each for name, each in found.items() if _is_state(each)}


def table_names(operator: type) -> tuple[str, ...]:
    """Of what it declares, in the order of their names."""
    return tuple(sorted(f"{name}{state.suffix}" for name, state in declared(operator).items()))


def _is_state(thing: Any) -> bool:
    return isinstance(thing, State)


class Binding:
    """The states of one operator object. `scope.tables = binding.tables(lp)`, kept by the host for each lp, and `scope.key = …` say
    where they act."""

    def __init__(
        self, operator: object, id: str, lifetime: Lifetime | None = None, versions: Versions | None = None
    ) -> None:
        """`lifetime`: of those states that declare none."""
        self.scope = Scope()
        self._id = id
        self._versions = versions or Versions()
        if not (isinstance(self._versions.now, int) and 1 <= self._versions.now <= HIGHEST_VERSION):
            raise PipelineError(
                f"the version of '{id}' is {self._versions.now!r}, and not a number from 1 to {HIGHEST_VERSION}",
                code="state-declared",
            )
        self._states = {name: state.or_lasting(lifetime or {}) for name, state in declared(type(operator)).items()}
        self._rules = {name: rules(state, name, id) for name, state in self._states.items()}
        for at, (name, state) in enumerate(self._states.items()):
            setattr(operator, name, state.bound(self.scope, at, self._rules[name]))

    @property
    def expires_by(self) -> frozenset[TtlTime]:
        """The clocks by which anything it keeps ends."""
        return frozenset(state.ttl_time for state in self._states.values() if state.ttl is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the states, in the order of `tables`; that of a map is ''."""
        return tuple("" if state.suffix else name for name, state in self._states.items())

    def tables(self, lp: LpState) -> tuple[Table, ...]:
        return tuple(self._tables(lp))

    def _tables(self, lp: LpState) -> Iterator[Table]:
        for name, state in self._states.items():
            table = lp.table(self._id, f"{name}{state.suffix}", event=state.ttl_time == "event")
            table.version = self._versions.now
            table.fitting = Fitting(self._rules[name], self._versions, table.prefix, isinstance(state, ListState))
            yield table


def rules(state: State[Any], name: str, operator: str) -> Rules:
    """Raises where the declaration makes no sense."""
    if state.ttl_time not in ("processing", "event"):
        raise _wrong(operator, name, f"ttl_time '{state.ttl_time}' is neither processing nor event")
    if state.refresh_on_read and state.ttl is None:
        raise _wrong(operator, name, "refresh_on_read means nothing without a ttl")
    return Rules(operator, name, conversion(state.type), _ttl(state, name, operator), state.refresh_on_read)


def _ttl(state: State[Any], name: str, operator: str) -> int | None:
    if state.ttl is None:
        return None
    try:
        seconds = parse_duration(state.ttl) if isinstance(state.ttl, str) else float(state.ttl)
    except (TypeError, ValueError) as error:
        raise _wrong(operator, name, str(error)) from None
    if seconds <= 0:
        raise _wrong(operator, name, "a ttl is more than nothing")
    return max(round(seconds * 1000), 1)


def _wrong(operator: str, name: str, what: str) -> PipelineError:
    return PipelineError(f"the state '{name}' of '{operator}' is declared wrongly: {what}", code="state-declared")
