"""`whorl state`: what operators keep by key, read from changelogs and, with Spark, from checkpoints of queries. The pipeline may run or not,
and does not notice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import orjson
import typer

from whorl.cli.options import BrokerOption, Config, Of, Profile, Sets
from whorl.cli.piped import piped
from whorl.cli.shown import as_text
from whorl.cli.table import count, table
from whorl.config.framework import named
from whorl.config.settings import Settings
from whorl.errors import UsageError, WorldError
from whorl.jobs.address import clients_at
from whorl.jobs.session import session_aside
from whorl.kafka.topics import Cluster
from whorl.reading.entries import Entry, as_json
from whorl.reading.export import export
from whorl.reading.latest import Latest
from whorl.reading.queries import QueryReader
from whorl.reading.reader import Kept, StateReader
from whorl.units import format_size

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Show what operators keep by key.")


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"


Operator = Annotated[str, typer.Argument(metavar="OPERATOR", help="The operator's id.", show_default=False)]
Formatted = Annotated[Format, typer.Option("--format", help="A table, or a line of JSON for each.")]
_WIDEST = 80


@app.command("list", epilog="Example: whorl state list pipeline.yaml")
def list_(
    of: Of,
    format: Formatted = Format.TABLE,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """List the operators that keep state, with how much that is."""
    reader, settings = _reader(of, broker, profile, set_, config)
    overview = reader.overview()
    if reader.stores.queries:
        with session_aside(settings, "state") as spark:
            overview += QueryReader(spark, reader.stores, settings.checkpoints).overview()
    if format is Format.JSON:
        for kept in overview:
            typer.echo(orjson.dumps(kept).decode())
        return
    if overview:
        typer.echo(table(_KEPT, map(_kept, overview)))
    typer.echo(f"{count(len(overview), 'operator')} of '{reader.stores.pipeline}' with state")


@app.command(epilog="Example: whorl state get pipeline.yaml spend account-17")
def get(
    of: Of,
    operator: Operator,
    key: Annotated[
        str,
        typer.Argument(
            metavar="KEY", help="As Kafka has it: text, or of several columns a JSON array.", show_default=False
        ),
    ],
    hex_: Annotated[bool, typer.Option("--hex", help="KEY is written in hexadecimal.")] = False,
    format: Formatted = Format.TABLE,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Show all that an operator keeps for one key, timers too."""
    with _source(operator, of, broker, profile, set_, config) as reader:
        entries, told = _found(reader, operator, _bytes(key, hex_))
    if not entries:
        what = f"operator '{operator}' of pipeline '{reader.stores.pipeline}' keeps nothing for key '{key}'"
        raise WorldError(what, hint="'whorl state scan' shows the keys that there are", code="state-key")
    if format is Format.JSON:
        for entry in entries:
            typer.echo(entry.line())
        return
    typer.echo(table(("STATE", "MAP KEY", "VALUE", "EXPIRES", "POSITION"), map(_row, entries)))
    typer.echo(told)


@app.command(epilog="Example: whorl state scan pipeline.yaml spend --prefix account- --limit 10")
def scan(
    of: Of,
    operator: Operator,
    state: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only this state; '_timers' for timers.", show_default=False),
    ] = None,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Only keys that begin so.", show_default=False)] = "",
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="End after so many.", show_default=False)
    ] = None,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Print all that an operator keeps, each entry as a line of JSON."""
    with _source(operator, of, broker, profile, set_, config) as reader, piped():
        for entry in islice(reader.scan(operator, state, prefix.encode()), limit):
            print(entry.line())


@app.command("export", epilog="Example: whorl state export pipeline.yaml spend -o spend.parquet")
def export_(
    of: Of,
    operator: Operator,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Ends with .jsonl or .parquet.", show_default=False),
    ],
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Write all that an operator keeps to a file: lines of JSON, or parquet."""
    with _source(operator, of, broker, profile, set_, config) as reader:
        written = export(output, reader.scan(operator))
    typer.echo(f"{count(written, 'entry', 'entries')} of '{operator}' to '{output}'")


def _reader(
    of: str, broker: str | None, profile: str | None, sets: list[str] | None, config: Path | None
) -> tuple[StateReader, Settings]:
    name, settings = named(of, profile, sets or (), config)
    return StateReader.on(Cluster(clients_at(broker, settings)), name), settings


@contextmanager
def _source(
    operator: str, of: str, broker: str | None, profile: str | None, sets: list[str] | None, config: Path | None
) -> Iterator[StateReader | QueryReader]:
    """What an operator keeps is in a changelog, or in a checkpoint, which takes Spark to be read."""
    reader, settings = _reader(of, broker, profile, sets, config)
    if not reader.stores.in_a_query(operator):
        yield reader
        return
    with session_aside(settings, "state") as spark:
        yield QueryReader(spark, reader.stores, settings.checkpoints)


def _found(reader: StateReader | QueryReader, operator: str, key: bytes) -> tuple[list[Entry], str]:
    """What is kept for a key, and up to where that is."""
    if isinstance(reader, QueryReader):
        entries = reader.get(operator, key)
        return entries, f"partition {entries[0].lp}, after batch {entries[0].position}" if entries else ""
    found = reader.get(operator, key)
    return (found[1], f"logical partition {found[0].lp}, {_read_so_far(found[0])}") if found else ([], "")


def _bytes(key: str, in_hex: bool) -> bytes:
    try:
        return bytes.fromhex(key) if in_hex else key.encode()
    except ValueError:
        raise UsageError(f"'{key}' is not hexadecimal", hint="two of 0-9 and a-f for each byte") from None


_KEPT = ("COMPONENT", "OPERATOR", "STATES", "KEYS", "ENTRIES", "SIZE", "PARTITIONS", "CHANGELOG")


def _kept(kept: Kept) -> tuple[object, ...]:
    states = [f"{name} ({kind})" for name, kind in sorted(kept.states.items())]
    timers = [count(kept.timers, "timer")] if kept.timers else []
    told = ", ".join([*states, *timers])
    return (
        kept.component, kept.operator, told, kept.keys, kept.entries, format_size(kept.size), kept.lps, kept.topic
    )  # fmt: skip


def _row(entry: Entry) -> tuple[object, ...]:
    return (
        entry.state,
        "-" if entry.map_key is None else _short(entry.map_key),
        _short(as_json(entry.value)),
        entry.expires.isoformat() if entry.expires else "-",
        entry.position,
    )


def _short(text: str) -> str:
    shown = as_text(text.encode())
    return shown if len(shown) <= _WIDEST else shown[: _WIDEST - 1] + "…"


def _read_so_far(lp: Latest) -> str:
    places = (f"{topic}/{partition} to {offset}" for (topic, partition), offset in sorted(lp.positions.items()))
    return f"which has read {', '.join(places) or 'nothing'}"
