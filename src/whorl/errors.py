"""Every error that Whorl raises on purpose.

    WhorlError                 what is wrong, where, what to do; knows its exit code and whether a retry helps
    ├── PipelineError    (1)   the pipeline or its code is wrong
    │   ├── CheckFailed        all findings of `whorl check` at once
    │   ├── OperatorFailed     user code or an expression raised on a record
    │   └── StateUnfit         what was kept is not what the operator's code can read
    ├── UsageError       (2)   the command was called wrongly
    └── WorldError       (3)   something around the pipeline is wrong: broker, Java, disk
        ├── PreflightFailed    found before anything was read, all findings at once
        ├── Superseded         a newer driver or layout owns the job
        └── Unavailable        an outside part is down; a retry helps

    Retry                      raised by user code: something outside is down, try this record again later

All of them cross process borders: `pickle` gives back an equal error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; lines and columns count from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: a stable code, what, where, and the remedy."""

    code: str
    message: str
    hint: str = ""
    at: Location | None = None

    def __str__(self) -> str:
        where = f"{self.at}: " if self.at else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}[{self.code}] {self.message}{hint}"


class WhorlError(Exception):
    code = "error"
    exit_code = 3
    retryable = False

    def __init__(self, message: str, *, hint: str = "", where: str = "", code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}[{self.code}] {self.message}{hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


class PipelineError(WhorlError):
    code = "pipeline"
    exit_code = 1


class CheckFailed(PipelineError):
    code = "check"

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in self.findings))

    def __str__(self) -> str:
        return self.message


class OperatorFailed(PipelineError):
    """An operator raised on a record. `place` is the user's own file:line where there is one."""

    code = "operator-failed"

    def __init__(self, operator: str, error: str, *, place: str = "", position: str = "", trace: str = "") -> None:
        super().__init__(f"operator '{operator}' failed: {error}", where=place)
        self.operator = operator
        self.error = error
        self.position = position
        self.trace = trace

    def __str__(self) -> str:
        at = f" at {self.position}" if self.position else ""
        return f"{super().__str__()}{at}"


class StateUnfit(PipelineError):
    """Records of the key would fail one after the other, so it ends the run, whatever an operator's `on_error` says."""

    code = "state-unfit"


class UsageError(WhorlError):
    code = "usage"
    exit_code = 2


class WorldError(WhorlError):
    code = "world"


class PreflightFailed(WorldError):
    code = "preflight"

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in self.findings))

    def __str__(self) -> str:
        return self.message


class Superseded(WorldError):
    code = "superseded"


class Unavailable(WorldError):
    code = "unavailable"
    retryable = True


def error_as_data(error: WhorlError) -> dict[str, Any]:
    """For other processes, as JSON has it."""
    return {"kind": type(error).__name__, "args": list(error.args), "fields": error.__dict__}


def error_of_data(data: Mapping[str, Any]) -> WhorlError:
    """An equal one; of a kind that is not known here, a WorldError."""
    known = {kind.__name__: kind for kind in _kinds(WhorlError)}
    return _rebuild(known.get(data["kind"], WorldError), tuple(data["args"]), data["fields"])


def _kinds(kind: type[WhorlError]) -> Iterator[type[WhorlError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)


class Retry(Exception):
    """Raise it in an operator when something outside is down.

    The record's partition pauses for `after` seconds, nothing of the record is written, then it is tried again.
    """

    def __init__(self, after: float = 1.0, reason: str = "") -> None:
        super().__init__(after, reason)
        self.after = after
        self.reason = reason


class RoundsExceeded(Exception):
    """A record has gone round in a loop more often than the loop's `max_rounds` allows."""


def _rebuild(cls: type[WhorlError], args: tuple[Any, ...], fields: dict[str, Any]) -> WhorlError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(fields)
    return error
