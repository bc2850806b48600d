"""What goes from one logical partition to another: many small facts in few records, none of which is too large for a topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from whorl.operators.record import Row

LARGEST = 400_000
"""Bytes of a block as JSON; topics take a million unless told otherwise."""
Facts = Mapping[str, list[Any]]
"""By kind, what each fact of it consists of, one after the other."""


def blocks(facts: Facts, sizes: Mapping[str, int], sender: int) -> Iterator[Row]:
    """The rows that tell these facts. `sizes`: of how many things a fact of each kind consists."""
    told = {kind: things for kind, things in facts.items() if things}
    if len(orjson.dumps(told)) <= LARGEST:
        parts = [told]
    else:
        parts = [{kind: part} for kind, things in told.items() for part in _parts(things, sizes[kind])]
    for part in parts:
        yield {"from": sender, **part}


def _parts(things: list[Any], size: int) -> Iterator[list[Any]]:
    if len(things) <= size or len(orjson.dumps(things)) <= LARGEST:
        yield things
        return
    middle = len(things) // size // 2 * size
    yield from _parts(things[:middle], size)
    yield from _parts(things[middle:], size)
