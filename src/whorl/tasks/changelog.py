"""The changelog: a compacted topic per component, one partition per logical partition.

Its `_lp` record holds the source positions of the lp. They are written in the transaction that writes the outputs, so they are the truth
about what was processed; the consumer group's offsets only mirror them for tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from whorl.errors import WorldError
from whorl.kafka.clients import Clients
from whorl.kafka.reading import bounds_of, read_on
from whorl.kafka.topics import COMPACTED, TopicWanted, by_topic
from whorl.state.partition import LP_KEY
from whorl.tasks.layout import Layout, Place

VERSION = 1
DELETIONS_KEPT = 6 * 3600.0
"""Seconds for which a changelog that holds state shows that a key was deleted. A copy that is older may have missed it."""
_BACK, _FURTHER = 64, 16


def wanted_changelog(topic: str, lps: int, keeps_state: bool) -> TopicWanted:
    """Where there is state, deletions stay long enough for local copies to learn of them."""
    longer = {"delete.retention.ms": str(round(DELETIONS_KEPT * 1000))} if keeps_state else {}
    return TopicWanted(topic, lps, {**COMPACTED, **longer})


def encode_positions(positions: Mapping[Place, int]) -> bytes:
    return encode_lp(positions, {})


def encode_lp(positions: Mapping[Place, int], times: Mapping[str, Any]) -> bytes:
    """`times`: clock and event time of an lp that keeps state."""
    return orjson.dumps({"version": VERSION, "positions": by_topic(positions), **({"times": times} if times else {})})


def decode_positions(value: bytes) -> dict[Place, int]:
    return decode_lp(value)[0]


def decode_lp(value: bytes) -> tuple[dict[Place, int], dict[str, Any]]:
    fields = orjson.loads(value)
    if fields["version"] > VERSION:
        raise WorldError(
            f"the changelog was written in format {fields['version']}, this Whorl knows {VERSION}",
            hint="use the newer Whorl",
        )
    positions = {(topic, int(p)): offset for topic, of in fields["positions"].items() for p, offset in of.items()}
    return positions, fields.get("times", {})


def read_positions(clients: Clients, topic: str, lps: Iterable[int]) -> dict[Place, int]:
    """Committed source positions of these lps."""
    return positions_in(read_lps(clients, topic, lps))


def positions_in(stored: Mapping[int, bytes]) -> dict[Place, int]:
    """Of the `_lp` records of several lps."""
    return {place: offset for value in stored.values() for place, offset in decode_positions(value).items()}


def read_lps(clients: Clients, topic: str, lps: Iterable[int]) -> dict[int, bytes]:
    """The `_lp` record of each. It is the last one of every commit, so only the end of the changelog is read, and more of it where a
    transaction that was given up lies there."""
    found, back = dict[int, bytes](), _BACK
    bounds = {lp: bound for (_, lp), bound in bounds_of(clients, [(topic, lp) for lp in lps]).items()}
    waiting = [lp for lp, (low, high) in bounds.items() if low < high]
    while waiting:
        starts = {(topic, lp): max(bounds[lp][0], bounds[lp][1] - back) for lp in waiting}
        for message in read_on(clients, starts):
            if message.key() == LP_KEY:
                found[message.partition()] = message.value()
        waiting = [lp for lp in waiting if lp not in found and starts[topic, lp] > bounds[lp][0]]
        back *= _FURTHER
    return found


def by_lp(layout: Layout, positions: Mapping[Place, int]) -> dict[int, dict[Place, int]]:
    """Positions sorted under the lp they belong to."""
    sorted_: dict[int, dict[Place, int]] = {}
    for place, offset in positions.items():
        sorted_.setdefault(layout.lp_of(place[1]), {})[place] = offset
    return sorted_
