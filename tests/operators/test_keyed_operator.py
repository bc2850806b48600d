"""Operators with state, on the harness that users test theirs with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from whorl import Context, KeyedOperator, ListState, MapState, PipelineError, Record, Row, UsageError, ValueState
from whorl.testing import OperatorHarness

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


class Spending(KeyedOperator):
    """The running total; a bill ten minutes after the first payment."""

    total = ValueState(float)
    notes = ListState(str)
    by_shop = MapState(str, float)

    def process(self, key: str, record: Row, context: Context) -> None:
        before = self.total.get()
        total = self.total.update(lambda total: (total or 0.0) + record["amount"])
        self.notes.append(record["note"])
        self.by_shop[record["shop"]] = self.by_shop.get(record["shop"], 0.0) + record["amount"]
        context.emit({"who": key, "total": total}, to="totals")
        if before is None:
            context.timers.after("10m")
        if record["amount"] < 0:
            raise ValueError("no negative payments")

    def on_timer(self, key: str, time: datetime, context: Context) -> None:
        context.emit(Record({"who": key, "bill": self.total.get(), "notes": self.notes.get()}, key="bills"), to="bills")
        self.total.clear()
        self.notes.clear()


def spending(**options: Any) -> OperatorHarness:
    return OperatorHarness(Spending, outputs=("totals", "bills"), **options)


def paid(amount: float, shop: str = "s", note: str = "n") -> Row:
    return {"amount": amount, "shop": shop, "note": note}


def test_state_by_key() -> None:
    harness = spending()
    assert harness.send("a", paid(1.5)) == [{"who": "a", "total": 1.5}]
    assert harness.send("b", paid(2.0)) == [{"who": "b", "total": 2.0}]
    assert harness.send("a", paid(1.0, "t", "m")) == [{"who": "a", "total": 2.5}]
    assert harness.state("a", "notes") == ["n", "m"]
    assert harness.state("a", "by_shop") == {"s": 1.5, "t": 1.0}
    assert harness.state("c", "total") is None


def test_a_record_that_fails_leaves_no_trace() -> None:
    harness = spending()
    with pytest.raises(ValueError, match="no negative payments"):
        harness.send("a", paid(-1.0))
    assert harness.rows == [] and harness.timers() == []
    assert (harness.state("a", "total"), harness.state("a", "notes"), harness.state("a", "by_shop")) == (None, [], {})


def test_a_timer_fires_once_and_its_rows_have_an_output_and_a_key_of_their_own() -> None:
    harness = spending()
    harness.send("a", paid(1.5))
    ((key, due),) = harness.timers()
    assert (key, due - harness_now(harness)) == ("a", timedelta(minutes=10))
    assert harness.pass_time("9m") == []
    assert harness.pass_time("1m") == [{"who": "a", "bill": 1.5, "notes": ["n"]}]
    to, _, metadata = harness.emitted[-1]
    assert (to, metadata.key, metadata.timestamp) == ("bills", b"bills", round(due.timestamp() * 1000))
    assert harness.pass_time("1h") == [] and harness.timers() == []


def harness_now(harness: OperatorHarness) -> datetime:
    return datetime.fromtimestamp(harness.clock(), UTC)


class Windows(KeyedOperator):
    """Sums by minute of event time."""

    sums = MapState(int, int)

    def process(self, key: str, record: Row, context: Context) -> None:
        minute = record["at"].replace(second=0) + timedelta(minutes=1)
        index = round(minute.timestamp())
        self.sums[index] = self.sums.get(index, 0) + record["n"]
        context.timers.at(minute)
        if record.get("cancel"):
            context.timers.cancel(minute)

    def on_timer(self, key: str, time: datetime, context: Context) -> None:
        assert context.watermark is not None and context.watermark >= time
        context.emit({"key": key, "until": time, "sum": self.sums[round(time.timestamp())]})
        del self.sums[round(time.timestamp())]


def test_event_time() -> None:
    harness = OperatorHarness(Windows)
    at = [NOON + timedelta(seconds=seconds) for seconds in (5, 30, 59, 61)]
    for moment in at[:3]:
        assert harness.send("k", {"n": 1, "at": moment}, at=moment) == []
    closed = [{"key": "k", "until": NOON + timedelta(minutes=1), "sum": 3}]
    assert harness.send("other", {"n": 5, "at": at[3]}, at=at[3]) == closed
    assert harness.watermark(NOON + timedelta(minutes=5)) == [
        {"key": "other", "until": NOON + timedelta(minutes=2), "sum": 5}
    ]
    assert harness.state("other", "sums") == {}


def test_a_cancelled_timer_does_not_fire() -> None:
    harness = OperatorHarness(Windows)
    harness.send("k", {"n": 1, "at": NOON, "cancel": True}, at=NOON)
    assert harness.timers() == [] and harness.watermark(NOON + timedelta(hours=1)) == []


@pytest.mark.parametrize("committed", range(7))
@pytest.mark.parametrize("crashed", range(7))
def test_a_crash_at_any_record_changes_nothing(committed: int, crashed: int) -> None:
    """Rows, states and timers are as without it, wherever the commit and the crash fall."""

    def life(crashing: bool) -> OperatorHarness:
        harness = spending()
        actions: list[Any] = [
            lambda: harness.send("a", paid(1.0)),
            lambda: harness.pass_time("5m"),
            lambda: harness.send("b", paid(2.0, "t")),
            lambda: harness.pass_time("6m"),
            lambda: harness.send("a", paid(3.0)),
            lambda: harness.pass_time("5m"),
            lambda: harness.send("a", paid(4.0, "t")),
        ]
        for number, act in enumerate(actions):
            act()
            if number == committed:
                harness.commit()
            if crashing and number == crashed:
                harness.crash()
        return harness

    once, again = life(crashing=False), life(crashing=True)
    assert again.rows == once.rows
    assert again.timers() == once.timers()
    for key in ("a", "b"):
        for name in ("total", "notes", "by_shop"):
            assert again.state(key, name) == once.state(key, name)


class Bought(KeyedOperator):
    """With how many clicks, and where the user lives."""

    clicks = ValueState(int)

    def process(self, key: str, record: Row, context: Context) -> None:
        if context.input == "clicks":
            self.clicks.update(lambda before: (before or 0) + 1)
        else:
            context.emit({"clicks": self.clicks.get(0), "home": context.table("users")})


def test_tables_and_several_inputs() -> None:
    harness = OperatorHarness(Bought, tables=["users"])
    harness.put("users", "ann", {"city": "Ulm"})
    harness.send("ann", {}, input="clicks")
    assert harness.send("ann", {}, input="orders") == [{"clicks": 1, "home": {"city": "Ulm"}}]
    harness.commit()
    harness.put("users", "ann", None)
    harness.crash()
    assert harness.send("ann", {}) == [{"clicks": 1, "home": None}]
    assert harness.send("bob", {}) == [{"clicks": 0, "home": None}]


def test_what_is_in_an_attribute_is_lost_in_a_crash() -> None:
    class Forgetful(KeyedOperator):
        def open(self, context: Context) -> None:
            self.count = 0

        def process(self, key: str, record: Row, context: Context) -> None:
            self.count += 1
            context.emit({"count": self.count})

    harness = OperatorHarness(Forgetful)
    harness.send("k", {})
    harness.commit()
    harness.crash()
    assert harness.send("k", {}) == [{"count": 1}]


class Wrong(KeyedOperator):
    value = ValueState(int)

    def __init__(self, how: str) -> None:
        self.how = how

    def open(self, context: Context) -> None:
        if self.how == "state in open":
            self.value.get()
        if self.how == "timer in open":
            context.timers.after("1s")

    def process(self, key: str, record: Row, context: Context) -> None:
        if self.how == "output":
            context.emit({}, to="other")
        if self.how == "emit":
            context.emit("text")  # type: ignore[arg-type]
        self.value.set("text")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ("state in open", PipelineError, "the state 'value' of 'operator' was used where there is no current key"),
        ("timer in open", PipelineError, "a timer of 'operator' was used where there is no current key"),
        ("emit", TypeError, "emit takes a dict, a dataclass, a pydantic model or a Record, not str"),
        ("output", ValueError, "emit to 'other': the operator has one output"),
        ("type", PipelineError, "it is declared as 'int' and was given 'text'"),
    ],
)
def test_misuse_is_told(how: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        OperatorHarness(lambda: Wrong(how)).send("k", {})


class Returning(KeyedOperator):
    """As a function does it, and as this does not."""

    value = ValueState(int)

    def process(self, key: str, record: Row, context: Context) -> Any:
        self.value.set(1)
        context.timers.after("1m")
        return record if "rows" in record else None

    def on_timer(self, key: str, time: datetime, context: Context) -> Any:
        self.value.set(2)
        yield {"key": key}


@pytest.mark.parametrize("limits", [{}, {"max_keys": 2}])
def test_what_is_returned_instead_of_emitted_is_an_error(limits: Any) -> None:
    harness = OperatorHarness(Returning, **limits)
    with pytest.raises(TypeError, match=r"process returned a dict, .* context\.emit\(row\)"):
        harness.send("k", {"rows": 1})
    assert harness.state("k", "value") is None and harness.timers() == []
    harness.send("k", {})
    with pytest.raises(TypeError, match=r"on_timer returned a generator, .* context\.emit\(row\)"):
        harness.pass_time("1m")
    assert harness.state("k", "value") == 1


def test_a_record_without_a_key_and_a_state_that_is_not_there() -> None:
    harness = spending(key_of=lambda key: int(key))
    with pytest.raises(UsageError, match="has no state 'sum'"):
        harness.state("k", "sum")
    with pytest.raises(ValueError, match="the record has no key"):
        harness.send(None, paid(1.0))
    assert harness.send(7, paid(1.0)) == [{"who": 7, "total": 1.0}]


def test_an_operator_without_process() -> None:
    with pytest.raises(NotImplementedError, match="has no method 'process"):
        OperatorHarness(KeyedOperator).send("k", {})


@dataclass
class Payment:
    amount: float
    shop: str = "s"


class Receipt(BaseModel):
    paid: float


class Typed(KeyedOperator):
    record_type = Payment

    def process(self, key: str, record: Payment, context: Context) -> None:
        context.emit(Receipt(paid=record.amount) if record.shop == "s" else record)


def test_records_of_a_type() -> None:
    harness = OperatorHarness(Typed)
    assert harness.send("a", {"amount": 1}) == [{"paid": 1.0}]
    assert harness.send("a", {"amount": 2, "shop": "t"}) == [{"amount": 2.0, "shop": "t"}]
    with pytest.raises(ValueError, match="the record is no Payment: amount: Field required"):
        harness.send("a", {"shop": "t"})
