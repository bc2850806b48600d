from datetime import datetime, timedelta

from whorl import Context, KeyedOperator, MapState, Row, ValueState


class Watch(KeyedOperator):
    """An alert for every payment beyond a card's limit of the day; a bill when the day is over."""

    spent = ValueState(float)
    shops = MapState(str, int, ttl="30d")

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def process(self, key: str, record: Row, context: Context) -> None:
        if record["amount"] < 0:
            raise ValueError("a payment is more than nothing")
        spent = self.spent.update(lambda before: (before or 0.0) + record["amount"])
        self.shops[record["shop"]] = self.shops.get(record["shop"], 0) + 1
        if spent > self.limit:
            context.emit({"card": key, "spent": spent, "shop": record["shop"]}, to="alerts")
        day = record["at"].replace(hour=0, minute=0, second=0, microsecond=0)
        context.timers.at(day + timedelta(days=1))

    def on_timer(self, key: str, time: datetime, context: Context) -> None:
        context.emit({"card": key, "until": time, "spent": self.spent.get(0.0)}, to="bills")
        self.spent.clear()
