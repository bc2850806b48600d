from __future__ import annotations

import random

import pytest
from helpers_state import META, Counting, Life

from whorl.state.backend import MemoryBackend
from whorl.state.disk import LmdbBackend
from whorl.state.partition import LpState
from whorl.state.timers import Timer


def due(life: Life, up_to: int, kind="event") -> list[tuple[int, str, bytes]]:
    return [tuple(timer) for timer in life.lp.timers.due(kind, up_to)]


def test_they_fire_in_order_of_time_operator_key_once(life: Life):
    timers = [(5, "b", b"x"), (5, "a", b"y"), (5, "a", b"x"), (-3, "z", b"z"), (1 << 40, "a", b"")]
    life.record(lambda lp: [lp.timers.at(operator, key, time) for time, operator, key in timers])
    assert life.lp.timers.next("event") == -3
    assert due(life, 5) == sorted(timers)[:4]
    assert due(life, 5) == [] and life.lp.timers.next("event") == 1 << 40


def test_kinds_do_not_meet(life: Life):
    life.record(lambda lp: lp.timers.at("a", b"k", 5, "processing"))
    assert due(life, 10) == [] and life.lp.timers.next("event") is None
    assert due(life, 10, "processing") == [(5, "a", b"k")]


def test_set_twice_is_one(life: Life):
    for _ in range(2):
        life.record(lambda lp: [lp.timers.at("a", b"k", 5), lp.timers.at("a", b"k", 5)])
    assert len(life.lp.timers._lines["event"].fresh) == 1
    assert len(life.commit()) == 1
    assert life.lp.timers._lines["event"].fresh == []
    life.record(lambda lp: lp.timers.at("a", b"k", 5))
    assert life.commit() == []
    life.record(lambda lp: lp.timers.at("a", b"k", 5))
    assert due(life, 5) == [(5, "a", b"k")]


@pytest.mark.parametrize("stored", [False, True])
def test_a_cancelled_one_does_not_fire_unless_set_again(life: Life, stored: bool):
    life.record(lambda lp: [lp.timers.at("a", b"k", 5), lp.timers.at("a", b"l", 6)])
    if stored:
        life.commit()
    life.record(lambda lp: [lp.timers.cancel("a", b"k", 5), lp.timers.cancel("a", b"never", 5)])
    assert life.lp.timers.next("event") == 6
    life.record(lambda lp: lp.timers.at("a", b"k", 5))
    assert due(life, 9) == [(5, "a", b"k"), (6, "a", b"l")]
    life.commit()
    assert life.lp.count() == 0


@pytest.mark.parametrize("stored", [False, True])
def test_undo_takes_back_both_set_and_cancel(life: Life, stored: bool):
    life.record(lambda lp: lp.timers.at("a", b"k", 5))
    if stored:
        life.commit()
    life.lp.begin()
    life.lp.timers.cancel("a", b"k", 5)
    life.lp.timers.at("a", b"l", 1)
    life.lp.undo()
    assert life.lp.timers.next("event") == 5
    assert due(life, 5) == [(5, "a", b"k")]


@pytest.mark.parametrize("store", [False, True])
def test_fired_ones_are_gone_and_others_there_after_a_restart(life: Life, store: bool):
    life.record(lambda lp: [lp.timers.at("a", b"%03d" % n, n) for n in range(100)])
    life.commit()
    assert len(due(life, 49)) == 50
    life.commit(store)
    life.die()
    assert [time for time, _, _ in due(life, 1000)] == list(range(50, 100))


def test_what_fired_without_a_commit_fires_again(life: Life):
    life.record(lambda lp: lp.timers.at("a", b"k", 5))
    life.commit()
    assert due(life, 5)
    life.lp.drop()
    assert due(life, 5)
    life.die()
    assert due(life, 5) == [(5, "a", b"k")]


def test_a_callback_may_set_and_cancel_others(life: Life):
    life.record(lambda lp: [lp.timers.at("a", b"k", n) for n in (1, 5, 9)])
    life.commit()
    fired = []
    for timer in life.lp.timers.due("event", 9):
        fired.append(timer.time)
        life.lp.begin()
        if timer.time == 1:
            life.lp.timers.at("a", b"k", 0)
            life.lp.timers.at("a", b"k", 3)
            life.lp.timers.cancel("a", b"k", 5)
        life.lp.keep()
    assert fired == [1, 0, 3, 9]


def test_a_timer_whose_callback_failed_is_gone_and_may_be_set_again(life: Life):
    life.record(lambda lp: lp.timers.at("a", b"k", 5))
    for timer in life.lp.timers.due("event", 5):
        life.lp.begin()
        life.lp.timers.at("a", b"other", 4)
        life.lp.undo()
        retry = timer
    assert due(life, 5) == []
    life.record(lambda lp: lp.timers.at(retry.operator, retry.key, retry.time))
    assert due(life, 5) == [Timer(5, "a", b"k")]


def test_they_are_not_taken_while_a_record_is_open(life: Life):
    life.lp.begin()
    life.lp.timers.at("a", b"k", 5)
    with pytest.raises(RuntimeError, match="between records"):
        next(life.lp.timers.due("event", 5))
    with pytest.raises(RuntimeError, match="between records"):
        life.lp.timers.next("event")


def test_set_and_fired_within_a_transaction_leaves_no_trace(life: Life):
    life.record(lambda lp: lp.timers.at("a", b"k", 5))
    assert due(life, 5)
    assert life.commit() == []


def test_long_keys(life: Life):
    keys = [b"k" * 600 + b"%d" % n for n in range(5)]
    life.record(lambda lp: [lp.timers.at("a", key, 5) for key in keys[:3]])
    life.commit()
    life.record(lambda lp: [lp.timers.at("a", key, 5) for key in keys[3:]])
    life.record(lambda lp: lp.timers.at("a", b"x" * 600, 4))
    fired = due(life, 5)
    assert fired[0] == (4, "a", b"x" * 600) and sorted(key for _, _, key in fired[1:]) == keys


def test_long_keys_fire_in_the_same_order_wherever_they_lie(life: Life):
    keys = [b"k" * 600 + b"%d" % n for n in range(30)]
    orders = []
    for stored in (0, 10, 30):
        life.record(lambda lp, stored=stored: [lp.timers.at("a", key, 5) for key in keys[:stored]])
        life.commit()
        life.record(lambda lp, stored=stored: [lp.timers.at("a", key, 5) for key in keys[stored:]])
        orders.append(due(life, 5))
        life.commit()
    assert orders[0] == orders[1] == orders[2] and len(orders[0]) == 30


def test_absorbed_timers_are_seen(life: Life):
    life.record(lambda lp: lp.timers.at("a", b"k", 5))
    entries = life.commit()
    other = Life()
    assert other.lp.timers.next("event") is None
    other.lp.absorb(entries, 1)
    assert due(other, 5) == [(5, "a", b"k")]


def test_random_timers_are_those_of_a_sorted_set(life: Life):
    chance, model = random.Random(3), set()
    for _ in range(300):
        action, timer = chance.random(), (chance.randrange(100), chance.choice("ab"), chance.choice((b"x", b"y")))
        life.lp.begin()
        failed = chance.random() < 0.3
        (life.lp.timers.at if action < 0.6 else life.lp.timers.cancel)(timer[1], timer[2], timer[0])
        life.lp.undo() if failed else life.lp.keep()
        if not failed:
            (model.add if action < 0.6 else model.discard)(timer)
        assert life.lp.timers.next("event") == min((time for time, _, _ in model), default=None)
        if action > 0.9:
            up_to = chance.randrange(30)
            assert due(life, up_to) == sorted(timer for timer in model if timer[0] <= up_to)
            model = {timer for timer in model if timer[0] > up_to}
        if chance.random() < 0.15:
            life.commit(store=chance.random() < 0.5)
    assert due(life, 1000) == sorted(model)


@pytest.mark.parametrize("kind", ["memory", "lmdb"])
def test_a_hundred_thousand_are_not_loaded(kind: str, tmp_path):
    backend = Counting(MemoryBackend() if kind == "memory" else LmdbBackend(tmp_path, 1 << 26))
    lp = LpState(backend, META)  # type: ignore[arg-type]
    for n in range(100_000):
        lp.timers.at("op", b"%06d" % n, n)
        lp.keep()
    lp.delta()
    lp.store(1)
    assert lp.timers.changes == {} and lp.count() == 100_000
    assert lp.timers.next("event") == 0 and backend.read == 1
    lp.timers.at("op", b"new", 50)
    lp.keep()
    fired = list(lp.timers.due("event", 99))
    assert len(fired) == 101 and fired[50:52] == [Timer(50, "op", b"000050"), Timer(50, "op", b"new")]
    assert len(lp.timers.changes) == 101 and backend.read <= 110
    assert len(lp.timers._lines["event"].fresh) <= 1
    assert len(lp.delta()) == 100
