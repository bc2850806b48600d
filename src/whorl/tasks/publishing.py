"""What operators keep, shown in a topic of their own: of each key that changed the row as it is now, in the transaction that changes it.

An operator with one state that is a row shows that row; any other shows a column for each of its states, maps left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from whorl.formats.json import encode
from whorl.operators.keyed_step import KeyedStep
from whorl.operators.record import Row
from whorl.state.codec import TIMERS, address
from whorl.state.partition import LpState


class Publishing:
    def __init__(self, topics: Mapping[str, str], steps: Mapping[str, KeyedStep]) -> None:
        """Both by operator."""
        self._of = {id: (topic, steps[id]) for id, topic in topics.items()}

    def records(self, lp: LpState, changed: Iterable[bytes]) -> Iterator[tuple[str, bytes | None, bytes]]:
        """Topic, value and key of each. `changed`: keys of the changelog."""
        for id, key in self._keys(changed) if self._of else ():
            topic, step = self._of[id]
            row = _row(step.kept(lp, key))
            yield topic, None if row is None else encode(row), key

    def _keys(self, changed: Iterable[bytes]) -> Iterable[tuple[str, bytes]]:
        found = filter(None, map(address, changed))
        mine = ((at.operator, at.key) for at in found if at.operator in self._of and at.state != TIMERS)
        return dict.fromkeys(mine)


def _row(kept: Row) -> Row | None:
    """None: there is nothing any more."""
    if not kept:
        return None
    alone = next(iter(kept.values())) if len(kept) == 1 else None
    return alone if isinstance(alone, dict) else kept
