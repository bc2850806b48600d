"""`whorl produce`: lines become records, in their order; the key decides the partition as Java's producers do it (murmur2)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any

import orjson
import typer
from confluent_kafka import KafkaError, KafkaException, Producer

from whorl.cli.connect import connect
from whorl.cli.options import BrokerOption, Config, Profile
from whorl.cli.table import count
from whorl.cli.topics import assignment, existing
from whorl.errors import UsageError, WorldError
from whorl.sinks.kafka import key_bytes

app = typer.Typer(add_completion=False)
_PATIENCE_MS = 30_000
Pair = tuple[bytes | None, bytes]
"""Key and value."""


class LineFormat(StrEnum):
    json = "json"
    text = "text"


@app.command(epilog="Example: whorl produce orders data/sample.jsonl --key customer")
def produce(
    topic: Annotated[str, typer.Argument(help="The topic.", show_default=False)],
    file: Annotated[
        Path, typer.Argument(metavar="[FILE|-]", help="A line is a record; - is standard input.", show_default=False)
    ] = Path("-"),
    key: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of the JSON that is the key.", show_default=False)
    ] = None,
    key_separator: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What stands between key and value.", show_default=False)
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A header; may be repeated.", show_default=False)
    ] = None,
    format: Annotated[LineFormat, typer.Option(help="json: every line is checked to be JSON.")] = LineFormat.json,
    broker: BrokerOption = None,
    profile: Profile = None,
    config: Config = None,
) -> None:
    """Write records to a topic: lines of a file or of standard input, as JSON or text."""
    headers = [(name, value.encode()) for name, value in (assignment(text, "--header") for text in header or ())]
    pair_of = _reader(format, key, key_separator)
    cluster = connect(broker, profile, config)
    existing(cluster, [topic])
    writer = Writer(cluster.clients.producer, topic, headers)
    with _opened(file) as lines:
        try:
            for number, line in enumerate(lines, 1):
                if pair := _pair(pair_of, line.rstrip(b"\r\n"), f"{file}:{number}"):
                    writer.write(*pair)
        finally:
            writer.finish()
            typer.echo(f"{count(writer.written, 'record')} to '{topic}'")


class Writer:
    """Writes records one after the other; the first that cannot be delivered ends it."""

    def __init__(self, producer: Callable[..., Producer], topic: str, headers: list[tuple[str, bytes]]) -> None:
        more = {
            "on_delivery": self._delivered,
            "linger.ms": 5,
            "message.timeout.ms": _PATIENCE_MS,
        }
        self._producer = producer(**more, **{"delivery.report.only.error": False})
        self._topic, self._headers = topic, headers
        self._error: KafkaError | None = None
        self.written = 0

    def write(self, key: bytes | None, value: bytes) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, key, headers=self._headers)
                break
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                raise self._failed(error.args[0]) from None
        self._producer.poll(0)
        self._look()

    def finish(self) -> None:
        while self._producer.flush(1.0):
            self._look()
        self._look()

    def _look(self) -> None:
        if self._error is not None:
            raise self._failed(self._error)

    def _failed(self, error: KafkaError) -> WorldError:
        hint = (
            "look at the topic's max.message.bytes: whorl topics describe"
            if error.code() == KafkaError.MSG_SIZE_TOO_LARGE
            else ""
        )
        return WorldError(f"'{self._topic}' did not take a record: {error.str()}", hint=hint, code="produce")

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is None:
            self.written += 1
        else:
            self._error = self._error or error


def _reader(format: LineFormat, key: str | None, separator: str | None) -> Callable[[bytes], Pair | None]:
    """From a line to key and value; None for a line that is no record; ValueError for a wrong one."""
    if key and separator:
        raise UsageError("--key and --key-separator exclude each other", hint="keep one of them")
    if key and format is LineFormat.text:
        raise UsageError("--key names a column, and text has none", hint="use --key-separator, or --format json")
    if separator == "":
        raise UsageError("--key-separator is empty", hint="write --key-separator :")

    def read(line: bytes) -> Pair | None:
        if format is LineFormat.json and not line.strip():
            return None
        name, value = _split(line, separator.encode()) if separator else (None, line)
        if format is LineFormat.json:
            row = orjson.loads(value)
            name = _column(row, key) if key else name
        return name, value

    return read


def _split(line: bytes, separator: bytes) -> tuple[bytes, bytes]:
    key, found, value = line.partition(separator)
    if not found:
        raise ValueError(f"there is no '{separator.decode()}' between key and value")
    return key, value


def _column(row: Any, name: str) -> bytes | None:
    if not isinstance(row, dict) or name not in row:
        raise ValueError(f"there is no column '{name}' for the key")
    value = row[name]
    return orjson.dumps(value) if isinstance(value, dict | list) else key_bytes(value)


def _pair(pair_of: Callable[[bytes], Pair | None], line: bytes, where: str) -> Pair | None:
    try:
        return pair_of(line)
    except orjson.JSONDecodeError as error:
        raise UsageError(
            f"the line is not JSON: {error}", where=where, hint="or is it --format text?", code="line"
        ) from None
    except ValueError as error:
        raise UsageError(str(error), where=where, code="line") from None


@contextmanager
def _opened(file: Path) -> Iterator[Iterable[bytes]]:
    if str(file) == "-":
        yield sys.stdin.buffer
        return
    try:
        stream: IO[bytes] = file.open("rb")
    except OSError as error:
        raise UsageError(f"'{file}' cannot be read: {error.strerror}", code="file") from None
    with stream:
        yield stream
