# mypy: disable-error-code="import-not-found"
"""usage: quix_app.py KIND BROKER GROUP SOURCE SINK STATE_DIR

One kind of work, exactly once, until stopped. KIND: enrich (filter, map and a Python function on json), count (count and sum
by key, with a changelog). Runs in an environment of its own, with `pipelines` on its path; several processes share one group.
"""

from __future__ import annotations

import sys
from typing import Any

from enrich import enrich
from quixstreams import Application, State
from quixstreams.models import TopicConfig

FORMATS = {"enrich": "json", "count": "str"}


def main(kind: str, broker: str, group: str, source: str, sink: str, state: str) -> None:
    app = Application(
        broker_address=broker,
        consumer_group=group,
        auto_offset_reset="earliest",
        processing_guarantee="exactly-once",
        commit_interval=0.1,
        state_dir=state,
        consumer_extra_config={"queued.min.messages": 200_000},
        producer_extra_config={"compression.type": "lz4", "linger.ms": 5, "batch.num.messages": 10_000},
        loglevel="WARNING",
    )
    config = TopicConfig(num_partitions=4, replication_factor=1)
    form = FORMATS[kind]
    rows = app.dataframe(app.topic(source, key_deserializer="bytes", value_deserializer=form, config=config))
    rows = {"enrich": enriched, "count": counted}[kind](rows)
    rows.to_topic(app.topic(sink, key_serializer="bytes", value_serializer=form, config=config))
    app.run()


def enriched(rows: Any) -> Any:
    return rows.filter(lambda row: row["amount"] > 250).apply(with_total).apply(enrich)


def counted(rows: Any) -> Any:
    return rows.apply(total, stateful=True)


def with_total(row: dict[str, Any]) -> dict[str, Any]:
    row["total"] = row["amount"] * 1.19
    return row


def total(amount: str, state: State) -> str:
    count, sum_ = state.get("total", (0, 0))
    count, sum_ = count + 1, sum_ + int(amount)
    state.set("total", (count, sum_))
    return f"{count},{sum_}"


if __name__ == "__main__":
    main(*sys.argv[1:])
