"""One line for each event: coloured for people, JSON for machines. Both say which job, component and batch it is of, and no secret.

Whorl logs by Python's own `logging` under the name `whorl`; `logger` adds the fields, `set_up` says where lines go. Nothing is set up by
importing this: a program that embeds Whorl keeps its own handlers.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Literal, TextIO

import orjson

from whorl.masking import without_secrets

Form = Literal["auto", "text", "json"]
FIELDS = ("job", "component", "batch")
_ROOT = "whorl"
_COLOURS = {"debug": "2", "info": "36", "warning": "33", "error": "31", "critical": "31;1"}
_ODD = re.compile(r"[^A-Za-z0-9._-]+")


class Logger(logging.LoggerAdapter[logging.Logger]):
    """Adds its fields to each event; `component` and `batch` may be given with one event too."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        given = {name: kwargs.pop(name) for name in FIELDS if name in kwargs}
        kwargs["extra"] = {"whorl": {**(self.extra or {}), **given}}
        return msg, kwargs


def logger(job: str = "", component: str = "") -> Logger:
    fields = {name: value for name, value in (("job", job), ("component", component)) if value}
    return Logger(logging.getLogger(_ROOT), fields)


def fields_of(record: logging.LogRecord) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = getattr(record, "whorl", {})
    return fields


class TextFormatter(logging.Formatter):
    """`12:30:05.123 info    payments/judge batch 7  message`"""

    def __init__(self, coloured: bool = False) -> None:
        super().__init__()
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        fields, level = fields_of(record), record.levelname.lower()
        where = "/".join(str(fields[name]) for name in ("job", "component") if fields.get(name))
        batch = f" batch {fields['batch']}" if fields.get("batch") is not None else ""
        time = datetime.fromtimestamp(record.created).strftime("%H:%M:%S.%f")[:-3]
        told = f"{self._in(level, _COLOURS[level])}{' ' * (7 - len(level))} {self._in(where + batch, '1')}"
        return f"{self._in(time, '2')} {told}  {_one_line(record)}"

    def _in(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._coloured and text else text


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        event = {
            "time": at,
            "level": record.levelname.lower(),
            **fields_of(record),
            "message": without_secrets(record.getMessage()),
        }
        trace = {"trace": without_secrets(self.formatException(record.exc_info))} if record.exc_info else {}
        return orjson.dumps({**event, **trace}, default=str).decode()


def formatter(form: Form, stream: TextIO | None) -> logging.Formatter:
    """auto: text for people, that is on a terminal, and JSON elsewhere. NO_COLOR takes the colours away."""
    terminal = stream is not None and stream.isatty()
    if form == "json" or (form == "auto" and not terminal):
        return JsonFormatter()
    return TextFormatter(coloured=terminal and not os.environ.get("NO_COLOR"))


@contextmanager
def set_up(
    level: str = "info",
    form: Form = "auto",
    stream: TextIO | None = sys.stderr,
    file: Path | None = None,
    max_size: int = 10 << 20,
    keep: int = 5,
) -> Iterator[None]:
    """Lines go to the stream and to the file, each where given; inside the block alone. A file that is full becomes FILE.1."""
    # With no handler at all Python would print warnings by itself.
    handlers: list[logging.Handler] = [logging.NullHandler()]
    if stream is not None:
        handlers.append(logging.StreamHandler(stream))
        handlers[-1].setFormatter(formatter(form, stream))
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(RotatingFileHandler(file, maxBytes=max_size, backupCount=keep, encoding="utf-8"))
        handlers[-1].setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger(_ROOT)
    before = root.level, root.propagate
    root.setLevel(level.upper())
    root.propagate = False
    for handler in handlers:
        root.addHandler(handler)
    try:
        yield
    finally:
        root.level, root.propagate = before
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()


def file_of(folder: str, job: str) -> Path:
    """The log file of a job."""
    return Path(folder) / f"{_ODD.sub('-', job)}.log"


def _one_line(record: logging.LogRecord) -> str:
    return " ".join(without_secrets(record.getMessage()).split("\n"))
