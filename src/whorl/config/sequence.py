"""What is read by those who do not say.

In the full form an operator without `from`, to which nobody's `to` points, reads the operator written before it; the
first reads the only source. A sink without either reads the last operator, or, if there is none, the only source. Where
the one before says itself with `to` who reads it, or there are several sources, the order says nothing: a finding.
A `sql` operator without `from` reads the sources and operators that its query names, if it names any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from whorl.config.spec import Link, OperatorSpec, PipelineSpec, SinkSpec, SourceSpec
from whorl.errors import Finding
from whorl.operators.sql import shape

Reader = TypeVar("Reader", OperatorSpec, SinkSpec)


def in_sequence(spec: PipelineSpec) -> tuple[PipelineSpec, list[Finding]]:
    """The spec with every such edge written out."""
    findings: list[Finding] = []
    pointed = {link.id for giver in spec.givers for link in giver.to}
    operators: list[OperatorSpec] = []
    for operator in spec.operators:
        before = operators[-1:] or spec.sources
        named = operator if operator.from_ else _reading_tables(operator, spec)
        operators.append(_reading(named, before, pointed, findings))
    last = operators[-1:] or spec.sources
    sinks = [_reading(sink, last, pointed, findings) for sink in spec.sinks]
    return spec.model_copy(update={"operators": tuple(operators), "sinks": tuple(sinks)}), findings


def _reading_tables(operator: OperatorSpec, spec: PipelineSpec) -> OperatorSpec:
    query = operator.options.get("query")
    if operator.type != "sql" or not isinstance(query, str):
        return operator
    pointing = {giver.id for giver in spec.givers for link in giver.to if link.id == operator.id}
    links = [link for link in _links(query, spec) if link.id not in pointing and link.id != operator.id]
    return operator.model_copy(update={"from_": tuple(dict.fromkeys(links))})


def _links(query: str, spec: PipelineSpec) -> Iterator[Link]:
    """The tables that are ids, or `id_output` of a branch. Spark takes no notice of upper and lower case."""
    ids = {giver.id.lower(): giver.id for giver in spec.givers}
    branches = [operator.id for operator in spec.operators if operator.type == "branch"]
    for table in (table for table in shape(query).tables if not table.parent):
        branch = next((id for id in branches if table.name.lower().startswith(f"{id.lower()}_")), None)
        if table.name.lower() in ids:
            yield Link(id=ids[table.name.lower()])
        elif branch is not None:
            yield Link(id=branch, output=table.name[len(branch) + 1 :])


def _reading(
    reader: Reader, before: tuple[SourceSpec, ...] | list[OperatorSpec], pointed: set[str], findings: list[Finding]
) -> Reader:
    if reader.from_ or reader.id in pointed or not before:
        return reader
    if len(before) > 1:
        sources = ", ".join(f"'{source.id}'" for source in before)
        message = f"'{reader.id}' does not say what it reads, and there are several sources: {sources}"
        findings.append(Finding("ambiguous", message, f"add `from: {before[0].id}`", reader.at))
    elif before[0].to:
        message = f"'{reader.id}' does not say what it reads, and '{before[0].id}' before it leads elsewhere with `to`"
        findings.append(Finding("ambiguous", message, f"add `from: ...`, or name '{reader.id}' in a `to`", reader.at))
    else:
        return reader.model_copy(update={"from_": (Link(id=before[0].id),)})
    return reader
