"""Records that a query was to read next and that are gone from Kafka: told with their number, and passed where that is accepted.

Spark would find out in the middle of a batch whose offsets it has logged already. Such a batch is withdrawn, if nothing of it was
written; else it cannot be repeated as it was, and the query does not go on by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from whorl.errors import WorldError
from whorl.kafka.topics import Cluster, Place
from whorl.query.checkpoint import Checkpoint, Manifest
from whorl.tasks.gone import WITHOUT, lost


def past_gaps(
    cluster: Cluster,
    checkpoint: Checkpoint,
    manifest: Manifest,
    accepted: Collection[str],
    written: Collection[int],
    tell: Callable[[str], None],
) -> None:
    """The checkpoint reads on behind them. `accepted`: topics where that is wanted; `written`: the seqs that the ledger has."""
    positions = checkpoint.read_up_to()
    earliest = cluster.earliest(positions)
    gaps = {place: first for place, first in earliest.items() if first > positions[place]}
    for place, first in gaps.items():
        told = lost(place, positions[place], first)
        if place[0] not in accepted:
            raise WorldError(told, hint=WITHOUT, code="offsets-gone")
        tell(f"{told}; goes on without them")
    if gaps:
        _withdraw(checkpoint, manifest, written)
        checkpoint.move(whole(positions, gaps))


def whole(positions: Mapping[Place, int], moved: Mapping[Place, int]) -> dict[Place, int]:
    """All places of the topics in which some have moved."""
    topics = {topic for topic, _ in moved}
    return {place: moved.get(place, at) for place, at in positions.items() if place[0] in topics}


def _withdraw(checkpoint: Checkpoint, manifest: Manifest, written: Collection[int]) -> None:
    batch = checkpoint.progress().in_doubt
    if batch is None:
        return
    if manifest.base + batch in written:
        what = (
            f"batch {batch} of '{manifest.component}' is half written, and records that it has to read again are gone"
        )
        hint = "start over with 'whorl run --fresh', or resume a savepoint with 'whorl resume'"
        raise WorldError(what, hint=hint, code="offsets-gone")
    checkpoint.withdraw(batch)
