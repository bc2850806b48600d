"""The changelog: a compacted topic per component, one partition per logical partition.

Its `_lp` record holds the source positions of the lp. They are written in the transaction that writes the outputs, so they are the truth
about what was processed; the consumer group's offsets only mirror them for tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson

from whorl.errors import WorldError
from whorl.kafka.clients import Clients
from whorl.kafka.reading import read_to_end
from whorl.state.partition import LP_KEY
from whorl.tasks.layout import Layout, Place

VERSION = 1


def encode_positions(positions: Mapping[Place, int]) -> bytes:
    nested: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in positions.items():
        nested.setdefault(topic, {})[str(partition)] = offset
    return orjson.dumps({"version": VERSION, "positions": nested})


def decode_positions(value: bytes) -> dict[Place, int]:
    fields = orjson.loads(value)
    if fields["version"] > VERSION:
        raise WorldError(
            f"the changelog was written in format {fields['version']}, this Whorl knows {VERSION}",
            hint="use the newer Whorl",
        )
    return {(topic, int(p)): offset for topic, of in fields["positions"].items() for p, offset in of.items()}


def read_positions(clients: Clients, topic: str, lps: Iterable[int]) -> dict[Place, int]:
    """Committed source positions of these lps."""
    latest: dict[int, bytes] = {}
    for message in read_to_end(clients, [(topic, lp) for lp in lps]):
        if message.key() == LP_KEY:
            latest[message.partition()] = message.value()
    return {place: offset for value in latest.values() for place, offset in decode_positions(value).items()}


def by_lp(layout: Layout, positions: Mapping[Place, int]) -> dict[int, dict[Place, int]]:
    """Positions sorted under the lp they belong to."""
    sorted_: dict[int, dict[Place, int]] = {}
    for place, offset in positions.items():
        sorted_.setdefault(layout.lp_of(place[1]), {})[place] = offset
    return sorted_
