"""The log of each job: lines with numbers that only go up, in a file of JSON lines beside the store. The newest are kept in memory."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from whorl.server.schemas import LogLine

_KEPT = 5000
_LARGEST = 16 << 20


class JobLogs:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._lines: dict[str, deque[LogLine]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, job: str, lines: Iterable[LogLine]) -> None:
        with self._lock:
            kept = self._of(job)
            number = kept[-1].number if kept else 0
            new = [line.model_copy(update={"number": number + index}) for index, line in enumerate(lines, 1)]
            kept.extend(new)
            self._write(job, new)

    def read(self, job: str, after: int, limit: int) -> list[LogLine]:
        with self._lock:
            found = [line for line in self._of(job) if line.number > after]
        return found[:limit] if after else found[-limit:]

    def delete(self, job: str) -> None:
        with self._lock:
            self._lines.pop(job, None)
            for file in self._folder.glob(f"{job}.jsonl*"):
                file.unlink(missing_ok=True)

    def _of(self, job: str) -> deque[LogLine]:
        if job not in self._lines:
            file = self._folder / f"{job}.jsonl"
            text = file.read_text("utf-8").splitlines()[-_KEPT:] if file.exists() else []
            read = [line for each in text if (line := _line(each)) is not None]
            self._lines[job] = deque(read, maxlen=_KEPT)
        return self._lines[job]

    def _write(self, job: str, lines: list[LogLine]) -> None:
        """A disk that is full costs the lines on disk, not the job."""
        file = self._folder / f"{job}.jsonl"
        try:
            if file.exists() and file.stat().st_size > _LARGEST:
                file.replace(file.with_suffix(".jsonl.old"))
            with file.open("a", encoding="utf-8") as out:
                out.writelines(line.model_dump_json() + "\n" for line in lines)
        except OSError:
            return


def _line(text: str) -> LogLine | None:
    """None for one that was cut off when the server was killed."""
    try:
        return LogLine.model_validate_json(text)
    except ValueError:
        return None
