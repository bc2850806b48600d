"""Starting the query: where its rows go, and how often it looks for new ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whorl.config.settings import Settings
from whorl.config.spec import FileSink
from whorl.plan.plan import Component, Delivery
from whorl.query.action import IN_BULK, named_topics
from whorl.query.batches import Batches
from whorl.query.compile import Compiled
from whorl.query.located import located

_REALTIME_BATCH = "30 seconds"
"""In real-time mode records leave at once; a batch is only how often Spark notes its position."""
_LOOK_EVERY = 1.0
"""Seconds, where a query wakes up by the clock."""


def writer_of(compiled: Compiled, component: Component, kafka: Mapping[str, str], batches: Batches) -> Any:
    """A DataStreamWriter that lacks only name, trigger and checkpoint."""
    if component.delivery is Delivery.FILES:
        return _files(compiled, component)
    if component.delivery is Delivery.STORE:
        assert compiled.rows is not None
        return compiled.rows.writeStream.foreachBatch(batches.write).outputMode(component.mode)
    assert compiled.written is not None
    if compiled.by_spark(component.delivery):
        bulk = {} if component.delivery is Delivery.REALTIME else IN_BULK
        rows = named_topics(compiled.written, compiled.topics)
        return rows.writeStream.format("kafka").options(**bulk, **kafka).outputMode(component.mode)
    rows = batches.prepared(compiled.written)
    return rows.writeStream.foreachBatch(batches.write).outputMode(component.mode)


def trigger_of(settings: Settings, until_caught_up: bool, endless: bool) -> dict[str, Any]:
    """`endless`: Spark makes one batch after the other, whether there is anything to do or not."""
    if until_caught_up:
        return {"availableNow": True}
    if settings.trigger == "realtime":
        return {"realTime": _REALTIME_BATCH}
    fastest = _LOOK_EVERY if endless or settings.max_rate_per_partition is not None else 0.0
    seconds = fastest if settings.trigger == "fast" else float(settings.trigger)
    return {"processingTime": f"{round(seconds * 1000)} milliseconds"}


def _files(compiled: Compiled, component: Component) -> Any:
    sink = component.outputs[0].sink
    assert isinstance(sink, FileSink) and compiled.rows is not None
    writer = compiled.rows.writeStream.format(sink.format).options(**sink.file_options).outputMode("append")
    writer = writer.option("path", located(sink.path))
    return writer.partitionBy(*sink.partition_by) if sink.partition_by else writer
