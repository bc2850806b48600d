"""Characters at their places, and the text that they make."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Canvas:
    cells: dict[int, dict[int, str]] = field(default_factory=dict)
    """Line, column: character."""

    def put(self, x: int, y: int, text: str) -> None:
        self.cells.setdefault(y, {}).update(enumerate(text, x))

    def put_under(self, x: int, y: int, text: str) -> None:
        """Where nothing is yet."""
        line = self.cells.setdefault(y, {})
        self.cells[y] = {**dict(enumerate(text, x)), **line}

    def __str__(self) -> str:
        lines = (self.cells.get(y, {}) for y in range(min(self.cells), max(self.cells) + 1))
        return "\n".join("".join(line.get(x, " ") for x in range(max(line, default=-1) + 1)).rstrip() for line in lines)
