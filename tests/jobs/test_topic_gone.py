"""A topic of a loop that was deleted: the same sentence while the job runs, and at the next start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from running import Running, eventually
from walking import rows_of, start_walks, walk_pipeline

from whorl.broker import Broker
from whorl.config.loader import load
from whorl.flow.check import checked
from whorl.jobs import preflight
from whorl.jobs.ground import Ground
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import INTERNAL, Cluster, TopicWanted
from whorl.plan.planner import make_plan

SENTENCE = "[topic-gone] topic '{}.walk.on_walk' of a loop does not exist any more"


def test_at_the_next_start_it_is_not_made_again_in_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load(walk_pipeline(tmp_path, "starts", "seen"))
    plan: Any = make_plan(checked(loaded), loaded.settings)
    loop = "starts.walk.on_walk"
    positions = {("starts", 0): 4, (loop, 0): 9}
    monkeypatch.setattr(preflight, "_positions", lambda *_: positions)
    ground = Ground(missing=[TopicWanted(loop, 1, INTERNAL)])
    flight: Any = SimpleNamespace(plan=plan, ground=ground)
    (found,) = preflight._gone(flight, plan.components[0])
    assert (found.code, found.message) == ("topic-gone", f"topic '{loop}' of a loop does not exist any more")
    assert "--fresh" in found.hint and "whorl resume" in found.hint
    assert list(preflight._gone(SimpleNamespace(plan=plan, ground=Ground()), plan.components[0])) == []  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.spark
def test_under_a_running_job_and_at_the_next_start(
    broker: Broker, tmp_path: Path, topic: Callable[..., str], whorl_run: Callable[..., Running]
) -> None:
    source, sink = topic(2), topic(1)
    file = walk_pipeline(tmp_path, source, sink)
    file.write_text(file.read_text().replace("tasks: 2", "tasks: 2, stop_timeout: 2s"))
    start_walks(broker.address, source, {"endless": 10**9})
    running = whorl_run(file, "--until-quiet")
    eventually(lambda: len(rows_of(broker.address, sink)) > 5, 60, f"the first steps: {running.output}")
    Cluster(KafkaClients(broker.address)).delete([f"{source}.walk.on_walk"])
    assert running.wait(60) == 3, running.output
    again = whorl_run(file)
    assert again.wait(30) == 3, again.output
    for output in (running.output, again.output):
        assert SENTENCE.format(source) in output and "--fresh" in output and "Traceback" not in output, output
