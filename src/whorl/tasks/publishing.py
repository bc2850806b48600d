"""What operators keep, shown in a topic of their own: of each key that changed the row as it is now, in the transaction that changes it.

An operator with one state that is a row shows that row; any other shows a column for each of its states, maps left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whorl.formats.json import encode
from whorl.operators.keyed_step import KeyedStep
from whorl.operators.record import Row
from whorl.sinks.kafka import BY_KEY
from whorl.state.partition import LpState
from whorl.tasks.sizes import Kept, fitting


class Publishing:
    def __init__(self, topics: Mapping[str, str], steps: Mapping[str, KeyedStep], limits: Mapping[str, int]) -> None:
        """The first two by operator. `limits`: the largest message that a topic takes."""
        self._of = {id: (topic, limits[topic], steps[id]) for id, topic in topics.items()}

    def records(self, lp: LpState) -> Iterator[Kept]:
        """Of what this transaction changes: topic, value, key, and that the key says which partition."""
        for id, (topic, limit, step) in self._of.items():
            for key, kept in step.changed(lp):
                row = _row(kept)
                yield fitting(id, (topic, None if row is None else encode(row), key, BY_KEY), limit)


def _row(kept: Row) -> Row | None:
    """None: there is nothing any more."""
    if not kept:
        return None
    alone = next(iter(kept.values())) if len(kept) == 1 else None
    return alone if isinstance(alone, dict) else kept
