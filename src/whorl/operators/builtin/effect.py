"""What a `python` sink becomes: user code that does something outside, for each record or, by an id, once.

What lies outside is in no transaction, so between the deed and the note of it there is a moment in which a crash leaves both open: the
window of doubt. With `state` it reaches from the deed to the next commit, after a crash those deeds are done again. In a store outside it
is the deed itself: what was claimed and not noted as done is in doubt, and told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

import orjson

from whorl.errors import PipelineError
from whorl.operators.builtin.by_key import keyed_step, paths
from whorl.operators.builtin.python import takes_metadata
from whorl.operators.keyed import Context, KeyedOperator
from whorl.operators.loading import load
from whorl.operators.operator import OperatorType, Shape, Step
from whorl.operators.record import Metadata, Row
from whorl.schema import Schema
from whorl.state.binding import table_names
from whorl.state.states import ValueState

STATE = "state"
_STORES = {
    "redis": "whorl.operators.builtin.redis_once:RedisOnce",
    "rediss": "whorl.operators.builtin.redis_once:RedisOnce",
}
Deed = Callable[[Row, Metadata], Any]


class InDoubt(Exception):
    """Something was begun for an id, and nobody knows whether it was done."""


class Once(Protocol):
    """A store of ids outside. Each step is kept for good when it returns."""

    def claim(self, id: str) -> str:
        """`new`: it is ours; `done`: nothing is left to do; `claimed`: it was begun before, and is in doubt."""
        ...

    def done(self, id: str) -> None: ...

    def release(self, id: str) -> None:
        """Nothing was done after all."""
        ...


class OnceByState(KeyedOperator):
    """Its key is the id."""

    did = ValueState(bool)

    def __init__(self, deed: Deed, worker: Any) -> None:
        self._deed, self._worker = deed, worker

    def open(self, context: Context) -> None:
        call(self._worker, "open")

    def close(self) -> None:
        call(self._worker, "close")

    def process(self, key: Any, record: Row, context: Context) -> None:
        if self.did.get() is None:
            self._deed(record, context.metadata)
            self.did.set(True)


class Effect(OperatorType):
    type = "python"
    summary = "Calls Python code for what it does outside."

    def step(self, schema: Schema | None) -> Step:
        if self.by_state:
            return keyed_step(lambda: OnceByState(*self._deed()), self.options)
        deed, worker = self._deed()
        opened = (partial(call, worker, "open"), partial(call, worker, "close"))
        if not self.options.idempotent_by:
            return Step(Shape.EACH, lambda row, metadata: _nothing(deed(row, metadata)), *opened)
        kind = load(_STORES[self.options.store.partition(":")[0]])
        store = kind(self.options.store, f"whorl:{self.path}:", self.options.ttl)
        return Step(Shape.EACH, once(deed, store, self.options.idempotent_by, self.options.in_doubt), *opened)

    def _deed(self) -> tuple[Deed, Any]:
        """What is called, and the object that is opened and closed, if there is one."""
        target, worker, args = load(self.path), None, self.options.args
        if self.options.class_ is not None:
            worker, args = target(**args), {}
            target = getattr(worker, "process", None)
            if not callable(target):
                hint = "add process(self, row)"
                raise PipelineError(f"class '{self.path}' has no method 'process'", code="import", hint=hint)
        function = partial(target, **args) if args else target
        if takes_metadata(target, args):
            return function, worker
        return lambda row, metadata: function(row), worker

    @property
    def path(self) -> str:
        return self.options.function or self.options.class_ or ""

    @property
    def by_state(self) -> bool:
        return bool(self.options.idempotent_by) and self.options.store == STATE

    def keyed_by(self) -> tuple[str, ...] | None:
        return tuple(self.options.idempotent_by) if self.by_state else None

    def states(self, schema: Schema | None) -> tuple[str, ...]:
        return table_names(OnceByState) if self.by_state else ()

    def columns(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return paths("idempotent_by", self.options.idempotent_by)

    def import_paths(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return [(("class" if self.options.class_ else "function",), self.path)]


def once(deed: Deed, store: Once, columns: Iterable[str], in_doubt: str) -> Deed:
    """Claim, do, note: in this order a crash leaves what was begun in doubt, and never what was not."""
    columns = tuple(columns)

    def guarded(row: Row, metadata: Metadata) -> None:
        id = id_of(row, columns)
        found = store.claim(id)
        if found == "done" or (found == "claimed" and in_doubt == "skip"):
            return
        if found == "claimed" and in_doubt == "tell":
            raise InDoubt(f"it was begun for {id} before, and nobody knows whether it was done")
        try:
            deed(row, metadata)
        except Exception:
            store.release(id)
            raise
        store.done(id)

    return guarded


def id_of(row: Row, columns: tuple[str, ...]) -> str:
    values = [row.get(name) for name in columns]
    if None in values:
        raise ValueError(f"no id: '{columns[values.index(None)]}' is null")
    return str(values[0]) if len(values) == 1 else orjson.dumps(values, default=str).decode()


def call(worker: Any, name: str) -> None:
    method = getattr(worker, name, None)
    if method is not None:
        method()


def _nothing(result: Any) -> None:
    """What a sink returns goes nowhere."""
