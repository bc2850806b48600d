"""Which broker a pipeline talks to: the one its settings name, else the embedded one of this folder."""

from __future__ import annotations

from pathlib import Path

from whorl.broker import DEFAULT_FOLDER, Broker
from whorl.config.settings import Settings
from whorl.errors import WorldError
from whorl.kafka.clients import KafkaClients


def clients_of(settings: Settings, folder: Path = Path()) -> KafkaClients:
    return KafkaClients(broker_address(settings, folder), settings.kafka)


def clients_at(broker: str | None, settings: Settings) -> KafkaClients:
    """As `clients_of`, unless the broker was named by hand."""
    return clients_of(settings.model_copy(update={"broker": broker}) if broker else settings)


def broker_address(settings: Settings, folder: Path = Path()) -> str:
    if settings.broker:
        return settings.broker
    found = Broker.find(folder / DEFAULT_FOLDER)
    if found is None:
        raise WorldError(
            "no broker is set and none runs in this folder",
            hint="start one with 'whorl broker start', or set 'broker: host:port' in whorl.yaml",
            code="no-broker",
        )
    return found.address
