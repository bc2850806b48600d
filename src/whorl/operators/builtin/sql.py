"""The sql operator: statements of Spark SQL over what stands upstream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from whorl.operators.builtin.query_only import QueryOperator, late, not_a_time, replay_faults
from whorl.operators.native import Native, Query
from whorl.operators.operator import Fault, Options
from whorl.operators.sql import INPUT, SqlShape, TableName, shape, wrong_statement
from whorl.operators.watermark import Watermark
from whorl.schema import Schema, normal_type


class Udf(Options):
    """A Python function that SQL may call."""

    function: str = Field(description="import path: module.name")
    returns: Annotated[str, AfterValidator(normal_type)] = Field("string", description="the type of its result")


class SqlOptions(Options):
    query: str = Field(
        description="a SELECT over ids of sources and operators (`id_output` for an output of a branch; `input` for the only "
        "one); views may be made before it, with `;` between"
    )
    udfs: dict[str, Udf] = Field(default_factory=dict, description="name in the query to a Python function")
    watermark: Watermark | None = Field(
        None, description="how late a row may be, {column: at, delay: 10s}, where no source says so"
    )
    mode: Literal["", "append", "update"] = Field(
        "", description="append: a row leaves once, when it is final; update: each time it changes"
    )


class Sql(QueryOperator):
    type = "sql"
    summary = (
        "Any SQL of Spark. Without `from` it reads the sources and operators that the query names. A SELECT of one table with "
        "columns and a WHERE alone works row by row: key, time and headers of a record stay."
    )
    Options = SqlOptions

    def native(self, schema: Schema | None) -> Native | None:
        selected = self.shape.rows.lowered(schema) if self.shape.rows and not self.options.udfs else None
        if selected is not None and self.options.watermark is None:
            return selected
        return Query(
            self.shape.statements,
            tuple((name, udf.function, udf.returns) for name, udf in self.options.udfs.items()),
            tables=tuple(dict.fromkeys(table.name for table in self.shape.tables if not table.parent)),
            watermark=late(self.options.watermark),
            mode=self.options.mode,
            aggregates=self.shape.aggregates,
            windowed=self.shape.windowed,
            joins=self.shape.joins,
        )

    def output(self, schema: Schema | None) -> Schema | None:
        return self.shape.columns(self._tables(schema))

    def import_paths(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        return [(("udfs", name, "function"), udf.function) for name, udf in self.options.udfs.items()]

    def faults(self) -> Iterator[Fault]:
        wrong = wrong_statement(self.options.query)
        if wrong:
            offset, message, hint = wrong
            yield Fault(("query",), "expression", message, hint, offset)
            return
        yield from replay_faults(("query",), self.options.query)
        known = {name.lower() for name in self._tables(None)}
        for table in self.shape.tables:
            if table.name.lower() not in known and not (table.parent and not self._is_output(table)):
                yield self._no_table(table)
        yield from self._no_time()

    @property
    def shape(self) -> SqlShape:
        return shape(self.options.query)

    def _tables(self, schema: Schema | None) -> dict[str, Schema | None]:
        named = {upstream.table: upstream.schema for upstream in self.upstreams}
        return named if len(self.upstreams) > 1 else {**named, INPUT: schema}

    def _is_output(self, table: TableName) -> bool:
        return any(upstream.table == f"{table.parent}_{table.name}" for upstream in self.upstreams)

    def _no_time(self) -> Iterator[Fault]:
        """A watermark is for those inputs that have its column: one of them must."""
        mark = self.options.watermark
        schemas = [upstream.schema for upstream in self.upstreams]
        if mark is None or None in schemas:
            return
        having = [schema for schema in schemas if schema and mark.column in schema]
        for schema in having or schemas[:1]:
            yield from not_a_time(("watermark", "column"), mark.column, schema)

    def _no_table(self, table: TableName) -> Fault:
        if table.parent:
            written, hint = f"{table.parent}.{table.name}", f"write {table.parent}_{table.name}"
            return Fault(("query",), "table", f"it reads '{written}', which is no table", hint, table.offset)
        hint = f"it can read: {', '.join(self._tables(None))}"
        message = f"it reads '{table.name}', which is none of its inputs"
        return Fault(("query",), "table", message, hint, table.offset, meant=table.name)
