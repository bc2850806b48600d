"""All that is wrong with a pipeline, at once, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterable

from whorl.config.loader import Loaded
from whorl.errors import CheckFailed, Finding, Location
from whorl.flow.build import build
from whorl.flow.graph import StreamGraph
from whorl.flow.shape import shape
from whorl.flow.wiring import wire


def check(loaded: Loaded) -> list[Finding]:
    return examine(loaded)[1]


def checked(loaded: Loaded) -> StreamGraph:
    """The graph of a pipeline in which nothing is wrong; raises CheckFailed with all that is."""
    graph, findings = examine(loaded)
    if findings:
        raise CheckFailed(findings)
    return graph


def examine(loaded: Loaded) -> tuple[StreamGraph, list[Finding]]:
    """The graph as far as it is right, and all findings. What was not read is not missed: see `Loaded.readable`."""
    graph, wrong = build(loaded)
    if not loaded.readable:
        return graph, in_order(loaded.findings)
    return graph, in_order([*loaded.findings, *wrong, *shape(loaded, *wire(loaded))])


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """By place, each once; a value with an unset variable is not blamed for anything else."""
    unique = list(dict.fromkeys(findings))
    unset = {finding.at for finding in unique if finding.code == "variable"}
    kept = [finding for finding in unique if finding.code == "variable" or finding.at not in unset]
    return sorted(kept, key=lambda finding: _sort_key(finding.at))


def _sort_key(at: Location | None) -> tuple[str, int, int]:
    return (at.file, at.line, at.column) if at else ("", 0, 0)
