"""Several streams into one operator with state: it is told which one a record came from, and a key meets itself whatever way it came."""

from __future__ import annotations

from pathlib import Path

import pytest

from whorl import Context, KeyedOperator, MapState, Row
from whorl.testing import MemoryBroker, PipelineHarness

PIPELINE = """
name: cogrouped
sources:
  clicks: {type: kafka, topic: clicks, key: user, schema: {user: string}}
  orders: {type: kafka, topic: orders, key: user, schema: {user: string}}
operators:
  - {id: large, type: filter, from: orders, where: "user <> 'x'"}
  - {id: both, type: python, class: test_cogroup.Both, key: user, from: [clicks, large]}
sinks:
  out: {type: kafka, topic: out, from: both}
"""


class Both(KeyedOperator):
    seen = MapState(str, int)

    def process(self, key: str, record: Row, context: Context) -> None:
        self.seen[context.input] = self.seen.get(context.input, 0) + 1
        context.emit({"user": key, "seen": dict(self.seen.items())})


@pytest.mark.parametrize("cogroup", [True, False])
def test_both_inputs_meet(tmp_path: Path, cogroup: bool) -> None:
    """With `cogroup` straight from topics of 6 and 4 partitions, in 2 logical ones; without it by way of topics between."""
    file = tmp_path / "cogrouped.yaml"
    file.write_text(PIPELINE + f"settings: {{cogroup: {str(cogroup).lower()}, state: {{backend: memory}}}}\n")
    broker = MemoryBroker()
    broker.create_topic("clicks", 6)
    broker.create_topic("orders", 4)
    harness = PipelineHarness(file, broker, partitions=3, tasks=2)
    users = [f"u{n}" for n in range(12)]
    harness.send("clicks", [{"user": user} for user in users * 2])
    harness.send("orders", [{"user": user} for user in [*users, "x"]])
    harness.run()
    assert len(harness.plan.components) == (1 if cogroup else 3)
    latest = {row["user"]: row["seen"] for row in harness.sink("out") if row}
    most = {row["user"]: sum(row["seen"].values()) for row in harness.sink("out") if row}
    assert set(latest) == set(users) and set(most.values()) == {3}
    assert all(seen == {"clicks": 2, "large": 1} for seen in latest.values())
