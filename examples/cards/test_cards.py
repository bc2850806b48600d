from datetime import UTC, datetime

import pytest
from cards import Watch

from whorl import Row
from whorl.testing import OperatorHarness

MORNING, MIDNIGHT = datetime(2026, 11, 15, 8, tzinfo=UTC), datetime(2026, 11, 16, tzinfo=UTC)


@pytest.fixture
def harness() -> OperatorHarness:
    return OperatorHarness(lambda: Watch(limit=100), outputs=["alerts", "bills"])


def paid(amount: float) -> Row:
    return {"shop": "bakery", "amount": amount, "at": MORNING}


def test_beyond_the_limit(harness: OperatorHarness) -> None:
    assert harness.send("c1", paid(90.0)) == []
    assert harness.send("c2", paid(20.0)) == []
    assert harness.send("c1", paid(20.0)) == [{"card": "c1", "spent": 110.0, "shop": "bakery"}]


def test_a_bill_when_the_day_is_over(harness: OperatorHarness) -> None:
    harness.send("c1", paid(90.0))
    assert harness.timers() == [("c1", MIDNIGHT)]
    assert harness.watermark(MIDNIGHT) == [{"card": "c1", "until": MIDNIGHT, "spent": 90.0}]
    assert harness.state("c1", "spent") is None


def test_shops_are_forgotten(harness: OperatorHarness) -> None:
    harness.send("c1", paid(90.0))
    harness.pass_time("30d")
    assert harness.state("c1", "shops") == {}


def test_a_payment_that_fails_leaves_nothing(harness: OperatorHarness) -> None:
    with pytest.raises(ValueError, match="more than nothing"):
        harness.send("c1", paid(-1.0))
    assert harness.states("c1") == {"spent": None, "shops": {}}


def test_a_crash_changes_nothing(harness: OperatorHarness) -> None:
    harness.send("c1", paid(60.0))
    harness.commit()
    harness.send("c1", paid(60.0))  # gone with the process, and read again
    harness.crash()
    assert harness.state("c1", "spent") == 120.0
    assert harness.rows == [{"card": "c1", "spent": 120.0, "shop": "bakery"}]
