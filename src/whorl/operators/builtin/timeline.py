"""Which time an operator goes by: that of a column, or the clock. To the millisecond, as watermarks and timers are."""

from __future__ import annotations

from datetime import UTC, datetime

from whorl.operators.keyed import Clock, Context, milliseconds
from whorl.operators.record import Row


class Timeline:
    def __init__(self, column: str | None) -> None:
        """None: processing time."""
        self._column = column
        self.clock: Clock = "processing" if column is None else "event"

    def of(self, record: Row, context: Context) -> int:
        """The time of a record, in ms."""
        return milliseconds(context.now if self._column is None else moment_in(record, self._column))

    def complete(self, newest: int, context: Context) -> int:
        """Up to where nothing more is awaited: the watermark; where there is none, the newest time of the key."""
        watermark = context.watermark if self.clock == "event" else None
        return newest if watermark is None else milliseconds(watermark)


def moment_in(record: Row, column: str) -> datetime:
    moment = record.get(column)
    if not isinstance(moment, datetime):
        raise ValueError(f"column '{column}' holds {moment!r}, which is not a timestamp")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
