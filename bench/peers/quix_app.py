# mypy: disable-error-code="import-not-found"
"""usage: quix_app.py BROKER GROUP SOURCE SINK STATE_DIR

Filter, map and a Python function on json, exactly once, until stopped. Runs in an environment of its own, with
`pipelines` on its path; several processes share one group.
"""

from __future__ import annotations

import sys
from typing import Any

from enrich import enrich
from quixstreams import Application
from quixstreams.models import TopicConfig


def main(broker: str, group: str, source: str, sink: str, state: str) -> None:
    app = Application(
        broker_address=broker,
        consumer_group=group,
        auto_offset_reset="earliest",
        processing_guarantee="exactly-once",
        commit_interval=0.1,
        state_dir=state,
        auto_create_topics=False,
        consumer_extra_config={"queued.min.messages": 200_000},
        producer_extra_config={"compression.type": "lz4", "linger.ms": 5, "batch.num.messages": 10_000},
        loglevel="WARNING",
    )
    config = TopicConfig(num_partitions=4, replication_factor=1)
    rows = app.dataframe(app.topic(source, key_deserializer="bytes", value_deserializer="json", config=config))
    rows = rows.filter(lambda row: row["amount"] > 250)
    rows = rows.apply(with_total)
    rows = rows.apply(enrich)
    rows.to_topic(app.topic(sink, key_serializer="bytes", value_serializer="json", config=config))
    app.run()


def with_total(row: dict[str, Any]) -> dict[str, Any]:
    row["total"] = row["amount"] * 1.19
    return row


if __name__ == "__main__":
    main(*sys.argv[1:])
