"""`whorl consume`: the committed records of a topic, each partition in its order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException, TopicPartition

from whorl.cli.connect import connect
from whorl.cli.options import BrokerOption, Config, Profile
from whorl.cli.piped import piped
from whorl.cli.shown import as_data, as_text, dumped
from whorl.cli.topics import existing
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end, reading

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: whorl consume totals --keys --count 10")
def consume(
    topic: Annotated[str, typer.Argument(help="The topic.", show_default=False)],
    json: Annotated[
        bool, typer.Option("--json", help="Each record with place, time, key and headers as a line of JSON.")
    ] = False,
    keys: Annotated[bool, typer.Option("--keys", help="The key before the value.")] = False,
    headers: Annotated[bool, typer.Option("--headers", help="Headers before the value.")] = False,
    count: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="End after so many records.", show_default=False)
    ] = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning/--latest", help="Where to start; --latest implies --follow.")
    ] = True,
    follow: Annotated[
        bool, typer.Option("--follow", help="Do not end at the end: wait for more, until Ctrl-C.")
    ] = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    config: Config = None,
) -> None:
    """Read the committed records of a topic: from the beginning to the end, unless told otherwise."""
    cluster = connect(broker, profile, config)
    partitions = existing(cluster, [topic])[topic]
    places = [(topic, partition) for partition in range(partitions)]
    waits = follow or not from_beginning
    messages = _following(cluster.clients, places, from_beginning) if waits else read_to_end(cluster.clients, places)
    try:
        with reading(topic), piped():
            for message in islice(messages, count):
                print(_as_json(message) if json else _as_line(message, keys, headers), flush=waits)
    except KeyboardInterrupt:
        if not waits:
            raise


def _following(clients: KafkaClients, places: list[tuple[str, int]], from_beginning: bool) -> Iterator[Any]:
    consumer = clients.consumer()
    start = OFFSET_BEGINNING if from_beginning else OFFSET_END
    try:
        consumer.assign([TopicPartition(*place, start) for place in places])
        while True:
            message = consumer.poll(1.0)
            error = message.error() if message is not None else None
            if error is not None and error.code() != KafkaError._PARTITION_EOF and not error.retriable():
                raise KafkaException(error)
            if message is not None and error is None:
                yield message
    finally:
        consumer.close()


def _as_line(message: Any, keys: bool, headers: bool) -> str:
    parts = [as_text(message.key())] if keys else []
    if headers:
        parts.append(",".join(f"{name}={as_text(value)}" for name, value in message.headers() or ()))
    return "\t".join([*parts, as_text(message.value())])


def _as_json(message: Any) -> str:
    return dumped(
        {
            "topic": message.topic(),
            "partition": message.partition(),
            "offset": message.offset(),
            "timestamp": message.timestamp()[1],
            "key": None if message.key() is None else as_text(message.key()),
            "headers": [[name, None if value is None else as_text(value)] for name, value in message.headers() or ()],
            "value": as_data(message.value()),
        }
    )
