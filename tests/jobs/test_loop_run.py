"""A loop on Spark and Kafka, a worker of which is killed: every step once, and the run ends by itself when nothing is left to do."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Running, eventually
from walking import rows_of, start_walks, walk_pipeline

from whorl.broker import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
STEPS = 600
STEPS_OF = {"a": STEPS, "b": STEPS // 2}


def test_a_walk_over_two_tasks(
    broker: Broker, tmp_path: Path, topic: Callable[..., str], whorl_run: Callable[..., Running]
) -> None:
    source, sink = topic(4), topic(1)
    file = walk_pipeline(tmp_path, source, sink)
    start_walks(broker.address, source, STEPS_OF)
    running = whorl_run(file, "--until-quiet")
    eventually(lambda: len(rows_of(broker.address, sink)) > 60, 300, f"the first steps: {running.output}")
    os.kill(running.workers()[0], signal.SIGKILL)
    assert running.wait(300) == 0, running.output
    seen = rows_of(broker.address, sink)
    assert Counter((row["walk"], row["round"]) for row in seen) == Counter(
        (walk, round) for walk, steps in STEPS_OF.items() for round in range(steps + 1)
    )
    places = Counter(row["place"] for row in seen)
    assert {place: max(int(str(row["visits"])) for row in seen if row["place"] == place) for place in places} == places
    quiet = re.search(r": quiet after (\d+) rounds, \d+ messages, [\d.]+ s", running.output)
    # Figures are those of the tasks that lived to the end: one that was killed may have seen the last rounds of all.
    assert quiet and 0 < int(quiet[1]) <= STEPS, running.output
    assert any("active keys" in line for line in running.lines), running.output
