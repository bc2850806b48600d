"""Operators with state that tests run on both hosts."""

from datetime import timedelta

from whorl import BatchOperator, KeyedOperator, ListState, MapState, Record, ValueState


class Diary(KeyedOperator):
    """All kinds of state, and a timer ten seconds after each record."""

    seen = ValueState(int)
    xs = ListState(float)
    by = MapState(str, int)

    def process(self, key, record, context):
        seen = self.seen.update(lambda before: (before or 0) + 1)
        self.xs.append(record["x"])
        self.by[str(record["x"])] = seen
        context.timers.at(record["at"] + timedelta(seconds=10))
        context.emit({"who": key, "what": f"{seen} {self.xs.get()} {sorted(self.by.items())} {record['tags']}"})

    def on_timer(self, key, time, context):
        context.emit({"who": key, "what": f"{time:%M:%S} after {self.seen.get()}"})


class Forgetful(KeyedOperator):
    seen = ValueState(int, ttl="20s", ttl_time="event")

    def process(self, key, record, context):
        context.emit({"who": key, "what": str(self.seen.update(lambda before: (before or 0) + 1))})


class Reread(KeyedOperator):
    """Reading keeps alive, of a map its entries; writing alone does not."""

    first = ValueState(float, ttl="60s", ttl_time="event", refresh_on_read=True)
    by = MapState(str, float, ttl="60s", ttl_time="event", refresh_on_read=True)
    written = ValueState(float, ttl="60s", ttl_time="event")

    def process(self, key, record, context):
        kept = [self.first.get(), self.by.get("first"), self.written.get()]
        context.emit({"who": key, "what": f"{kept}"})
        if kept[0] is None:
            self.first.set(record["x"])
            self.by["first"] = record["x"]
        if kept[2] is None:
            self.written.set(record["x"])


class Touchy(KeyedOperator):
    """Fails when x is negative, after it has written and emitted; and in every other timer."""

    total = ValueState(float)

    def process(self, key, record, context):
        total = self.total.update(lambda before: (before or 0.0) + record["x"])
        context.emit({"who": key, "what": f"{total}"})
        context.timers.at(record["at"] + timedelta(seconds=5))
        if record["x"] < 0:
            raise ValueError(f"{record['x']} is negative")

    def on_timer(self, key, time, context):
        self.total.set(0.0)
        context.emit({"who": key, "what": f"{time:%M:%S}"})
        if time.second % 2:
            raise RuntimeError("odd")


class Several(KeyedOperator):
    """Several outputs, and a record with key, headers and time of its own."""

    def process(self, key, record, context):
        if record["x"] > 2:
            large = Record({"who": key, "what": "large"}, key=f"large {key}", headers=[("h", b"1")], timestamp=7)
            context.emit(large, to="large")
        context.emit({"who": key, "what": f"{record['x']}"}, to="all")


class Counted(KeyedOperator):
    """Refuses what is negative, after it has counted it."""

    seen = ValueState(int)

    def process(self, key, record, context):
        seen = self.seen.update(lambda before: (before or 0) + 1)
        context.emit({"who": key, "what": f"{seen} {record['x']}"})
        if record["x"] < 0:
            raise ValueError("negative")


class Misfit(KeyedOperator):
    seen = ValueState(int)

    def process(self, key, record, context):
        seen = self.seen.update(lambda before: (before or 0) + 1)
        context.emit({"who": key, "what": seen if record["x"] < 0 else str(seen)})


class Reminder(KeyedOperator):
    """Goes by the clock."""

    seen = ValueState(int, ttl="30s")

    def process(self, key, record, context):
        self.seen.update(lambda before: (before or 0) + 1)
        context.timers.after("10s")

    def on_timer(self, key, time, context):
        context.emit({"who": key, "what": f"{self.seen.get()}"})


class Returning(KeyedOperator):
    """Gives a row by `return`, which does not count."""

    seen = ValueState(int)

    def process(self, key, record, context):
        seen = self.seen.update(lambda before: (before or 0) + 1)
        context.emit({"who": key, "what": str(seen)})
        return record if record["x"] > 2.0 else None


class Soon(KeyedOperator):
    """A tenth of a second by the clock after what is positive."""

    def process(self, key, record, context):
        if record["x"] > 0:
            context.timers.after(timedelta(milliseconds=100))

    def on_timer(self, key, time, context):
        context.emit({"who": key, "what": "soon"})


class Meeting(KeyedOperator):
    """Which inputs a key's records came from, told half a minute after the first once more."""

    inputs = ListState(str)

    def process(self, key, record, context):
        self.inputs.append(context.input)
        context.emit({"who": key, "what": f"{context.input} {self.inputs.get()}"})
        if len(self.inputs.get()) == 1:
            context.timers.at(record["at"] + timedelta(seconds=30))

    def on_timer(self, key, time, context):
        context.emit({"who": key, "what": f"{time:%M:%S} after {len(self.inputs.get())}"})


class Many(BatchOperator):
    seen = ValueState(float)

    def process_batch(self, keys, batch, context):
        made = []
        for key, row in zip(keys, batch.to_pylist(), strict=True):
            (before,) = self.seen.get_many([key])
            self.seen.put_many([key], [(before or 0.0) + row["x"]])
            made.append({"who": key.decode(), "what": str((before or 0.0) + row["x"])})
        return made
