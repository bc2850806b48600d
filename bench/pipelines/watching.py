"""The operator of the recovery benchmark. Each row tells what was kept when its record came, so that a model can follow."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from whorl import Context, KeyedOperator, ValueState

RECENT_MS, FRESH_MS = 1500, 2000
RINGS_MS, RINGS_AFTER_MS = 2500, 2000
"""A timer by event time rings so long after the record's time, one by processing time so long after its coming."""


def sets_values(number: int) -> bool:
    return number % 3 == 0


def sets_event_timer(number: int) -> bool:
    return number % 5 == 0


def sets_timer(number: int) -> bool:
    return number % 5 == 1


class Watching(KeyedOperator):
    seen = ValueState(int)
    rung = ValueState(int)
    recent = ValueState(int, ttl=RECENT_MS / 1000, ttl_time="event")
    fresh = ValueState(int, ttl=FRESH_MS / 1000)

    def process(self, key: Any, record: dict[str, Any], context: Context) -> None:
        number = record["n"]
        kept = {"seen": self.seen.get(0), "recent": self.recent.get(), "fresh": self.fresh.get()}
        context.emit({"k": record["k"], "n": number, "now": _ms(context.now), **kept}, to="rows")
        self.seen.update(lambda seen: (seen or 0) + 1)
        if sets_values(number):
            self.recent.set(number)
            self.fresh.set(number)
        if sets_event_timer(number):
            context.timers.at(record["at"] + timedelta(milliseconds=RINGS_MS))
        if sets_timer(number):
            context.timers.after(RINGS_AFTER_MS / 1000)

    def on_timer(self, key: Any, time: datetime, context: Context) -> None:
        rung = self.rung.update(lambda rung: (rung or 0) + 1)
        context.emit({"k": int(key), "rung": rung, "time": _ms(time), "seen": self.seen.get(0)}, to="rings")


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
