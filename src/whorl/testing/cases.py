"""Cases beside a pipeline: what goes in, what must come out. `orders.test.yaml` and `tests/*.yaml` beside `orders.yaml`.

    cases:
      - name: a large order is flagged
        input: {orders: [{id: 1, amount: 5000}]}
        expect: {flagged: [{id: 1, amount: 5000}]}
        expect_dead: []

What is written wrongly is found with its place, as in a pipeline file. A case file may name its pipeline; else it is for each one that
it lies beside.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from whorl.config.codes import suggest
from whorl.config.document import Document, read
from whorl.config.validation import validate
from whorl.errors import CheckFailed, Finding, Location
from whorl.operators.operator import Options
from whorl.plan.plan import OutputKind, Plan


class ExpectedDead(Options):
    """A record that must fail."""

    operator: str | None = Field(default=None, description="where it fails: the id of a source or operator")
    error: str = Field(default="", description="what its error contains")


class Case(Options):
    name: str = Field(default="", description="what it shows")
    input: dict[str, list[Any]] = Field(
        default_factory=dict, description="rows by source; or whole records: {key, value, headers, timestamp}"
    )
    expect: dict[str, list[Any]] = Field(
        default_factory=dict, description="rows by sink; sinks left out are not looked at"
    )
    expect_dead: list[ExpectedDead] = Field(default_factory=list, description="records that must fail, in order")
    unordered: bool = Field(default=False, description="rows may come in any order")


class CaseFile(Options):
    pipeline: str | None = Field(default=None, description="the pipeline, relative to this file")
    cases: list[Case] = Field(description="the cases in order")


@dataclass(frozen=True)
class Located:
    """A case and where it stands."""

    case: Case
    at: Location

    @property
    def name(self) -> str:
        return self.case.name or f"line {self.at.line}"


def case_files(pipeline: Path) -> list[Path]:
    beside = pipeline.with_name(f"{pipeline.stem}.test{pipeline.suffix}")
    return [*([beside] if beside.is_file() else []), *sorted((pipeline.parent / "tests").glob("*.yaml"))]


def read_cases(pipeline: Path, plan: Plan) -> list[Located]:
    """All cases of a pipeline; raises CheckFailed with all that is wrong in their files."""
    files = case_files(pipeline)
    cases, findings = [], [] if files else [_no_cases(pipeline)]
    for file in files:
        document = read(file)
        found, wrong = _read(document, pipeline, plan)
        cases += found
        findings += [*document.findings, *wrong]
    if findings:
        raise CheckFailed(findings)
    return cases


def _no_cases(pipeline: Path) -> Finding:
    hint = f"write them to {pipeline.stem}.test{pipeline.suffix}: cases: [{{name, input, expect}}]"
    return Finding("file", f"there are no cases beside '{pipeline}'", hint, Location(str(pipeline)))


def _read(document: Document, pipeline: Path, plan: Plan) -> tuple[list[Located], list[Finding]]:
    if document.findings:
        return [], []
    tree = document.tree
    if not isinstance(tree.value, dict):
        return [], [Finding("value", f"'{document.file}' holds no cases", "write `cases: [...]`", tree.at)]
    file, findings = validate(CaseFile, tree, tree.at, f"'{document.file}'")
    if file is None or findings or not _is_for(document, file, pipeline):
        return [], findings
    cases = [Located(case, document.at(("cases", index))) for index, case in enumerate(file.cases)]
    return cases, [
        finding for index, each in enumerate(cases) for finding in _unknown(document, index, each.case, plan)
    ]


def _is_for(document: Document, file: CaseFile, pipeline: Path) -> bool:
    if file.pipeline is None:
        return True
    return os.path.realpath(Path(document.file).parent / file.pipeline) == os.path.realpath(pipeline)


def _unknown(document: Document, index: int, case: Case, plan: Plan) -> Iterator[Finding]:
    """Sources and sinks that the pipeline does not have."""
    sources = {input.id for component in plan.components for input in component.inputs if input.source is not None}
    sinks = {output.id for output in plan.outputs if output.kind is not OutputKind.EDGE}
    yield from _missing(document, ("cases", index, "input"), case.input, sources, "source")
    yield from _missing(document, ("cases", index, "expect"), case.expect, sinks, "sink")


def _missing(
    document: Document, path: tuple[str | int, ...], given: Mapping[str, Any], known: Iterable[str], what: str
) -> Iterator[Finding]:
    for id in given:
        if id not in set(known):
            at = document.key_at((*path, id))
            yield Finding("dangling-edge", f"the pipeline has no {what} '{id}'", suggest(id, known, f"{what}s"), at)
