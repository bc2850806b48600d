"""`whorl offsets`: how far a pipeline has read, and other positions for one that does not run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Annotated

import orjson
import typer

from whorl.cli.options import BrokerOption, Config, Of, Profile, Sets
from whorl.cli.pipelines import pipeline_of
from whorl.cli.table import count, table
from whorl.config.framework import framework_settings
from whorl.config.offset_stores import StoreUrl
from whorl.errors import UsageError, WorldError
from whorl.jobs.address import clients_at
from whorl.jobs.lagging import Behind, behind
from whorl.jobs.positions import local_logs, readers
from whorl.jobs.reset import Move, Moves, Reset
from whorl.jobs.targets import Stored, Target, a_store, target
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster, Place
from whorl.offsets.file import FileStore
from whorl.offsets.store import Offsets, opened, refuse_unnamed
from whorl.tasks.register import Registration, owner_of
from whorl.units import format_duration, parse_duration

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Show how far a pipeline has read, and move its positions."
)
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="TOPIC", help="Only this one; may be repeated.", show_default=False),
]
Components = Annotated[
    list[str] | None,
    typer.Option("--component", metavar="ID", help="Only this one; may be repeated.", show_default=False),
]
StoreArgument = Annotated[str, typer.Argument(metavar="STORE", help="A file, or a store's URL.", show_default=False)]


@app.command(epilog="Example: whorl offsets show pipeline.yaml --over 5s")
def show(
    of: Of,
    over: Annotated[str, typer.Option(metavar="TIME", help="How long rates are measured.")] = "2s",
    json: Annotated[bool, typer.Option("--json", help="Each partition as a line of JSON.")] = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Show each partition: earliest, committed and latest offset, lag, rate, and when it will have caught up."""
    pipeline = pipeline_of(of, broker, profile, set_, config)
    cluster, registration, settings = pipeline.known
    found = behind(cluster, registration, settings, _seconds(over))
    if json:
        for each in found:
            typer.echo(orjson.dumps({**asdict(each), "lag": each.lag, "seconds_left": each.seconds_left}).decode())
        return
    typer.echo(table(_HEAD, map(_row, found)))
    lag, lost = sum(each.lag for each in found), sum(each.lost for each in found)
    runs = "runs" if pipeline.holder() else "does not run"
    gone = f", of which {lost:,} are gone from Kafka" if lost else ""
    typer.echo(f"'{registration.pipeline}' {runs}; lag {lag:,} in all{gone}")


@app.command(epilog="Example: whorl offsets reset pipeline.yaml --to 2026-01-31T12:00:00Z --dry-run")
def reset(
    of: Of,
    to: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="earliest, latest, a time, +N or -N records, a file of offsets, or a store's URL.",
            show_default=False,
        ),
    ],
    topic: Topics = None,
    component: Components = None,
    dry_run: DryRun = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Move the positions of a pipeline that does not run, and the offsets of its groups with them. State stays as it is."""
    aim = target(to)
    work = Reset(*pipeline_of(of, broker, profile, set_, config).known)
    _move(work, aim, topic, component, dry_run)


@app.command("import", epilog="Example: whorl offsets import pipeline.yaml offsets.json --dry-run")
def import_(
    of: Of,
    store: StoreArgument,
    topic: Topics = None,
    component: Components = None,
    dry_run: DryRun = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Move the positions of a pipeline that does not run to what a file or a store has."""
    aim = Stored(a_store(store))
    work = Reset(*pipeline_of(of, broker, profile, set_, config).known)
    _move(work, aim, topic, component, dry_run)


@app.command(epilog="Example: whorl offsets export pipeline.yaml offsets.json")
def export(
    of: Of,
    store: StoreArgument,
    dry_run: DryRun = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Write the positions of a pipeline, which may run, to a file or a store."""
    url = a_store(store)
    cluster, registration, settings = pipeline_of(of, broker, profile, set_, config).known
    found = readers(cluster, registration, local_logs(settings, registration))
    _write(url, {reader.group: reader.positions for reader in found}, cluster, dry_run)


@app.command(epilog="Example: whorl offsets copy zookeeper://zk:2181?group=billing kafka:billing")
def copy(
    from_: Annotated[str, typer.Argument(metavar="FROM", help="A file, or a store's URL.", show_default=False)],
    to: Annotated[str, typer.Argument(metavar="TO", help="A file, or a store's URL.", show_default=False)],
    topic: Topics = None,
    dry_run: DryRun = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    config: Config = None,
) -> None:
    """Copy the offsets of groups between stores, or to another group."""
    source, aim = a_store(from_), a_store(to)
    clients = clients_at(broker, framework_settings(profile, config))
    chosen = {
        group: {place: at for place, at in offsets.items() if not topic or place[0] in topic}
        for group, offsets in _groups(source, clients).items()
    }
    if not any(chosen.values()):
        raise WorldError(f"'{source}' has no such offsets", hint="look at the group's name", code="offset-store")
    _write(aim, chosen, Cluster(clients), dry_run)


# -- what they share ------------------------------------------------------------------------------------------------------------------


def _move(work: Reset, to: Target, topic: list[str] | None, component: list[str] | None, dry_run: bool) -> None:
    work.refuse_running()
    moves = work.moves(to, topic or (), component or ())
    if moves.all:
        typer.echo(table(("COMPONENT", "TOPIC", "PARTITION", "FROM", "TO", "RECORDS"), map(_moved, moves.all)))
    for note in moves.notes:
        typer.echo(note)
    if dry_run or not moves.all:
        typer.echo("nothing was changed")
        return
    work.carry_out(moves)
    typer.echo(_done(moves, work.registration))


def _moved(move: Move) -> tuple[object, ...]:
    steps = move.after - move.before
    told = f"{steps:,} passed over" if steps > 0 else f"{-steps:,} again"
    return (move.reader.id, *move.place, move.before, move.after, told)


def _done(moves: Moves, registration: Registration) -> str:
    groups = ", ".join(f"'{reader.group}'" for reader in moves.readers)
    return f"moved {count(len(moves.all), 'position')} of '{registration.pipeline}', and the offsets of {groups}"


def _groups(url: StoreUrl, clients: KafkaClients) -> dict[str, dict[Place, int]]:
    with opened(url, clients) as store:
        if isinstance(store, FileStore) and not url.group:
            return store.groups()
        refuse_unnamed(url)
        return {url.group: store.read(url.group)}


def _write(url: StoreUrl, groups: Mapping[str, Offsets], cluster: Cluster, dry_run: bool) -> None:
    if url.group and len(groups) > 1:
        hint = "leave the group out, or choose one of them"
        raise UsageError(f"'{url}' names one group for {len(groups)}: {', '.join(sorted(groups))}", hint=hint)
    named = {url.group or group: offsets for group, offsets in groups.items()}
    if url.scheme == "kafka" and not url.host:
        _refuse_owned(cluster, named)
    rows = [(group, *place, at) for group, offsets in named.items() for place, at in sorted(offsets.items())]
    typer.echo(table(("GROUP", "TOPIC", "PARTITION", "OFFSET"), rows))
    if dry_run:
        typer.echo("nothing was written")
        return
    with opened(url, cluster.clients) as store:
        for group, offsets in named.items():
            store.write(group, offsets)
    typer.echo(f"{count(len(rows), 'offset')} to '{url}'")


def _refuse_owned(cluster: Cluster, groups: Iterable[str]) -> None:
    """A pipeline's own group only mirrors its positions: moved alone it would stop the next start."""
    for group in groups:
        if owner := owner_of(cluster.clients, cluster.partition_counts(), group):
            what = f"group '{group}' belongs to pipeline '{owner}', which reads on from positions of its own"
            raise UsageError(what, hint=f"whorl offsets import {owner} STORE", code="offsets-owned")


_HEAD = ("COMPONENT", "TOPIC", "PARTITION", "EARLIEST", "COMMITTED", "LATEST", "LAG", "RECORDS/S", "CAUGHT UP IN")


def _row(each: Behind) -> tuple[object, ...]:
    place = (each.component, each.topic, each.partition)
    return (*place, each.earliest, each.committed, each.latest, each.lag, f"{each.rate:,.0f}", _left(each))


def _left(each: Behind) -> str:
    if not each.lag:
        return "now"
    return "-" if each.seconds_left is None else format_duration(float(max(round(each.seconds_left), 1)))


def _seconds(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--over: {error}", hint="write it as 2s or 500ms") from None
