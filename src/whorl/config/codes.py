"""The stable codes of everything that `whorl check` finds, and the search for the word that was meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

CODES: dict[str, str] = {
    "ambiguous": "The order of the file does not say what an operator or sink reads; it needs a `from`.",
    "branch-output": "An edge names an output that the operator does not have, or names none where it must.",
    "column": "A column does not exist in the rows that arrive there.",
    "contradiction": "Two settings cannot both be meant; the message has both places.",
    "cycle": "Edges form a cycle and none of them is marked `feedback: true` or leads back up the file.",
    "dangling-edge": "An edge leads to or from an id that the pipeline does not have.",
    "duplicate-id": "Two sources, operators or sinks have the same id.",
    "duplicate-key": "A key stands twice in one map; only one of the two could count.",
    "duration": "Not a duration such as 100ms, 5s, 10m, 1h30m.",
    "expression": "A SQL expression does not parse.",
    "file": "A file cannot be read.",
    "format": "A format lacks something that it needs, such as its columns or its schema.",
    "host": "An operator cannot run on the host that it asks for.",
    "import": "User code does not load from its import path.",
    "include": "An included file cannot be read, includes itself, or is no map.",
    "inputs": "An operator or sink cannot read so many inputs, or not of this kind.",
    "loop": "A feedback edge closes no loop, or something is in a loop or said of one that cannot be.",
    "missing-key": "A required key is missing.",
    "mode": "A sink writes rows for good that a query may still change.",
    "no-source": "Nothing reaches an operator or sink: no path leads to it from a source.",
    "profile": "The chosen profile does not exist.",
    "registry": "The schema registry does not answer, or refuses the subject.",
    "replay": "SQL gives another result when records are processed again, so it cannot be exactly once.",
    "schema": "A query reads rows whose columns or types are not known.",
    "size": "Not a size such as 512KB, 64MB, 1GB.",
    "table": "A query reads a table that is no source or operator it can read.",
    "timeout": "A time that must be shorter than the transaction timeout is not.",
    "type": "A value, column or expression has another type than its place needs.",
    "unknown-key": "A key that means nothing at its place.",
    "unknown-type": "No source, operator, sink or format has this type.",
    "unsupported": "An expression uses SQL outside the subset that tasks compile, where it cannot run in a query.",
    "unused": "Nobody reads the output of a source or operator.",
    "value": "A value of the wrong type or outside its range.",
    "variable": "An environment variable is not set and has no default, or its `${...}` is malformed.",
    "yaml": "The file is not valid YAML.",
}


def suggest(word: str, known: Iterable[str], what: str = "known") -> str:
    """The hint for a word that is not among the known ones: the nearest of them, else all."""
    names = sorted(known)
    lower = {name.lower(): name for name in names}
    close = get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
    if close:
        return did_you_mean(lower[close[0]])
    return f"{what}: {', '.join(names)}" if names else ""


def did_you_mean(word: object) -> str:
    return f"did you mean '{word}'?"
