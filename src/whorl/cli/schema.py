"""`whorl schema`: the columns of topics and paths, found from samples, and those that are published for all pipelines."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.options import BrokerOption, Config, Profile
from whorl.cli.table import table
from whorl.config.framework import framework_settings
from whorl.config.sources import FileSource
from whorl.config.writing import to_yaml
from whorl.errors import UsageError
from whorl.formats import parse_format
from whorl.jobs.address import clients_at
from whorl.kafka.topics import Cluster
from whorl.schema import INFER
from whorl.schemas.observe import Inferred
from whorl.schemas.published import Entry, of_path, of_topic, publish, published
from whorl.schemas.sampling import SAMPLE, sample_files, sample_topics

app = typer.Typer(add_completion=False, no_args_is_help=True)
_FILES = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv"}


@app.command(epilog="Example: whorl schema infer orders -o orders.schema.yaml --publish")
def infer(
    of: Annotated[str, typer.Argument(metavar="TOPIC|PATH", help="A topic, or a file or folder.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the columns there.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="json or csv; else by the file's name, else json.")] = None,
    delimiter: Annotated[str, typer.Option(help="Of csv.")] = ",",
    columns: Annotated[str | None, typer.Option(help="Of csv records: their columns, by comma.")] = None,
    sample: Annotated[int, typer.Option(min=1, help="Records or lines to look at.")] = SAMPLE,
    publish_: Annotated[
        bool, typer.Option("--publish", help="Tell other pipelines by the topic 'whorl.schemas'.")
    ] = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    config: Config = None,
) -> None:
    """Sample a topic or path, and show what columns it has and how sure that is."""
    is_path = Path(of).exists() or "/" in of
    cluster = None if is_path and not publish_ else _cluster(broker, profile, config)
    found = (
        _of_path(of, format, delimiter, sample)
        if is_path
        else _of_topic(cluster, of, format, delimiter, columns, sample)
    )
    rows = [(column.name, column.type, f"{column.sure:.1%}", column.found) for column in found.columns]
    typer.echo(table(("COLUMN", "TYPE", "SURE", "FOUND"), rows))
    unreadable = f", {found.unreadable:,} cannot be read" if found.unreadable else ""
    typer.echo(f"{found.rows:,} rows looked at{unreadable}")
    if output is not None:
        output.write_text(_page(of, found), "utf-8")
        typer.echo(f"written to '{output}'")
    if publish_ and cluster is not None:
        key, origin = (of_path(of) if is_path else of_topic(of)), f"{found.rows:,} rows of '{of}'"
        publish(cluster, {key: Entry.of(found, origin)})
        typer.echo(f"published in 'whorl.schemas' under '{key}'")


@app.command("list", epilog="Example: whorl schema list")
def list_(broker: BrokerOption = None, profile: Profile = None, config: Config = None) -> None:
    """What is published, and what pipelines have pinned."""
    known = published(_cluster(broker, profile, config))
    rows = [(key, str(len(entry.columns)), entry.origin) for key, entry in sorted(known.items())]
    typer.echo(table(("OF", "COLUMNS", "FROM"), rows))


@app.command(epilog="Example: whorl schema show topic:orders")
def show(
    key: Annotated[str, typer.Argument(help="As `whorl schema list` has it, or a topic.", show_default=False)],
    broker: BrokerOption = None,
    profile: Profile = None,
    config: Config = None,
) -> None:
    """The columns of one entry, as a pipeline's `schema` has them."""
    known = published(_cluster(broker, profile, config))
    entry = known.get(key) or known.get(of_topic(key))
    if entry is None:
        raise UsageError(f"nothing is published under '{key}'", hint="'whorl schema list' shows what is", code="schema")
    typer.echo(f"# {entry.origin}\n{to_yaml(dict(entry.columns))}", nl=False)


def _cluster(broker: str | None, profile: str | None, config: Path | None) -> Cluster:
    return Cluster(clients_at(broker, framework_settings(profile, config)))


def _of_path(path: str, format: str | None, delimiter: str, sample: int) -> Inferred:
    named = format or _format_of(Path(path))
    csv = {"delimiter": delimiter} if named == "csv" else {}
    source = FileSource.model_validate({"path": path, "format": named, "schema": INFER, **csv})
    return sample_files(source, sample)


def _format_of(path: Path) -> str:
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return next((_FILES[file.suffix] for file in files if file.suffix in _FILES), "json")


def _of_topic(
    cluster: Cluster | None, topic: str, format: str | None, delimiter: str, columns: str | None, sample: int
) -> Inferred:
    assert cluster is not None
    csv = {"delimiter": delimiter, **({"columns": columns.split(",")} if columns else {})}
    options = parse_format({"type": "csv", **csv} if format == "csv" else format or "json")
    return sample_topics(cluster, [topic], options, sample)


def _page(of: str, found: Inferred) -> str:
    head = f"# {found.rows:,} rows of '{of}', {datetime.now(UTC):%Y-%m-%d %H:%M} UTC\n"
    width = max(len(f"{column.name}: {column.type}") for column in found.columns) if found.columns else 0
    lines = to_yaml(dict(found.schema)).splitlines() if found.columns else []
    sure = [f"{column.sure:.1%} sure: {column.found}" for column in found.columns]
    if len(lines) != len(sure):
        return head + "\n".join(lines) + "\n"
    return head + "".join(f"{line:<{width + 4}}# {told}\n" for line, told in zip(lines, sure, strict=True))
