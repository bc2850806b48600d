from datetime import datetime, timedelta

from whorl import Context, KeyedOperator, ListState, Row


class Velocity(KeyedOperator):
    """An alert when a card pays more than `most` times within `seconds`, by the times that the payments themselves have."""

    times = ListState(datetime, ttl="1h")

    def __init__(self, most: int, seconds: float) -> None:
        self.most, self.within = most, timedelta(seconds=seconds)

    def process(self, key: str, record: Row, context: Context) -> None:
        near = [time for time in self.times if abs(record["at"] - time) < self.within]
        self.times.set([*near, record["at"]])
        if len(near) + 1 > self.most:
            reason = f"{len(near) + 1} payments within {self.within.seconds} s"
            context.emit({**record, "rule": "velocity", "reason": reason})
