"""Backpressure of a query under a backlog that is too much for its trigger: it starts anew with a bound, and loses and doubles nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from running import CLEAN, Feed, Running, count_committed, eventually, judge

from whorl.broker import Broker

RECORDS = 20_000
BATCH = 3_000


@pytest.mark.long
def test_a_query_that_cannot_follow_starts_anew_with_smaller_batches(
    broker: Broker, whorl_run: Callable[..., Running], tmp_path: Path, topic: Callable[..., str]
) -> None:
    source, sink = topic(1), topic(1)
    (tmp_path / "heavy.py").write_text(
        "import time\n\n\ndef slowly(n: int) -> int:\n    time.sleep(0.001)\n    return n\n"
    )
    file = tmp_path / "paced.yaml"
    file.write_text(
        f"name: {source}\n"
        f"sources: {{numbers: {{type: kafka, topic: {source}, format: json, schema: {{key: string, n: long}}}}}}\n"
        "operators:\n"
        "  - id: copy\n"
        "    type: sql\n"
        "    query: SELECT key, slowly(n) AS n FROM numbers\n"
        "    udfs: {slowly: {function: heavy.slowly, returns: long}}\n"
        f"sinks: {{out: {{type: kafka, topic: {sink}, from: copy}}}}\n"
        f"settings: {{trigger: 1s, backpressure: true, max_per_batch: {BATCH}}}\n"
    )
    feed = Feed(broker.address, source)
    feed.write(RECORDS)
    feed.stop()
    running = whorl_run(file)
    told = r"backpressure: starts anew, with at most ([\d,]+) records of each source in a batch"
    found = eventually(lambda: re.search(told, running.output), within=180, what=running.output)
    assert int(found[1].replace(",", "")) < BATCH / 2, "3,000 records take three seconds, and one is there"
    eventually(lambda: count_committed(broker.address, sink) == RECORDS, within=180, what=running.output)
    assert running.stop() == 0, running.output
    assert judge(broker.address, sink, feed.counts) == CLEAN
