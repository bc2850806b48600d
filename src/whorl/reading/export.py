"""Entries of state into a file: lines of JSON, or parquet, by the file's ending. The file is whole or not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from whorl.errors import UsageError, WorldError
from whorl.reading.arrow import write_parquet
from whorl.reading.entries import Entry

Write = Callable[[Path, Iterable[Entry]], int]


def export(file: Path, entries: Iterable[Entry]) -> int:
    """How many they were."""
    write = writer_for(file)
    part = file.with_name(f".{file.name}.part")
    try:
        count = write(part, entries)
        part.replace(file)
    except OSError as error:
        raise WorldError(f"'{file}' cannot be written: {error.strerror or error}", code="disk") from None
    finally:
        part.unlink(missing_ok=True)
    return count


def writer_for(file: Path) -> Write:
    if file.suffix not in _WRITERS:
        raise UsageError(f"'{file}' does not say how to write it", hint=f"end it with {' or '.join(_WRITERS)}")
    return _WRITERS[file.suffix]


def _write_lines(file: Path, entries: Iterable[Entry]) -> int:
    count = 0
    with file.open("w", encoding="utf-8") as lines:
        for entry in entries:
            lines.write(entry.line() + "\n")
            count += 1
    return count


_WRITERS: dict[str, Write] = {".jsonl": _write_lines, ".json": _write_lines, ".parquet": write_parquet}
