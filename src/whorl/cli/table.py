"""Rows in aligned columns, for terminals and pipes alike: never wrapped, never coloured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def count(number: int, noun: str, several: str = "") -> str:
    return f"{number} {noun if number == 1 else several or noun + 's'}"
