"""How a query is doing, from what Spark reports after each batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from whorl.histogram import Buckets, percentiles, together
from whorl.query.latency import RECENT, buckets_of, ended_at
from whorl.tasks.layout import Place


@dataclass(frozen=True)
class QueryFigures:
    """Of the last batch, but for the totals."""

    batch: int = -1
    batches: int = 0
    read: int = 0
    """Rows in all since the start."""
    written: int = 0
    """Those that Spark's own sinks wrote (`Compiled.by_spark`)."""
    rate: float = 0.0
    """Rows a second that came in."""
    batch_seconds: float = 0.0
    busy_seconds: float = 0.0
    """Of all batches since the start."""
    lag: int = 0
    """Records that were there but not in it."""
    state_rows: int = 0
    state_bytes: int = 0
    """In memory, as Spark tells it."""
    late: int = 0
    """Rows that came behind the watermark and were left out, in all."""
    watermark: str = ""
    positions: Mapping[Place, int] = field(default_factory=dict)
    """Where the batch ended."""
    starts: Mapping[Place, int] = field(default_factory=dict)
    """Where it began."""
    idle: int = 0
    """How many batches in a row had nothing to read, up to this one."""
    recent: tuple[tuple[float, Buckets], ...] = ()
    """Of the last seconds: when each batch ended, and how old its records were then."""

    @property
    def watermark_time(self) -> float | None:
        """In seconds since 1970; Spark begins there, which means none."""
        time = datetime.fromisoformat(self.watermark).timestamp() if self.watermark else 0.0
        return time or None

    @property
    def latency_ms(self) -> dict[str, float]:
        """p50, p95 and p99, from a record's timestamp to the end of its batch."""
        return percentiles(together(buckets for _, buckets in self.recent))


def reports_after(recent: Any, batch: int) -> list[dict[str, Any]]:
    """Spark's reports of batches behind this one, oldest first. `recent` stays in the JVM: only what is new is fetched."""
    found: list[dict[str, Any]] = []
    for index in reversed(range(len(recent))):
        if recent[index].batchId() <= batch:
            break
        found.insert(0, orjson.loads(recent[index].json()))
    return found


def figures_after(before: QueryFigures, reports: Sequence[Mapping[str, Any]]) -> QueryFigures:
    """`reports`: Spark's progress of batches that were not seen yet, oldest first."""
    if not reports:
        return before
    last = reports[-1]
    sources, operators = last["sources"], last["stateOperators"]
    ends = [_places(source.get("endOffset")) for source in sources]
    latest = [_places(source.get("latestOffset")) for source in sources]
    return QueryFigures(
        batch=int(last["batchId"]),
        batches=before.batches + len({report["batchId"] for report in reports}),
        read=before.read + sum(int(report["numInputRows"]) for report in reports),
        written=before.written + sum(max(int(report["sink"].get("numOutputRows", 0)), 0) for report in reports),
        rate=_number(last.get("inputRowsPerSecond")),
        batch_seconds=_took(last),
        busy_seconds=before.busy_seconds + sum(_took(report) for report in reports),
        lag=sum(_behind(end, newest) for end, newest in zip(ends, latest, strict=True)),
        state_rows=sum(int(operator["numRowsTotal"]) for operator in operators),
        state_bytes=sum(int(operator.get("memoryUsedBytes", 0)) for operator in operators),
        late=before.late
        + sum(int(o["numRowsDroppedByWatermark"]) for report in reports for o in report["stateOperators"]),
        watermark=str((last.get("eventTime") or {}).get("watermark", "")),
        positions={place: offset for end in ends for place, offset in end.items()},
        starts={place: offset for source in sources for place, offset in _places(source.get("startOffset")).items()},
        idle=_idle(before.idle, reports),
        recent=_recent(before.recent, reports),
    )


def _took(report: Mapping[str, Any]) -> float:
    return float(report["durationMs"].get("triggerExecution", 0)) / 1000


def load_of(report: Mapping[str, Any]) -> tuple[int, float]:
    """Rows of the source that had most, and the seconds that the batch took."""
    rows = max((int(source.get("numInputRows", 0)) for source in report["sources"]), default=0)
    return rows, _took(report)


def _recent(
    before: tuple[tuple[float, Buckets], ...], reports: Sequence[Mapping[str, Any]]
) -> tuple[tuple[float, Buckets], ...]:
    every = (*before, *((ended_at(report), found) for report in reports if (found := buckets_of(report))))
    return tuple(one for one in every if one[0] > every[-1][0] - RECENT)


def _idle(before: int, reports: Sequence[Mapping[str, Any]]) -> int:
    idle = before
    for report in reports:
        moved = any(source.get("startOffset") != source.get("endOffset") for source in report["sources"])
        idle = 0 if moved else idle + 1
    return idle


def _places(offsets: Any) -> dict[Place, int]:
    """Of a source that is a topic; Spark gives JSON, or what is no position at all."""
    if isinstance(offsets, str):
        try:
            offsets = orjson.loads(offsets)
        except orjson.JSONDecodeError:
            return {}
    if not isinstance(offsets, dict) or not all(isinstance(of, dict) for of in offsets.values()):
        return {}
    return {(topic, int(partition)): int(offset) for topic, of in offsets.items() for partition, offset in of.items()}


def _behind(end: Mapping[Place, int], latest: Mapping[Place, int]) -> int:
    return sum(max(offset - end.get(place, offset), 0) for place, offset in latest.items())


def _number(value: Any) -> float:
    number = float(value or 0)
    return number if number == number and number != float("inf") else 0.0
