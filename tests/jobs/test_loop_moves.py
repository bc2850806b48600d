"""A loop that is saved, rescaled and resumed while records go round: every step once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Running, eventually, whorl
from walking import rows_of, start_walks, walk_pipeline

from whorl.broker import Broker

pytestmark = pytest.mark.long
STEPS = {"a": 8_000, "b": 6_000}


def test_rounds_go_on_over_a_savepoint_and_in_other_partitions(
    broker: Broker, tmp_path: Path, topic: Callable[..., str], whorl_run: Callable[..., Running]
) -> None:
    source, sink = topic(4), topic(1)
    file = walk_pipeline(tmp_path, source, sink)
    start_walks(broker.address, source, STEPS)
    running = whorl_run(file)

    def goes_on() -> None:
        before = len(rows_of(broker.address, sink))
        eventually(lambda: len(rows_of(broker.address, sink)) > before + 20, 120, f"more steps; {running.output}")

    goes_on()
    saved = whorl(broker.address, tmp_path, "savepoint", source)
    goes_on()
    moved = whorl(broker.address, tmp_path, "rescale", source, "--partitions", "2")
    assert "4 -> 2" in moved, moved
    goes_on()
    assert running.stop() == 0, running.output
    assert len(rows_of(broker.address, sink)) < sum(STEPS.values()), "nothing went round any more when it was moved"

    running = whorl_run(file, "--until-quiet")
    assert running.wait(300) == 0, running.output
    assert Counter((row["walk"], row["round"]) for row in rows_of(broker.address, sink)) == _all_steps(), saved


def _all_steps() -> Counter[tuple[object, object]]:
    return Counter((walk, round) for walk, steps in STEPS.items() for round in range(steps + 1))
