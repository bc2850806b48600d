"""What the operators have in common that keep state by key: their options, the columns that leave them, and their step.

Under each is a `KeyedOperator`, as users write them, so that it runs wherever theirs do. Where rows are text, so is the result, and it
stays in `value`: a pipeline of text in and text out needs no option.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from whorl.operators.builtin.amounts import may_be_number
from whorl.operators.fold import step_of
from whorl.operators.fold_source import Column
from whorl.operators.keyed import KeyedOperator
from whorl.operators.native import Keyed, Native
from whorl.operators.operator import Columns, Fault, OperatorType, Options, Shape, Step, not_with_state
from whorl.operators.record import Row
from whorl.operators.sqltext import told_apart
from whorl.schema import TEXT, UNKNOWN, Schema
from whorl.state.binding import table_names
from whorl.state.bounds import Limits
from whorl.state.states import Lifetime, TtlTime
from whorl.units import Duration, Size

VALUE = "value"
"""The column of text."""
Path = tuple[str | int, ...]
Pairs = tuple[tuple[str, str], ...]
"""Columns and their types."""
Leaving = Callable[..., dict[str, str]]
"""From how a column of the record is expressed, and the names of results, to the columns of the row that leaves."""


class KeyOptions(Options):
    key: Columns = Field(
        (), description="the column, or the columns, by which state is kept; left out: the record's own key"
    )


MaxKeys = Annotated[
    int | None,
    Field(
        gt=0,
        description="how many keys are kept at most, of which each logical partition has an equal share; beyond it the oldest is forgotten",
    ),
]
MaxBytes = Annotated[
    Size | None,
    Field(gt=0, description="as `max_keys`, of the bytes that all keys take together, as they are stored"),
]
Evict = Annotated[
    Literal["oldest"], Field(description="with either: which keys are forgotten first; those not written for longest")
]


def limits_of(options: Any) -> Limits:
    """Of those that have any."""
    return Limits(getattr(options, "max_keys", None), getattr(options, "max_bytes", None))


def not_with_limits(options: Any) -> tuple[str, str] | None:
    """`OperatorType.not_in_query` of what has limits."""
    if not limits_of(options):
        return None
    return "'max_keys' and 'max_bytes' are of tasks, which know the order of writes", "take `host` away, or use `ttl`"


class LastingOptions(KeyOptions):
    ttl: Duration | None = Field(
        None, gt=0, description="a key that is not seen for so long starts anew; left out: it is kept for ever"
    )
    ttl_time: TtlTime = Field("processing", description="whether `ttl` is of processing time or of event time")
    max_keys: MaxKeys = None
    max_bytes: MaxBytes = None
    evict: Evict = "oldest"


class ResultOptions(LastingOptions):
    keep: Columns = Field((), description="columns of the record that leave beside the key's and the result")
    as_: str = Field(
        "",
        alias="as",
        description="the column of the result; left out: `value` where rows are text, else the type's name",
    )


class OfOptions(ResultOptions):
    of: str = Field("", description="the column that is looked at; may be left out where rows are text")


def keyed_step(make: Callable[[], KeyedOperator], options: Any) -> Step:
    """The step of what `make` gives, whose states last as the options say."""
    lifetime = Lifetime(ttl=getattr(options, "ttl", None), ttl_time=getattr(options, "ttl_time", "processing"))
    limits = limits_of(options)
    # What a key means is in the record's columns, so its bytes are handed on as they are.
    return Step(Shape.KEYED, make, keyed=lambda id: step_of(make(), id, bytes, lifetime, limits))


class ByKey(OperatorType):
    """An operator with state whose options are `KeyOptions`."""

    @abstractmethod
    def keyed(self, schema: Schema | None) -> KeyedOperator:
        """A new one, for rows of this schema."""

    def step(self, schema: Schema | None) -> Step:
        return keyed_step(lambda: self.keyed(schema), self.options)

    @property
    def entering(self) -> Schema | None:
        """As the step will know it: rows of several inputs pass as they are."""
        schemas = {upstream.schema for upstream in self.upstreams}
        return schemas.pop() if len(schemas) == 1 else None

    def keyed_by(self) -> tuple[str, ...] | None:
        return tuple(self.options.key)

    def states(self, schema: Schema | None) -> tuple[str, ...]:
        return table_names(type(self.keyed(schema)))

    def native(self, schema: Schema | None) -> Native | None:
        leaves = self.output(schema) if schema is not None and not self.not_in_query() else None
        return Keyed(tuple(self.options.key)) if leaves and UNKNOWN not in (kind for _, kind in leaves) else None

    def not_in_query(self) -> tuple[str, str] | None:
        return not_with_limits(self.options) or not_with_state(self.upstreams)

    def columns(self) -> list[tuple[Path, str]]:
        return paths("key", self.options.key)


class ResultByKey(ByKey):
    """One that gives a row for each record: key columns, columns that are kept, and results. Its options are `ResultOptions`."""

    @abstractmethod
    def results(self, schema: Schema | None) -> Pairs:
        """The columns that it makes, with their types."""

    def output(self, schema: Schema | None) -> Schema | None:
        kept = [(name, schema.type_of(name) if schema else UNKNOWN) for name in self.kept]
        return Schema((*kept, *self.results(schema)))

    def columns(self) -> list[tuple[Path, str]]:
        return [*super().columns(), *paths("keep", self.options.keep)]

    def faults(self) -> Iterator[Fault]:
        names = [*self.kept, *(name for name, _ in self.results(self.entering))]
        if not told_apart(names):
            yield Fault(("as",), "column", f"two columns get the same name: {', '.join(names)}", "add `as: name`")

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns of the record that leave with the result."""
        return tuple(dict.fromkeys([*self.options.key, *self.options.keep]))

    def result(self, schema: Schema | None, kind: str) -> Pairs:
        """The column of the result, and its type: text in the place of text."""
        if self.stays_text(schema):
            return ((VALUE, "string"),)
        return ((self.options.as_ or self.type, kind),)

    def stays_text(self, schema: Schema | None) -> bool:
        """Whether the result is text in the place of text."""
        return schema == TEXT and self.options.as_ in ("", VALUE) and VALUE not in self.kept

    def shaped(self, schema: Schema | None) -> Callable[..., Row]:
        """From a record and the results to the row that leaves. It is compiled, being called for each record."""
        arguments = [f"r{index}" for index in range(len(self.results(schema)))]
        leaving = self.leaving(schema)(lambda name: f"row.get({name!r})", *arguments)
        items = ", ".join(f"{name!r}: {each}" for name, each in leaving.items())
        function: Callable[..., Row] = eval(f"lambda row, {', '.join(arguments)}: {{{items}}}")
        return function

    def leaving(self, schema: Schema | None) -> Leaving:
        """As `shaped`, of expressions."""
        kept, made = self.kept, self.results(schema)

        def columns(column: Column, *results: str) -> dict[str, str]:
            found = {name: column(name) for name in kept}
            return found | {name: _given(each, kind) for each, (name, kind) in zip(results, made, strict=True)}

        return columns


class Reading(KeyedOperator):
    """Reads a value from each record, and emits a row."""

    def __init__(self, read: Callable[[Row], Any], shaped: Callable[..., Row]) -> None:
        self._read, self._shaped = read, shaped


class OfColumn(ResultByKey):
    """One that looks at the values of a column. Its options are `OfOptions`."""

    fitting = "numbers"
    """What it can look at."""

    def columns(self) -> list[tuple[Path, str]]:
        return [*super().columns(), *paths("of", (self.options.of,) if self.options.of else ())]

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        kind = self.kind(self.entering)
        if not self.options.of and self.entering != TEXT:
            yield Fault((), "missing-key", "it has no 'of'", "name the column that it looks at: `of: column`")
        elif self.entering != TEXT and not self.fits(kind):
            yield Fault(
                ("of",), "type", f"the column '{self.options.of}' is a {kind}", f"name a column of {self.fitting}"
            )

    def fits(self, kind: str) -> bool:
        """Whether it can look at values of this type, those of unknown type included."""
        return may_be_number(kind)

    @property
    def of(self) -> str:
        return self.options.of or VALUE

    def kind(self, schema: Schema | None) -> str:
        """The type of what it looks at; numbers in text may be whole or not."""
        return schema.type_of(self.of) if schema not in (None, TEXT) else UNKNOWN


def paths(option: str, columns: Sequence[str]) -> list[tuple[Path, str]]:
    """Where an option names these columns: one alone may be no list."""
    return [((option, index) if len(columns) > 1 else (option,), name) for index, name in enumerate(columns)]


def _given(argument: str, kind: str) -> str:
    return f"None if {argument} is None else str({argument})" if kind == "string" else argument
