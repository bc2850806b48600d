from datetime import UTC, date, datetime, timedelta

from whorl import Context, KeyedOperator, MapState, Row, ValueState

DAY = timedelta(days=1)


class Watch(KeyedOperator):
    """An alert for every payment beyond a card's limit of the day; a bill when the day is over."""

    spent = MapState(date, float)
    shop = ValueState(str, ttl="30d")

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def process(self, key: str, record: Row, context: Context) -> None:
        if record["amount"] < 0:
            raise ValueError("a payment is more than nothing")
        day, before = record["at"].date(), self.shop.get("nowhere")
        self.spent[day] = self.spent.get(day, 0.0) + record["amount"]
        self.shop.set(record["shop"])
        if self.spent[day] > self.limit:
            context.emit({"card": key, "spent": self.spent[day], "shop": record["shop"], "before": before}, to="alerts")
        context.timers.at(datetime.combine(day, datetime.min.time(), UTC) + DAY)

    def on_timer(self, key: str, time: datetime, context: Context) -> None:
        day = (time - DAY).date()
        context.emit({"card": key, "day": day, "spent": self.spent[day]}, to="bills")
        del self.spent[day]
