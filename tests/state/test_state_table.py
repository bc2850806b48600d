from __future__ import annotations

import pytest
from helpers_state import META, Counting, Life

from whorl.errors import PipelineError
from whorl.state.backend import MemoryBackend
from whorl.state.partition import LpState
from whorl.state.room import Room


def test_what_is_put_is_there_before_and_after_the_commit(life: Life):
    table = life.lp.table("op", "s")
    assert table.get(b"k") is None and not table.holds(b"k")
    life.record(lambda lp: table.put(b"k", {"n": 1}))
    assert table.get(b"k") == {"n": 1}
    life.commit()
    assert table.values == {} and table.get(b"k") == {"n": 1}
    life.die()
    assert life.lp.table("op", "s").get(b"k") == {"n": 1}


def test_none_is_a_value_like_others(life: Life):
    table = life.lp.table("op", "s")
    life.record(lambda lp: table.put(b"k", None))
    life.commit()
    life.die()
    table = life.lp.table("op", "s")
    assert table.get(b"k") is None and table.holds(b"k") and list(table.scan()) == [(b"k", None)]


@pytest.mark.parametrize("committed", [False, True])
def test_an_object_changed_later_changes_nothing(life: Life, committed: bool):
    table, value = life.lp.table("op", "s"), {"a": [1]}
    life.record(lambda lp: table.put(b"k", value))
    if committed:
        life.commit()
    value["a"].append(2)
    table.get(b"k")["a"].append(3)
    dict(table.scan())[b"k"]["a"].append(4)
    assert table.get(b"k") == {"a": [1]}


def test_undo_takes_back_changes_of_objects_too(life: Life):
    table = life.lp.table("op", "s")
    life.record(lambda lp: table.put(b"k", [1]))
    life.lp.begin()
    value = table.get(b"k")
    value.append(2)
    table.put(b"k", value)
    life.lp.undo()
    assert table.get(b"k") == [1]


def test_a_value_that_cannot_be_kept_is_refused_when_it_is_put(life: Life):
    table = life.lp.table("op", "s")
    with pytest.raises(PipelineError, match="'set' cannot be kept"):
        table.put(b"k", {1})
    assert table.values == {} and life.lp.delta() == {}


def test_many_at_once(life: Life):
    table = life.lp.table("op", "s")
    life.record(lambda lp: table.put_many([b"a", b"b"], [1, [2]]))
    assert table.get_many([b"b", b"c", b"a"]) == [[2], None, 1]
    life.lp.begin()
    with pytest.raises(ValueError):
        table.put_many([b"a", b"b"], [1])
    life.lp.undo()


def test_a_scan_is_in_key_order_over_both_layers(life: Life):
    table, other = life.lp.table("op", "s"), life.lp.table("op", "s2")
    life.record(lambda lp: table.put_many([b"b", b"d", b"f", b"e" * 600], [1, 2, 3, 4]))
    life.record(lambda lp: other.put(b"z", 0))
    life.commit()
    life.record(lambda lp: table.put_many([b"a", b"d", b"g", b"e" * 601], [5, 6, 7, 8]))
    life.record(lambda lp: table.delete(b"b"))
    found = list(table.scan())
    assert [key for key, _ in found if len(key) == 1] == [b"a", b"d", b"f", b"g"]
    assert dict(found) == {b"a": 5, b"d": 6, b"f": 3, b"g": 7, b"e" * 600: 4, b"e" * 601: 8}
    life.commit()
    assert list(table.scan()) == found


def test_a_scan_of_a_group_sees_the_group_only(life: Life):
    table = life.lp.table("op", "m{}")
    life.record(lambda lp: table.put_in(b"1", b"1a", 1))
    life.record(lambda lp: table.put_in(b"2", b"2a", 2))
    life.commit()
    life.record(lambda lp: table.put_in(b"1", b"1b", 3))
    life.record(lambda lp: table.delete_in(b"2", b"2a"))
    assert list(table.scan(b"1")) == [(b"1a", 1), (b"1b", 3)]
    assert list(table.scan(b"2")) == []
    life.lp.begin()
    table.put_in(b"1", b"1c", 4)
    life.lp.undo()
    assert list(table.scan(b"1")) == [(b"1a", 1), (b"1b", 3)]


def test_a_scan_survives_writes_under_way(life: Life):
    table = life.lp.table("op", "s")
    life.record(lambda lp: table.put_many([b"%03d" % n for n in range(100)], list(range(100))))
    life.commit()
    for key, _ in table.scan():
        table.delete(key)
    assert list(table.scan()) == []


def test_appending_is_undone_and_committed(life: Life):
    table, more = life.lp.table("op", "l"), [[2]]
    life.record(lambda lp: table.append(b"k", [1]))
    life.record(lambda lp: table.append(b"k", more))
    more[0].append(9)
    life.lp.begin()
    table.append(b"k", [3])
    life.lp.undo()
    assert table.get(b"k") == [1, [2]]
    life.commit()
    life.record(lambda lp: table.append(b"k", [4]))
    assert table.get(b"k") == [1, [2], 4]


def test_an_expired_value_is_not_there(life: Life):
    table = life.lp.table("op", "s")
    life.record(lambda lp: table.put(b"k", [1], expires=100))
    for _ in range(2):
        life.lp.clocks.tick(99)
        assert table.get(b"k") == [1] and table.holds(b"k") and table.peek(b"k") == [1]
        life.commit()
    life.lp.clocks.tick(100)
    assert table.get(b"k") is None and not table.holds(b"k") and table.peek(b"k") is None and not list(table.scan())
    life.record(lambda lp: table.append(b"k", [7]))
    assert table.get(b"k") == [7]


def test_event_time_ends_values_of_event_time_only(life: Life):
    event, clock = life.lp.table("op", "e", event=True), life.lp.table("op", "p")
    life.record(lambda lp: (event.put(b"k", 1, expires=100), clock.put(b"k", 1, expires=100)))
    life.commit()
    life.lp.clocks.move("in", 100)
    assert (event.get(b"k"), clock.get(b"k")) == (None, 1)
    life.lp.clocks.tick(100)
    assert clock.get(b"k") is None


def test_a_value_keeps_the_clock_it_was_put_by(life: Life):
    life.record(lambda lp: lp.table("op", "s", event=True).put(b"k", 1, expires=100))
    life.commit()
    table = life.lp.table("op", "s", event=False)
    life.lp.clocks.tick(1000)
    assert table.get(b"k") == 1


def test_refreshing_what_is_there_and_nothing_else(life: Life):
    table = life.lp.table("op", "s")
    life.record(lambda lp: table.put(b"k", 1, expires=100))
    life.commit()
    life.record(lambda lp: (table.refresh(b"k", 100), table.refresh(b"none", 500)))
    assert life.commit() == []
    life.record(lambda lp: table.refresh(b"k", 200))
    life.lp.clocks.tick(150)
    assert table.get(b"k") == 1 and len(life.commit()) == 1
    life.lp.clocks.tick(200)
    life.record(lambda lp: table.refresh(b"k", 300))
    assert table.get(b"k") is None


def test_committed_values_are_decoded_once_and_never_stale():
    lp = LpState(backend := MemoryBackend(), META)
    lp.table("op", "s").put(b"k", 1)
    lp.keep()
    lp.delta()
    lp.store(1)
    lp = LpState(backend, META)
    table = lp.table("op", "s")
    assert table.get(b"k") == 1
    backend.write({b"op/s\0k": None}, backend.meta)
    assert table.get(b"k") == 1, "read from the cache"
    table.put(b"k", 2)
    assert table.get(b"k") == 2
    lp.keep()
    lp.delta()
    lp.store(2)
    assert table.get(b"k") == 2
    lp.absorb([(b"op/s\0k", b"\x01\x03")], 3)
    assert table.get(b"k") == 3


@pytest.mark.parametrize("limit", [0, 2000])
def test_the_caches_stay_within_their_room_and_are_right(limit: int):
    life = Life(room=Room(limit))
    tables = [life.lp.table("op", name) for name in "ab"]
    for turn in range(20):
        for n in range(10):
            life.record(lambda lp, n=n, turn=turn: tables[n % 2].put(b"%d" % (turn * 10 + n), n))
        life.commit()
        assert [tables[n % 2].get(b"%d" % (turn * 10 + n)) for n in range(10)] == list(range(10))
        assert sum(len(table._cache) for table in tables) <= limit // 220 + 1


def test_large_values_are_not_cached_and_right():
    life = Life()
    table = life.lp.table("op", "s")
    life.record(lambda lp: table.put_many([b"small", b"large", b"grows"], [1, "x" * 2000, [1]]))
    life.commit()
    assert set(table._cache) == {b"small", b"grows"}
    life.record(lambda lp: table.append(b"grows", list(range(2000))))
    life.commit()
    assert set(table._cache) == {b"small"} and len(table.get(b"grows")) == 2001
    assert table.get(b"large") == "x" * 2000 and set(table._cache) == {b"small"}


def test_room_counts_what_is_taken_for_all_that_share_it():
    room = Room(100)
    cache, other = room.cache(), room.cache()
    cache[b"k"] = other[b"k"] = 1
    room.take(100)
    assert cache and other
    room.take(1)
    assert not cache and not other and room.used == 0


def test_a_closed_lp_takes_no_room():
    room = Room(1 << 20)
    life = Life(room=room)
    life.record(lambda lp: lp.table("op", "s").put(b"k", 1))
    life.commit()
    assert len(room._caches) == 1
    life.lp.close()
    assert room._caches == []


def test_nothing_of_a_transaction_stays_in_memory(life: Life):
    table = life.lp.table("op", "m{}")
    for end in (life.commit, life.lp.drop):
        life.record(lambda lp: [table.put_in(b"g", b"gk", 1), table.delete_in(b"h", b"hk")])
        assert table._groups
        end()
        assert not table._groups and not table.values


def test_a_scan_leaves_the_cache_alone():
    life = Life()
    life.record(lambda lp: lp.table("op", "s").put_many([b"%d" % n for n in range(100)], [0] * 100))
    life.commit(store=False)
    table = life.lp.table("op", "s")
    assert len(list(table.scan())) == 100 and not table._cache


def test_a_scan_of_a_group_does_not_read_the_table():
    backend = Counting(MemoryBackend())
    lp = LpState(backend, META)  # type: ignore[arg-type]
    table = lp.table("op", "m{}")
    for n in range(1000):
        table.put_in(b"%03d" % n, b"%03d-x" % n, n)
    lp.keep()
    lp.delta()
    lp.store(1)
    assert list(table.scan(b"500")) == [(b"500-x", 500)] and backend.read == 1
