"""A crash at every call of a Kafka client that a run makes, one run for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from whorl.testing import Crash, PipelineHarness


def after_each_crash(
    points: list[str], prepared: Callable[[int], PipelineHarness]
) -> Iterator[tuple[str, PipelineHarness]]:
    """The point, and what `prepared` (given the point's number) gives, crashed there and run to its end. `points`: those of a run
    that nothing disturbed."""
    for number, point in enumerate(points, 1):
        harness = prepared(number)
        harness.crash_at(number)
        with pytest.raises(Crash):
            harness.run()
        harness.run()
        yield point, harness
