"""Where Kafka clients come from, and the settings that every one of them has.

The task loop takes a `Clients`; on executors that is `whorl.tasks.clients`, in tests the memory broker's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from whorl.errors import PipelineError

T = TypeVar("T")
log = logging.getLogger("whorl.kafka")
LARGEST_OF_ANY = 1_000_000_000
"""Bytes of a message. Sizes are checked against each topic's own limit; the client's must not come first."""


class Clients(Protocol):
    def consumer(self, **config: Any) -> Any: ...
    def transactional(self, transactional_id: str, **config: Any) -> Any: ...
    def producer(self, **config: Any) -> Any: ...


@dataclass(frozen=True)
class KafkaClients:
    """Clients of a real cluster. `extra` is the user's `kafka:` settings and wins over ours."""

    address: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    kinds: ClassVar[tuple[type[Consumer], type[Producer]]] = (Consumer, Producer)

    @property
    def common(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.address,
            "error_cb": _quiet,
            "log.connection.close": False,
            "socket.nagle.disable": True,
            "logger": _silent,
            "reconnect.backoff.ms": 50,
            "reconnect.backoff.max.ms": 1000,
            "allow.auto.create.topics": False,
        }

    def consumer(self, **config: Any) -> Consumer:
        """Reads committed records of assigned partitions, says when an end is reached, never resets an offset by itself."""
        defaults = {
            "group.id": "whorl.reader",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 100,
            "fetch.error.backoff.ms": 100,
        }
        return made(self.kinds[0], {**self.common, **defaults, **config, **self.extra})

    def producer(self, **config: Any) -> Producer:
        defaults = {
            "partitioner": "murmur2_random",
            "acks": "all",
            "enable.idempotence": True,
            "compression.type": "lz4",
            "linger.ms": 0,
            "delivery.report.only.error": True,
            "message.max.bytes": LARGEST_OF_ANY,
        }
        return made(
            self.kinds[1], {**_without(self.common, "allow.auto.create.topics"), **defaults, **config, **self.extra}
        )

    def transactional(self, transactional_id: str, **config: Any) -> Producer:
        return self.producer(**{"transactional.id": transactional_id, "linger.ms": 2, **config})


def made(kind: Callable[[dict[str, Any]], T], config: dict[str, Any]) -> T:
    """A client; one whose settings librdkafka does not take is the user's `kafka:` settings being wrong."""
    try:
        return kind(config)
    except KafkaException as error:
        hint = "look at 'kafka' in the settings; names are librdkafka's"
        raise PipelineError(
            f"no Kafka client can be made: {error.args[0].str()}", hint=hint, code="kafka-settings"
        ) from None


def dotted(**config: Any) -> dict[str, Any]:
    """`dotted(group_id="a")` is `{"group.id": "a"}`: librdkafka's names as keywords."""
    return {name.replace("_", "."): value for name, value in config.items()}


def _without(config: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key != name}


def _quiet(error: KafkaError) -> None:
    log.debug("%s", error)


_silent = logging.getLogger("whorl.kafka.librdkafka")
_silent.setLevel(logging.CRITICAL)
