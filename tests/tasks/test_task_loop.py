"""The loop on odd records, odd ends and orders; the crash proofs are in test_crash_points."""

from __future__ import annotations

from itertools import pairwise

import pytest
from confluent_kafka import KafkaError

from whorl.config.spec import ListSource, RateSource
from whorl.errors import WorldError
from whorl.plan import naming
from whorl.tasks.changelog import read_positions
from whorl.tasks.generated import generator, length
from whorl.tasks.register import read_registration
from whorl.tasks.signals import Figures, Orders
from whorl.testing import Crash, Faults, Given
from whorl.testing.memory import Failure, MemoryClients

COPY = "name: p\nsources: {{in: {{type: kafka, topic: in, format: {format}}}}}\nsinks: {{out: {{type: kafka, topic: out}}}}\n"
COUNTED = """
name: p
sources: {in: {type: kafka, topic: in, schema: {n: long}}}
operators: [{id: work, type: python, function: steps.work}]
sinks: {out: {type: kafka, topic: out}}
"""
SAME = "def work(row):\n    return row\n"


@pytest.mark.parametrize("format", ["bytes", "json"])
def test_records_that_are_only_copied_may_hold_anything(harness_of, format):
    odd = [
        Given(b""),
        Given(None),
        Given(b"\xff\xfe"),
        Given(b"x" * 900_000),
        Given(b"v", key=b""),
        Given(b"v", key=b"\xff\0"),
    ]
    harness = harness_of(COPY.format(format=format))
    harness.send("in", odd)
    harness.run()
    assert [(entry.value, entry.key) for entry in harness.records("out")] == [
        (given.value, given.key if isinstance(given.key, bytes) else None) for given in odd
    ]
    assert harness.dead() == []


def test_records_that_are_read_must_be_readable(harness_of):
    harness = harness_of(COUNTED, SAME)
    harness.send("in", [Given(b""), Given(None), Given(b"\xff\xfe"), Given("[1]"), Given("{}"), {"n": 7}])
    harness.run()
    assert [row["n"] for row in harness.sink("out")] == [None, 7]
    assert [letter.value for letter in harness.dead()] == [b"", None, b"\xff\xfe", b"[1]"]


def test_what_is_too_large_for_the_sink_is_a_dead_letter(harness_of):
    harness = harness_of(COUNTED, "def work(row):\n    return {'n': row['n'], 'fat': 'x' * row['n']}\n")
    harness.send("in", [{"n": 5}, {"n": 2_000_000}, {"n": 6}])
    harness.run()
    assert [row["n"] for row in harness.sink("out")] == [5, 6]
    (letter,) = harness.dead()
    assert letter.operator == "out"
    assert "too large for topic 'out'" in letter.error


def test_headers_count_too(harness_of):
    """A record that the broker would refuse must never be sent: the task would try it for ever."""
    harness = harness_of(COUNTED, SAME)
    harness.broker.delete_topic("out")
    harness.broker.create_topic("out", config={"max.message.bytes": "2000"})
    harness.send("in", [Given({"n": 1}, headers={"fat": "x" * 3000}), {"n": 2}, Given({"n": 3}, key=b"k" * 3000)])
    harness.run()
    assert [row["n"] for row in harness.sink("out")] == [2]
    assert [letter.offset for letter in harness.dead()] == [0, 2]


def test_a_dead_letter_too_large_for_its_topic_is_cut(harness_of):
    harness = harness_of(COUNTED, SAME)
    harness.broker.delete_topic("p.dead")
    harness.broker.create_topic("p.dead", config={"max.message.bytes": "100000"})
    harness.send("in", [Given("x" * 500_000), Given("x", key=b"k" * 200_000), Given("x", headers={"h": "h" * 200_000})])
    harness.run()
    fat_value, fat_key, fat_headers = harness.dead()
    assert (len(fat_value.value), fat_value.offset) == (64 << 10, 0)
    assert (fat_key.value, len(fat_key.key)) == (b"x", 1024)
    assert (fat_headers.value, fat_headers.offset) == (b"x", 2)


def test_positions_lie_behind_markers(harness_of):
    """Where a topic ends with the marker of a transaction, so does the position: the lag is 0."""
    harness = harness_of(COUNTED, SAME)
    upstream = MemoryClients(harness.broker).transactional("upstream")
    upstream.init_transactions()
    for commit in (True, False):
        upstream.begin_transaction()
        upstream.produce("in", b'{"n": 1}')
        upstream.commit_transaction() if commit else upstream.abort_transaction()
    harness.run()
    assert len(harness.sink("out")) == 1
    assert harness.broker.offsets("p.work") == {("in", 0): 4}


def test_expired_group_offsets_are_mirrored_again(harness_of):
    harness = harness_of(COUNTED, SAME)
    harness.send("in", [{"n": 1}])
    harness.run()
    harness.broker._transactions._groups.clear()
    harness.run()
    assert harness.broker.offsets("p.work") == {("in", 0): 1}
    assert len(harness.sink("out")) == 1


def test_a_stop_ends_without_an_open_transaction(harness_of):
    """Whenever it comes: what was read is committed or was never done."""
    for stop_after in range(1, 7):
        harness = harness_of(COUNTED + "settings: {bulk_records: 1, commit_interval: 30s}", SAME)
        harness.send("in", [{"n": n} for n in range(5)])
        process, orders, figures = harness.process(), Orders(), Figures()
        process.start()
        calls = 0

        class Polls(Faults):
            def reach(self, point):
                nonlocal calls
                calls += point == "consumer.consume"
                orders.stopping = calls >= stop_after  # noqa: B023
                return super().reach(point)

        late = process.attempt(Polls())
        with harness.user_code():
            late.task(harness.plan.components[0], 0, orders, figures).run()
        assert harness.broker.open_transactions() == []
        done = [row["n"] for row in harness.sink("out")]
        assert done == list(range(len(done)))
        assert harness.broker.offsets("p.work") == {("in", 0): len(done)}
        assert figures.read == len(done) == min(stop_after, 5)


def test_a_task_that_is_behind_does_not_spend_its_time_on_commits(harness_of):
    """Each poll takes a tenth of a second and each commit one: as often as asked for, nine tenths of the time would be commits."""
    harness = harness_of(COUNTED + "settings: {bulk_records: 2, commit_interval: 100ms}", SAME)
    harness.send("in", [{"n": n} for n in range(200)])
    process, orders, figures = harness.process(), Orders(), Figures()
    process.start()

    class Slow(Faults):
        def reach(self, point):
            harness.clock.wait({"consumer.consume": 0.1, "producer.commit_transaction": 1.0}.get(point, 0.0))
            orders.stopping = figures.committed.get(("in", 0), 0) >= 200
            return super().reach(point)

    with harness.user_code():
        process.attempt(Slow()).task(harness.plan.components[0], 0, orders, figures).run()
    assert len(harness.sink("out")) == 200
    assert 2 <= figures.commits <= 6


def test_the_last_records_of_a_backlog_do_not_wait_for_more(harness_of):
    """While it is behind, commits that take a second are five apart; at the end there is nothing to wait for."""
    harness = harness_of(COUNTED + "settings: {bulk_records: 2, commit_interval: 100ms}", SAME)
    harness.send("in", [{"n": n} for n in range(110)])
    process, orders, figures, begun, ended = harness.process(), Orders(), Figures(), [], []
    process.start()

    class Slow(Faults):
        def reach(self, point):
            begun.extend([harness.clock()] if point == "producer.commit_transaction" else [])
            harness.clock.wait({"consumer.consume": 0.1, "producer.commit_transaction": 1.0}.get(point, 0.0))
            return super().reach(point)

    def at_the_end(timeout):
        ended.append(harness.clock())
        harness.clock.wait(timeout)
        orders.stopping = figures.committed.get(("in", 0), 0) >= 110

    harness.broker.idle = at_the_end
    with harness.user_code():
        process.attempt(Slow()).task(harness.plan.components[0], 0, orders, figures).run()
    assert len(harness.sink("out")) == 110
    assert begun[-1] - begun[-2] < 5
    assert begun[-1] - ended[0] < 0.2


@pytest.mark.parametrize(("takes", "apart"), [(0.4, 1.0), (1.5, 1.502)])
def test_commits_begin_an_interval_apart_however_long_they_take(harness_of, takes, apart):
    """And where they take longer than that, the coordinator gets a moment in between."""
    harness = harness_of(COUNTED + "settings: {commit_interval: 1s}", SAME)
    process, orders, figures, begun = harness.process(), Orders(), Figures(), []
    process.start()

    class Slow(Faults):
        def reach(self, point):
            if point == "producer.commit_transaction":
                begun.append(harness.clock())
                harness.clock.wait(takes)
            return super().reach(point)

    def more_comes(timeout):
        harness.clock.wait(max(timeout, 0.001))
        harness.send("in", [{"n": len(begun)}])
        orders.stopping = len(begun) == 6

    harness.broker.idle = more_comes
    with harness.user_code():
        process.attempt(Slow()).task(harness.plan.components[0], 0, orders, figures).run()
    between = [later - former for former, later in pairwise(begun[1:6])]
    assert between == pytest.approx([apart] * 4, abs=0.01)


def test_an_order_to_skip_hands_the_record_to_its_policy(harness_of):
    harness = harness_of(COUNTED, "def work(row):\n    assert row['n'] != 2, 'never returns'\n    return row\n")
    harness.send("in", [{"n": 1}, {"n": 2}, {"n": 3}])
    process, figures = harness.process(), Figures()
    orders = Orders(skip={("in", 0, 1): "work"})
    process.start()

    def stop(timeout):
        harness.clock.wait(timeout)
        orders.stopping = figures.committed[("in", 0)] == 3

    harness.broker.idle = stop
    with harness.user_code():
        process.task(harness.plan.components[0], 0, orders, figures).run()
    assert [row["n"] for row in harness.sink("out")] == [1, 3]
    assert "TimeoutError: no answer within 30 s" in harness.dead()[0].error
    assert (figures.read, figures.dead, figures.step) == (3, 1, "running")


def test_a_topic_that_is_gone_is_said_plainly(harness_of):
    harness = harness_of(COUNTED, SAME)
    process = harness.process()
    process.start()
    late = process.attempt(Faults(fail={"consumer.consume": Failure(KafkaError.UNKNOWN_TOPIC_OR_PART)}))
    harness.send("in", [{"n": 1}, {"n": 2}])
    with harness.user_code(), pytest.raises(WorldError, match="does not exist any more"):
        late.work()
    assert harness.broker.open_transactions() == []


def test_an_offset_that_retention_took_is_an_error_and_no_silent_jump(harness_of):
    harness = harness_of(COUNTED, SAME)
    harness.send("in", [{"n": n} for n in range(4)])
    process = harness.process()
    process.start()
    harness.broker.delete_records("in", 0, 3)
    with harness.user_code(), pytest.raises(WorldError, match="3 records of in/0 from offset 0 on are gone from Kafka"):
        process.work()
    assert harness.sink("out") == []
    assert harness.broker.open_transactions() == []


@pytest.mark.parametrize(
    "text",
    [
        COUNTED + "settings: {on_gap: earliest}",
        COUNTED.replace("topic: in,", "topic: in, on_gap: earliest,"),
        COUNTED.replace("topic: in,", "topic: in, max_rate: 1000,") + "settings: {on_gap: earliest}",
    ],
)
def test_a_gap_that_is_accepted_is_counted_and_passed(harness_of, monkeypatch, text):
    harness = harness_of(text, SAME)
    harness.send("in", [{"n": n} for n in range(4)])
    process = harness.process()
    process.start()
    harness.broker.delete_records("in", 0, 3)
    noted = Figures()
    monkeypatch.setattr("whorl.testing.process.Figures", lambda: noted)
    with harness.user_code():
        process.work()
    assert [row["n"] for row in harness.sink("out")] == [3]
    figures = noted.snapshot()
    assert figures["lost"] == 3 and figures["gaps"] == ["3 records of in/0 from offset 0 on are gone from Kafka"]
    assert harness.broker.offsets("p.work") == {("in", 0): 4}


def test_offsets_of_a_partition_where_nothing_comes_do_not_expire(harness_of):
    harness = harness_of(COUNTED, SAME, partitions=2)
    harness.send("in", [Given('{"n": 1}', key="a")])
    process = harness.process()
    process.start()
    orders, figures = Orders(), Figures()
    task = process.task(harness.plan.components[0], 0, orders, figures)
    seen = []

    def idle(timeout):
        harness.clock.wait(timeout if harness.broker.open_transactions() else 600)
        if len(harness.broker.offsets("p.work")) == 2:
            seen.append(harness.clock())
            harness.broker._transactions._groups.clear()
        orders.stopping = len(seen) == 4

    harness.broker.idle = idle
    with harness.user_code():
        task.run()
    _, *commits = seen  # the first are those of the driver
    assert all(3600 <= later - sooner <= 5000 for sooner, later in pairwise(commits))


def test_a_topic_that_was_made_anew_is_no_gap(harness_of):
    harness = harness_of(COUNTED + "settings: {on_gap: earliest}", SAME)
    harness.send("in", [{"n": n} for n in range(4)])
    harness.run()
    del harness.broker.topics()["in"].logs[0]._entries[2:]
    with pytest.raises(WorldError, match="in/0 ends before offset 4"):
        harness.run()


AT_LEAST_ONCE = COUNTED + "settings: {guarantee: at_least_once, commit_interval: 1s, bulk_records: 2}"


def test_at_least_once_outputs_leave_at_once_and_positions_stay_exact(harness_of):
    harness = harness_of(AT_LEAST_ONCE, SAME)
    harness.send("in", [{"n": n} for n in range(6)])
    harness.run()
    points = harness.faults.points
    assert [row["n"] for row in harness.sink("out")] == list(range(6))
    alone, first, second = (at for at, point in enumerate(points) if point == "producer.flush")
    assert "producer.commit_transaction" not in points[alone:first], (
        "what comes alone leaves at once, before its commit"
    )
    assert points[first:second].count("producer.produce") == 5, (
        "as does what follows it; the fifth is the first commit's positions"
    )
    for k in range(1, len(points) + 1):
        harness = harness_of(AT_LEAST_ONCE, SAME)
        harness.send("in", [{"n": n} for n in range(6)])
        harness.crash_at(k, hold=k % 2 == 0)
        with pytest.raises(Crash):
            harness.run()
        harness.run()
        assert {row["n"] for row in harness.sink("out")} == set(range(6)), k
        clients = MemoryClients(harness.broker)
        uid = read_registration(clients, "p").uid
        stored = read_positions(clients, naming.changelog_topic("p", uid, "work"), [0])
        assert stored == harness.broker.offsets("p.work") == {("in", 0): 6}
        assert harness.broker.open_transactions() == []


def test_at_least_once_an_output_that_is_not_delivered_is_done_again(harness_of):
    harness = harness_of(AT_LEAST_ONCE, SAME)
    harness.send("in", [{"n": n} for n in range(4)])
    process = harness.process()
    process.start()
    faults = Faults(fail={"producer.produce": Failure(KafkaError._MSG_TIMED_OUT)})
    with harness.user_code():
        process.attempt(faults).work()
    assert {row["n"] for row in harness.sink("out")} == set(range(4))


def test_several_sources_and_sinks_in_several_tasks(harness_of):
    text = """
name: p
sources:
  a: {type: kafka, topic: a, schema: {n: long}}
  b: {type: kafka, topic: b, schema: {n: long}}
operators:
  - {id: all, type: union, from: [a, b]}
  - {id: split, type: branch, from: all, outputs: [{name: even, where: n % 2 = 0}, {name: odd, where: n % 2 = 1}]}
sinks:
  even: {type: kafka, topic: even, from: split.even}
  odd: {type: kafka, topic: odd, from: split.odd}
"""
    harness = harness_of(text, partitions=4, tasks=3)
    for source in ("a", "b"):
        harness.send(source, [Given({"n": n}, key=str(n % 5)) for n in range(20)])
    harness.run()
    assert sorted(row["n"] for row in harness.sink("even")) == sorted([*range(0, 20, 2)] * 2)
    assert sorted(row["n"] for row in harness.sink("odd")) == sorted([*range(1, 20, 2)] * 2)
    for sink in ("even", "odd"):
        for key in range(5):
            mine = [entry for entry in harness.records(sink) if entry.key == str(key).encode()]
            assert len({entry.partition for entry in mine}) == 1


def test_generated_records_are_the_same_each_time():
    rows = ListSource(rows=[{"a": 1}, 2, {"a": 3}], keys=["x", None, "z"])
    make = generator(rows, ("@l", 0), 1)
    assert [(made.offset(), made.key(), made.partition()) for made in make(10)] == [(1, None, 0), (2, b"z", 0)]
    assert make(10) == []
    assert length(rows, 0) == 3
    first = [made.value() for made in generator(rows, ("@l", 0), 0)(2)]
    assert first == [made.value() for made in generator(rows, ("@l", 0), 0)(2)]


@pytest.mark.parametrize(
    ("limit", "partitions", "lengths"), [(5, 2, [3, 2]), (0, 2, [0, 0]), (1, 3, [1, 0, 0]), (None, 1, [None])]
)
def test_a_rate_source_deals_its_rows_in_turn(limit, partitions, lengths):
    source = RateSource(rows_per_second=1e9, limit=limit, partitions=partitions)
    assert [length(source, partition) for partition in range(partitions)] == lengths


def test_a_rate_source_stops_at_its_limit():
    source = RateSource(rows_per_second=1e9, limit=5, partitions=2)
    numbers = []
    for partition in range(2):
        make = generator(source, ("@r", partition), 0)
        while made := make(2):
            assert len(made) <= 2
            numbers += [int(one.key()) for one in made]
    assert sorted(numbers) == [0, 1, 2, 3, 4]
