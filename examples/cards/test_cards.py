from datetime import UTC, datetime, timedelta

import pytest
from cards import Watch

from whorl import Row
from whorl.testing import OperatorHarness

MORNING, MIDNIGHT = datetime(2026, 11, 15, 8, tzinfo=UTC), datetime(2026, 11, 16, tzinfo=UTC)
TODAY = MORNING.date()
ALERT = {"card": "c1", "spent": 120.0, "shop": "bakery", "before": "bakery"}


@pytest.fixture
def harness() -> OperatorHarness:
    return OperatorHarness(lambda: Watch(limit=100), outputs=["alerts", "bills"])


def paid(amount: float, at: datetime = MORNING) -> Row:
    return {"shop": "bakery", "amount": amount, "at": at}


def test_beyond_the_limit(harness: OperatorHarness) -> None:
    assert harness.send("c1", paid(60.0)) == []
    assert harness.send("c2", paid(60.0)) == []
    assert harness.send("c1", paid(60.0)) == [ALERT]


def test_a_bill_when_the_day_is_over(harness: OperatorHarness) -> None:
    harness.send("c1", paid(60.0))
    harness.send("c1", paid(7.0, at=MIDNIGHT))  # comes before the watermark says that the day is over
    assert harness.timers() == [("c1", MIDNIGHT), ("c1", MIDNIGHT + timedelta(days=1))]
    assert harness.watermark(MIDNIGHT) == [{"card": "c1", "day": TODAY, "spent": 60.0}]
    assert harness.state("c1", "spent") == {MIDNIGHT.date(): 7.0}


def test_the_shop_is_forgotten(harness: OperatorHarness) -> None:
    harness.send("c1", paid(60.0))
    harness.pass_time("30d")
    assert harness.state("c1", "shop") is None


def test_a_payment_that_fails_leaves_nothing(harness: OperatorHarness) -> None:
    with pytest.raises(ValueError, match="more than nothing"):
        harness.send("c1", paid(-1.0))
    assert harness.states("c1") == {"spent": {}, "shop": None}


def test_a_crash_changes_nothing(harness: OperatorHarness) -> None:
    harness.send("c1", paid(60.0))
    harness.commit()
    harness.send("c1", paid(60.0))  # gone with the process, and read again
    harness.crash()
    assert harness.state("c1", "spent") == {TODAY: 120.0}
    assert harness.rows == [ALERT]
