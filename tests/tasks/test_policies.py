"""What becomes of records that fail: the policy of the operator that failed, and the order of the others."""

from __future__ import annotations

import pytest

from whorl.errors import OperatorFailed
from whorl.testing import Given

PIPELINE = """
name: p
sources: {{in: {{type: kafka, topic: in, schema: {{n: long, k: string}}, key: k{source}}}}}
operators:
  - {{id: work, type: python, function: steps.work, on_error: {policy}{per}}}
sinks: {{out: {{type: kafka, topic: out}}}}
settings: {{commit_interval: 50ms, bulk_records: 100}}
"""
FAILS_ON_TWO = """
def work(row):
    if row["n"] == 2:
        raise ValueError("no twos")
    return row
"""
FAILS_TWICE = """
tries = []
def work(row):
    if row["n"] == 2:
        tries.append(1)
        if len(tries) < {times}:
            {error}
    return row
"""


@pytest.fixture
def pipeline(harness_of):
    def make(policy="dead_letter", steps=FAILS_ON_TWO, per="", source="", **options):
        harness = harness_of(PIPELINE.format(policy=policy, per=per, source=source), steps, **options)
        harness.send("in", [{"n": n, "k": "a"} for n in (1, 2, 3, 4)])
        return harness

    return make


def numbers(harness):
    return [row["n"] for row in harness.sink("out")]


def test_skip(pipeline):
    harness = pipeline("skip")
    harness.run()
    assert (numbers(harness), harness.dead()) == ([1, 3, 4], [])


def test_dead_letter(pipeline):
    harness = pipeline("dead_letter")
    harness.run()
    (letter,) = harness.dead()
    assert numbers(harness) == [1, 3, 4]
    assert (letter.operator, letter.error, letter.topic, letter.offset) == ("work", "ValueError: no twos", "in", 1)


def test_fail(pipeline):
    harness = pipeline("fail")
    for _ in range(2):
        with pytest.raises(OperatorFailed, match="no twos"):
            harness.run()
    assert numbers(harness) == [1], "what went before is committed, once"
    assert harness.broker.offsets("p.work") == {("in", 0): 1}
    assert harness.broker.open_transactions() == []


@pytest.mark.parametrize(("then", "dead"), [("skip", 0), ("dead_letter", 1)])
def test_retry_ends_with_another_policy(pipeline, then, dead):
    harness = pipeline(f"{{action: retry, attempts: 3, backoff: 10s, then: {then}}}")
    before = harness.clock()
    harness.run()
    assert numbers(harness) == [1, 3, 4]
    assert len(harness.dead()) == dead
    assert harness.clock() - before >= 30, "10 s, then 20 s"


def test_retry_then_fail(pipeline):
    harness = pipeline("{action: retry, attempts: 2, backoff: 1ms, then: fail}")
    with pytest.raises(OperatorFailed):
        harness.run()
    assert numbers(harness) == [1]


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        ("{action: retry, attempts: 5, backoff: 2s}", "raise ValueError"),
        ("fail", "import whorl; raise whorl.Retry(after=2)"),
    ],
)
def test_a_record_that_works_in_the_end_keeps_its_place(pipeline, policy, error):
    harness = pipeline(policy, FAILS_TWICE.format(times=3, error=error))
    harness.run()
    assert numbers(harness) == [1, 2, 3, 4]
    assert harness.dead() == []


def test_only_the_partition_of_the_record_waits(pipeline):
    """Others go on and are committed meanwhile; its own go on in order."""
    steps = FAILS_TWICE.format(times=3, error="import whorl; raise whorl.Retry(after=5)")
    harness = pipeline("fail", steps, partitions=2)
    harness.send("in", [{"n": n, "k": "d"} for n in (11, 12)])
    partitions = {entry.key: entry.partition for entry in harness.broker.records("in")}
    assert len(set(partitions.values())) == 2, "the keys must lie in different partitions"
    seen = []
    ground = harness.ground()
    harness.broker.idle = lambda timeout: None
    original = harness.clock.wait

    def wait(seconds):
        original(seconds)
        seen.append(sorted(numbers(harness)))

    harness.clock.wait = wait
    harness.run()
    assert [1, 11, 12] in seen
    assert [n for n in numbers(harness) if n < 10] == [1, 2, 3, 4]
    assert harness.broker.offsets("p.work") == ground.ends(harness.plan.components[0])


def test_a_crash_while_a_partition_waits_tries_the_record_again(pipeline):
    harness = pipeline("{action: retry, attempts: 3, backoff: 1s, then: dead_letter}")
    harness.run()
    points = len(harness.faults.points)
    for k in range(40, points, 11):
        harness = pipeline("{action: retry, attempts: 3, backoff: 1s, then: dead_letter}")
        harness.crash_at(k)
        try:
            harness.run()
        except BaseException:
            harness.run()
        assert (numbers(harness), len(harness.dead())) == ([1, 3, 4], 1), k


def test_a_source_has_a_policy_of_its_own(pipeline):
    harness = pipeline(source=", on_error: skip")
    harness.send("in", [Given("no json"), {"n": 5, "k": "a"}])
    harness.run()
    assert numbers(harness) == [1, 3, 4, 5]
    assert [letter.operator for letter in harness.dead()] == ["work"]


BULK = """
calls = []
def work(rows):
    calls.append(len(rows))
    if any(row["n"] == 2 for row in rows):
        raise ValueError("no twos")
    return [{**row, "k": str(calls)} for row in rows]
"""


def test_one_bad_record_of_a_bulk_fails_alone(pipeline):
    harness = pipeline("dead_letter", BULK, per=", per: bulk")
    harness.run()
    assert numbers(harness) == [1, 3, 4]
    assert [letter.offset for letter in harness.dead()] == [1]
    assert harness.sink("out")[-1]["k"] == "[4, 1, 1, 1, 1]", "all at once, then each alone"


def test_a_good_bulk_is_one_call(pipeline):
    harness = pipeline("dead_letter", BULK.replace("== 2", "== 99"), per=", per: bulk")
    harness.run()
    assert [row["k"] for row in harness.sink("out")] == ["[4]"] * 4


def test_a_bulk_that_asks_for_another_try_waits_in_order(pipeline):
    steps = """
tries = []
import whorl
def work(rows):
    if any(row["n"] == 2 for row in rows):
        tries.append(1)
        if len(tries) < 4:
            raise whorl.Retry(after=1)
    return rows
"""
    harness = pipeline("fail", steps, per=", per: bulk")
    harness.run()
    assert numbers(harness) == [1, 2, 3, 4]


def test_a_record_leaves_whole_or_not_at_all(harness_of):
    """The second of its three results cannot be written: none of them is."""
    text = """
sources: {in: {type: kafka, topic: in, schema: {n: long}}}
operators: [{id: fan, type: python, function: steps.fan}]
sinks: {out: {type: kafka, topic: out}}
"""
    steps = "def fan(row):\n    return [{'n': 1}, {'n': object() if row['n'] == 2 else 2}, {'n': 3}]\n"
    harness = harness_of(text, steps)
    harness.send("in", [{"n": 1}, {"n": 2}])
    harness.run()
    assert [row["n"] for row in harness.sink("out")] == [1, 2, 3]
    assert [letter.operator for letter in harness.dead()] == ["out"]
