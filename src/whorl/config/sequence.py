"""What is read by those who do not say.

In the full form an operator without `from`, to which nobody's `to` points, reads the operator written before it; the
first reads the only source. A sink without either reads the last operator, or, if there is none, the only source. Where
the one before says itself with `to` who reads it, or there are several sources, the order says nothing: a finding.
"""

from __future__ import annotations

from typing import TypeVar

from whorl.config.spec import Link, OperatorSpec, PipelineSpec, SinkSpec, SourceSpec
from whorl.errors import Finding

Reader = TypeVar("Reader", OperatorSpec, SinkSpec)


def in_sequence(spec: PipelineSpec) -> tuple[PipelineSpec, list[Finding]]:
    """The spec with every such edge written out."""
    findings: list[Finding] = []
    pointed = {link.id for giver in spec.givers for link in giver.to}
    operators: list[OperatorSpec] = []
    for operator in spec.operators:
        before = operators[-1:] or spec.sources
        operators.append(_reading(operator, before, pointed, findings))
    last = operators[-1:] or spec.sources
    sinks = [_reading(sink, last, pointed, findings) for sink in spec.sinks]
    return spec.model_copy(update={"operators": tuple(operators), "sinks": tuple(sinks)}), findings


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
