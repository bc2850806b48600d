"""`whorl topics`: the topics of a cluster. Whorl's own, `whorl.*`, and Kafka's, `__*`, are hidden and kept unless asked for."""

from __future__ import annotations

from typing import Annotated

import typer
from confluent_kafka import KafkaException

from whorl.cli.connect import connect
from whorl.cli.options import BrokerOption, Config, Profile
from whorl.cli.table import count, table
from whorl.config.codes import suggest
from whorl.errors import UsageError, WorldError
from whorl.kafka.topics import Cluster, TopicWanted

app = typer.Typer(add_completion=False, no_args_is_help=True, help="List, describe, create and delete topics.")
Names = Annotated[list[str], typer.Argument(metavar="TOPIC…", help="Topics.", show_default=False)]
Internal = Annotated[bool, typer.Option("--internal", help="Whorl's and Kafka's own topics too.")]
_SHOWN = ("cleanup.policy", "retention.ms", "max.message.bytes", "min.insync.replicas")


@app.command("list", epilog="Example: whorl topics list --broker localhost:9092")
def list_(
    internal: Internal = False, broker: BrokerOption = None, profile: Profile = None, config: Config = None
) -> None:
    """List topics with their partitions."""
    counts = connect(broker, profile, config).partition_counts()
    shown = [(name, partitions) for name, partitions in sorted(counts.items()) if internal or not is_internal(name)]
    typer.echo(table(("TOPIC", "PARTITIONS"), shown))


@app.command(epilog="Example: whorl topics describe orders")
def describe(names: Names, broker: BrokerOption = None, profile: Profile = None, config: Config = None) -> None:
    """Show partitions with their first and next offset, and the settings that matter."""
    cluster = connect(broker, profile, config)
    counts = existing(cluster, names)
    settings = cluster.topic_config(names)
    for name in names:
        places = [(name, partition) for partition in range(counts[name])]
        first, end = cluster.earliest(places), cluster.latest(places)
        typer.echo(f"{name}: {count(counts[name], 'partition')}")
        typer.echo("  " + ", ".join(f"{key}={settings[name].get(key, '-')}" for key in _SHOWN))
        rows = [(place[1], first[place], end[place]) for place in places]
        typer.echo(_indented(table(("PARTITION", "FIRST", "END"), rows)))


@app.command(epilog="Example: whorl topics create orders --partitions 8 --option retention.ms=86400000")
def create(
    names: Names,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of each.")] = 4,
    replication: Annotated[
        int | None, typer.Option(min=1, help="Copies; else as many as fit, up to 3.", show_default=False)
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A topic setting of Kafka; may be repeated.", show_default=False),
    ] = None,
    broker: BrokerOption = None,
    profile: Profile = None,
    config: Config = None,
) -> None:
    """Create topics."""
    settings = dict(assignment(text, "--option") for text in option or ())
    cluster = connect(broker, profile, config)
    if there := sorted(set(names) & set(cluster.partition_counts())):
        hint = f"look at it: whorl topics describe {there[0]}"
        raise WorldError(f"topic {_quoted(there)} exists already", hint=hint, code="topic-exists")
    cluster.create(
        [TopicWanted(name, partitions, settings) for name in names], replication or min(3, cluster.brokers())
    )
    typer.echo(f"created {_quoted(names)} with {count(partitions, 'partition')}")


@app.command(epilog="Example: whorl topics delete orders --dry-run")
def delete(
    names: Names,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    internal: Internal = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    config: Config = None,
) -> None:
    """Delete topics with all their records."""
    cluster = connect(broker, profile, config)
    existing(cluster, names)
    if own := [name for name in names if is_internal(name) and not internal]:
        hint = "a pipeline may lose its positions; if that is meant, add --internal"
        raise UsageError(f"topic {_quoted(own)} is internal", hint=hint, code="topic-internal")
    if dry_run:
        typer.echo(f"would delete {_quoted(names)}")
        return
    try:
        cluster.delete(names)
    except KafkaException as error:
        raise WorldError(
            f"the broker does not delete {_quoted(names)}: {error.args[0].str()}", code="topic-delete"
        ) from None
    typer.echo(f"deleted {_quoted(names)}")


def is_internal(name: str) -> bool:
    return name.startswith(("whorl.", "__"))


def existing(cluster: Cluster, names: list[str]) -> dict[str, int]:
    """Partition counts of all topics, if the named ones are among them."""
    counts = cluster.partition_counts()
    for name in names:
        if name not in counts:
            near = suggest(name, (known for known in counts if not is_internal(known)))
            hint = near if near.startswith("did") else f"create it: whorl topics create {name}"
            raise WorldError(f"topic '{name}' does not exist", hint=hint, code="topic-missing")
    return counts


def assignment(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"'{option} {text}' sets nothing", hint=f"write {option} name=value")
    return name, value


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
