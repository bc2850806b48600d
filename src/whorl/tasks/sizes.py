"""What is kept must fit into its topics: a broker that refuses one entry refuses the transaction, again and again.

At a commit that is seen for nothing, and told by `Oversized`; which record made it is not known any more. So the task goes back to the last
commit, and then measures what each record writes, before it is kept: the one that makes an entry too large fails by its operator's policy.
"""

from __future__ import annotations

from collections.abc import Mapping

from whorl.errors import PipelineError
from whorl.operators.chain import StepFailed
from whorl.sinks.kafka import OVERHEAD, record_size
from whorl.state.codec import address
from whorl.state.partition import LpState

Kept = tuple[str, bytes | None, bytes, int]
"""Topic, value, key, partition."""
_TOLD = 200
"""Bytes of a key that an error tells."""


class Oversized(Exception):
    """The open transaction cannot be committed."""

    def __init__(self, error: PipelineError) -> None:
        super().__init__(error)
        self.error = error


class Changes:
    """The entries of state that go into a changelog."""

    def __init__(self, changelog: str, limit: int) -> None:
        """`limit`: the largest message that it takes."""
        self._topic, self._limit = changelog, limit

    def check(self, delta: Mapping[bytes, bytes | None]) -> None:
        """Raises where an entry is too large; looks at each only if the longest key with the longest value would be."""
        most = self._limit - OVERHEAD
        longest = max(map(len, delta), default=0) + max(map(len, filter(None, delta.values())), default=0)
        for key, value in delta.items() if longest > most else ():
            if value is not None and len(key) + len(value) > most:
                raise Oversized(self._too_large(key, len(key) + len(value)))

    def measure(self, state: LpState) -> None:
        """What the open record has written."""
        found = state.oversized(self._limit - OVERHEAD)
        if found is not None:
            whose = address(found[0])
            raise StepFailed(whose.operator if whose else "", self._too_large(*found))

    def _too_large(self, entry: bytes, size: int) -> PipelineError:
        whose, what = address(entry), "an entry"
        if whose is not None:
            what = f"state '{whose.state}' of operator '{whose.operator}' for key {whose.key[:_TOLD]!r}"
        return PipelineError(
            f"{what} takes {size:,} bytes, too large for its changelog (max.message.bytes {self._limit:,})",
            hint=f"keep less of a key: a MapState stores each entry by itself; or raise the limit of '{self._topic}'",
            code="state-size",
        )


def fitting(operator: str, record: Kept, limit: int) -> Kept:
    """What an operator publishes, where its topic takes it."""
    topic, value, key, _ = record
    size = record_size(value, key, None)
    if size <= limit:
        return record
    raise Oversized(
        PipelineError(
            f"what operator '{operator}' publishes of key {key[:_TOLD]!r} takes {size:,} bytes, too large for topic '{topic}' "
            f"(max.message.bytes {limit:,})",
            hint="keep less of a key, raise the topic's limit, or take `publish` away",
            code="state-size",
        )
    )
