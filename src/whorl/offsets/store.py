"""What an offset store does, and how one is opened by its URL.

A store is somebody's view of how far a group has read. It is never the truth of a job, which is in its changelogs and checkpoints: so a
store that is away, or wrong, harms nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from whorl.config.offset_stores import StoreUrl, known_stores
from whorl.errors import Unavailable, WorldError
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Place

Offsets = Mapping[Place, int]
"""By topic and partition: the offset of the next record to be read."""
PATIENCE = 30.0
"""Seconds in which a store answers, or does not."""


class OffsetStore(Protocol):
    """Made from a URL and the job's Kafka clients. May raise whatever it likes: who calls it retries, or tells."""

    def __init__(self, url: StoreUrl, clients: KafkaClients) -> None: ...

    def read(self, group: str) -> dict[Place, int]:
        """All offsets of a group; none where it is not known."""

    def write(self, group: str, offsets: Offsets) -> None:
        """These, beside those of other partitions that are there already."""

    def close(self) -> None: ...


def open_store(url: StoreUrl, clients: KafkaClients) -> OffsetStore:
    point = known_stores()[url.scheme]
    try:
        kind = point.load()
    except ImportError as error:
        hint = f"install it: pip install 'whorl[{url.scheme.removesuffix('s')}]'"
        raise WorldError(
            f"an offset store '{url.scheme}' needs a package: {error}", hint=hint, code="offset-store"
        ) from None
    store: OffsetStore = kind(url, clients)
    return store


@contextmanager
def opened(url: StoreUrl, clients: KafkaClients) -> Iterator[OffsetStore]:
    """For one use; what goes wrong comes as one sentence."""
    store = open_store(url, clients)
    try:
        yield store
    except WorldError:
        raise
    except Exception as error:
        raise Unavailable(
            f"the offset store '{url}' fails: {reason(error)}",
            hint="is it up, and is the URL right?",
            code="offset-store",
        ) from error
    finally:
        store.close()


def reason(error: Exception) -> str:
    said = str(error).strip().splitlines()
    return said[0] if said else type(error).__name__


def refuse_unnamed(url: StoreUrl) -> None:
    if not url.group:
        raise WorldError(f"'{url}' does not say whose offsets", hint="add ?group=NAME", code="offset-store")
