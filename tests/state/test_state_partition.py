from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers_state import META, NOW, Life

from whorl.errors import WhorlError
from whorl.state.backend import MemoryBackend
from whorl.state.partition import LP_KEY, LpState


def put(key: bytes, value: object):
    return lambda lp: lp.table("op", "s").put(key, value)


def test_each_touched_entry_is_in_the_delta_once(life: Life):
    life.record(put(b"a", 1))
    life.record(put(b"a", 2))
    life.record(put(b"b", 3))
    assert sorted(life.commit()) == [(b"op/s\0a", b"\x01\x02"), (b"op/s\0b", b"\x01\x03")]
    assert life.commit() == []


def test_deletions_are_tombstones_only_where_there_was_something(life: Life):
    life.record(put(b"a", 1))
    life.commit()
    life.record(lambda lp: [lp.table("op", "s").delete(b"a"), lp.table("op", "s").delete(b"b")])
    life.record(put(b"c", 1))
    life.record(lambda lp: lp.table("op", "s").delete(b"c"))
    assert life.commit() == [(b"op/s\0a", None)]
    assert life.lp.count() == 0


def test_undo_leaves_no_trace(life: Life):
    life.record(put(b"a", 1))
    life.commit()
    life.record(put(b"b", 2))
    life.lp.begin()
    table = life.lp.table("op", "s")
    for _ in range(2):
        table.put(b"a", 9)
        table.delete(b"b")
        table.put(b"c", 9)
        table.append(b"l", [9])
        life.lp.timers.at("op", b"a", 5)
    life.lp.undo()
    assert dict(table.scan()) == {b"a": 1, b"b": 2}
    assert life.commit() == [(b"op/s\0b", b"\x01\x02")]


def test_rows_and_a_due_timer_in_one_transaction_and_undo_after_it(life: Life):
    life.record(lambda lp: [put(b"a", 1)(lp), lp.timers.at("op", b"a", 5)])
    (timer,) = life.lp.timers.due("event", 5)
    life.record(put(timer.key, 2))
    life.lp.begin()
    put(b"a", 3)(life.lp)
    life.lp.timers.at("op", b"a", 5)
    life.lp.timers.at("op", b"a", 7)
    life.lp.undo()
    assert life.lp.timers.next("event") is None
    assert life.commit() == [(b"op/s\0a", b"\x01\x02")]


def test_a_drop_goes_back_to_the_last_store_and_so_do_the_times(life: Life):
    life.lp.clocks.tick(10)
    life.record(lambda lp: [put(b"a", 1)(lp), lp.timers.at("op", b"a", 5)])
    life.commit()
    life.lp.clocks.tick(20)
    life.lp.clocks.move("in", 7)
    list(life.lp.timers.due("event", 7))
    life.record(put(b"a", 2))
    life.lp.begin()
    put(b"b", 2)(life.lp)
    life.lp.drop()
    assert dict(life.lp.table("op", "s").scan()) == {b"a": 1} and life.lp.timers.next("event") == 5
    assert life.lp.times() == {"clock": 10, "watermark": None, "inputs": {}}
    life.record(put(b"a", 3))
    life.lp.delta()
    life.lp.drop()
    assert life.lp.table("op", "s").get(b"a") == 1 and life.commit() == []


def test_a_death_between_commit_and_store_loses_nothing(life: Life):
    life.record(put(b"a", 1))
    life.record(put(b"b", 1))
    life.commit()
    before = life.lp.position
    life.lp.clocks.tick(50)
    life.record(lambda lp: [put(b"a", 2)(lp), lp.table("op", "s").delete(b"b"), lp.timers.at("op", b"t", 5)])
    life.commit(store=False)
    assert life.lp.position > before
    assert dict(life.lp.table("op", "s").scan()) == {b"a": 2} and life.lp.timers.next("event") == 5
    assert life.lp.clocks.clock == 50


def test_the_hosts_record_is_stored_with_the_state_and_not_counted(life: Life):
    assert life.lp.record is None
    life.record(put(b"a", 1))
    life.commit()
    life.die()
    assert life.lp.record is not None and life.lp.count() == 1


def test_steps_out_of_order_are_refused(life: Life):
    with pytest.raises(RuntimeError, match="only a delta"):
        life.lp.store(1)
    life.lp.begin()
    put(b"a", 1)(life.lp)
    for step in (life.lp.begin, life.lp.delta, lambda: life.lp.sweep(1), lambda: life.lp.absorb([], 1)):
        with pytest.raises(RuntimeError):
            step()
    life.lp.keep()
    with pytest.raises(RuntimeError, match="before records"):
        life.lp.absorb([], 1)
    life.lp.delta()
    for step in (life.lp.begin, lambda: life.lp.sweep(1)):
        with pytest.raises(RuntimeError):
            step()
    life.lp.store(1)
    life.lp.begin()


def test_times_are_exported_and_never_run_backwards(life: Life):
    life.lp.clocks.tick(10)
    life.lp.clocks.move("in", 5)
    times = life.lp.times()
    life.die()
    assert life.lp.times()["clock"] == 0
    life.lp.set_times(times)
    assert life.lp.times() == times
    life.lp.set_times({"clock": 1, "watermark": 1, "inputs": {"in": 1}})
    assert life.lp.times() == times
    life.lp.drop()
    assert life.lp.times() == times


def test_sweeping_goes_round_a_few_at_a_time(life: Life):
    table, timed = life.lp.table("op", "s"), life.lp.table("op", "t")
    for n in range(10):
        life.record(lambda lp, n=n: table.put(b"%d" % n, n))
        life.record(lambda lp, n=n: timed.put(b"%d" % n, n, expires=100 if n % 2 else 200))
    life.record(lambda lp: lp.timers.at("op", b"k", 1))
    life.commit()
    assert sum(life.lp.sweep(5) for _ in range(10)) == 0
    life.lp.clocks.tick(100)
    life.record(lambda lp: timed.put(b"1", "anew", expires=500))
    swept = [life.lp.sweep(7) for _ in range(4)]
    assert sum(swept) == 4 and max(swept) <= 4 and swept[0] == 0
    assert sorted(life.commit()) == [
        (b"op/t\x001", b"\x11" + (500).to_bytes(8) + b"\xa4anew"),
        *((b"op/t\0%d" % n, None) for n in (3, 5, 7, 9)),
    ]
    assert life.lp.count() == 10 + 6 + 1
    life.lp.clocks.tick(1000)
    assert sum(life.lp.sweep(100) for _ in range(2)) == 6
    life.commit()
    life.die()
    assert life.lp.count() == 11 and list(life.lp.table("op", "t").scan()) == []


def test_expired_entries_of_states_that_nobody_declares_any_more_are_swept(life: Life):
    life.record(lambda lp: lp.table("old", "m{}", event=True).put_in(b"g", b"gk", 1, expires=10))
    life.commit()
    life.die()
    life.lp.clocks.move("in", 10)
    assert life.lp.sweep(10) == 1 and life.commit() == [(b"old/m{}\0gk", None)]


def test_what_is_swept_stays_swept_in_a_scan_of_its_group(life: Life):
    table = life.lp.table("op", "m{}")
    life.record(lambda lp: table.put_in(b"g", b"gk", 1, expires=10))
    life.commit()
    life.lp.clocks.tick(10)
    life.lp.sweep(10)
    assert list(table.scan(b"g")) == []


def test_the_checksum_is_of_what_lives_in_whatever_order_and_place():
    one, two, both = Life(), Life(), Life()
    for life, keys in ((one, (1, 2)), (two, (3,)), (both, (3, 1, 2))):
        for key in keys:
            life.record(put(b"%d" % key, key))
        life.commit()
    assert (one.lp.checksum() + two.lp.checksum()) % (1 << 64) == both.lp.checksum()
    before = both.lp.checksum()
    both.record(lambda lp: lp.table("op", "t").put(b"x", 1, expires=50))
    both.commit()
    assert both.lp.checksum() != before
    both.lp.clocks.tick(50)
    assert both.lp.checksum() == before
    both.record(put(b"1", 9))
    both.commit()
    assert both.lp.checksum() != before


def test_a_newer_format_is_refused_when_absorbed_not_when_a_record_reads_it():
    lp = LpState(MemoryBackend(), META)
    lp.absorb([(LP_KEY, b"{}"), (b"op/s\0k", None)], 2)
    with pytest.raises(WhorlError, match="use the newer Whorl"):
        lp.absorb([(b"op/s\0k", b"\x02\x00")], 3)
    assert lp.position == 2


def test_a_copy_read_in_part_is_no_younger_than_before():
    memory, now = MemoryBackend(), [NOW]
    lp = LpState(memory, META, wall=lambda: now[0])
    now[0] += 1000
    lp.absorb([(b"op/s\0k", b"\x01\x01")], 1)
    assert memory.meta == replace(META, position=1, current_at=NOW)
    lp.absorb([], 2, current=True)
    assert memory.meta == replace(META, position=2, current_at=NOW + 1000)
    now[0] += 1000
    lp.delta()
    lp.store(3)
    assert memory.meta == replace(META, position=3, current_at=NOW + 2000)


def test_a_copy_goes_on_under_the_present_start_of_the_machine():
    memory = MemoryBackend()
    memory.write({}, replace(META, position=4, current_at=9, boot="before", durable=True))
    lp = LpState(memory, replace(META, durable=True))
    assert lp.position == 4
    lp.absorb([], 5)
    assert memory.meta == replace(META, position=5, current_at=9, durable=True)


def test_large_values_and_long_keys(life: Life):
    keys = {b"k" * 600: "v" * 100_000, b"k" * 601: list(range(20_000)), b"s": b"\0" * 3_000_000}
    for key, value in keys.items():
        life.record(put(key, value))
    life.commit()
    life.die()
    assert dict(life.lp.table("op", "s").scan()) == keys
    assert life.lp.table("op", "s").get(b"k" * 601) == list(range(20_000))


def test_closing_frees_the_folder(tmp_path: Path):
    life = Life(tmp_path)
    life.lp.close()
    life.open()
