from __future__ import annotations

import random
from dataclasses import replace

import pytest
from helpers_state import META, NOW

from whorl.errors import WhorlError
from whorl.state.backend import MemoryBackend, Meta, Wanted, boot_id, misfit
from whorl.state.codec import short

WANTED = Wanted("uid", "changelog", "id", end=10, max_age=60, now=NOW, boot="boot")
FITTING = replace(META, position=10, current_at=NOW - 60_000)


def test_a_fitting_copy_is_used():
    assert misfit(FITTING, WANTED) == ""


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        (None, "no local copy"),
        (replace(FITTING, lineage="other"), "belongs to 'other'"),
        (replace(FITTING, topic="other"), "another changelog"),
        (replace(FITTING, topic_id="other"), "another changelog"),
        (replace(FITTING, position=11), "beyond the changelog's end at 10"),
        (replace(FITTING, current_at=NOW - 60_001), "so old"),
        (replace(FITTING, boot="before"), "started anew"),
        (replace(FITTING, boot=""), "started anew"),
    ],
)
def test_why_a_copy_is_not_used(meta, why):
    assert why in misfit(meta, WANTED)


def test_a_machine_that_cannot_tell_its_starts_trusts_only_what_was_synced():
    unknown = replace(WANTED, boot="")
    assert misfit(replace(FITTING, boot=""), unknown)
    assert not misfit(replace(FITTING, boot="", durable=True), unknown)
    assert not misfit(replace(FITTING, boot="before", durable=True), WANTED)


def test_the_boot_id_stays_while_the_machine_runs():
    assert boot_id() == boot_id()


def test_meta_comes_back_and_a_newer_one_is_refused(monkeypatch):
    assert Meta.decode(FITTING.encode()) == FITTING
    monkeypatch.setattr("whorl.state.backend.META_VERSION", 2)
    newer = FITTING.encode()
    monkeypatch.undo()
    with pytest.raises(WhorlError, match="format 2"):
        Meta.decode(newer)


def test_meta_is_written_with_the_entries(backend):
    assert backend.meta is None
    backend.write({b"a": b"1"}, FITTING)
    assert backend.meta == FITTING and backend.get(b"a") == b"1" and backend.count() == 1


def test_random_writes_and_scans_are_those_of_a_dict(backend):
    chance, model = random.Random(7), {}
    keys = [bytes(chance.choices(b"ab\0\xff", k=chance.randrange(1, 6))) for _ in range(300)]
    keys = [b"p" + key + b"z" * chance.choice((0, 0, 0, 520)) for key in keys]
    for turn in range(40):
        size = 1500 if turn == 20 else 30
        puts = {chance.choice(keys): chance.choice((b"v%d" % turn, None)) for _ in range(size)}
        backend.write(puts, replace(META, position=turn))
        model.update(puts)
        model = {key: value for key, value in model.items() if value is not None}
        ordered = sorted(model, key=short)
        prefix, after = chance.choice((b"", b"p", b"pa", b"q", b"p\xff")), chance.choice([None, *keys])
        wanted = [k for k in ordered if k.startswith(prefix) and (after is None or short(k) > short(after))]
        assert list(backend.scan(prefix, after)) == [(key, model[key]) for key in wanted]
        assert backend.count() == len(model)
        assert all(backend.get(key) == model.get(key) for key in keys)


def test_keys_of_any_length_are_told_apart(backend):
    lengths = (1, 494, 495, 496, 509, 510, 511, 512, 600, 5000)
    entries = {b"k" * length: b"%d" % length for length in lengths}
    backend.write(entries, META)
    assert all(backend.get(key) == value for key, value in entries.items())
    assert dict(backend.scan(b"")) == entries
    assert dict(backend.scan(b"k" * 512)) == {k: v for k, v in entries.items() if len(k) >= 512}
    backend.write({b"k" * 511: None, b"k" * 5000: None}, META)
    assert backend.get(b"k" * 511) is None and backend.get(b"k" * 512) == b"512" and backend.count() == 8


def test_a_write_in_the_middle_of_a_scan_breaks_nothing(backend):
    backend.write({b"%04d" % n: b"" for n in range(1000)}, META)
    scan = backend.scan(b"")
    seen = [next(scan)[0] for _ in range(100)]
    backend.write({b"%04d" % n: None for n in range(500)}, META)
    seen += [key for key, _ in scan]
    assert seen[:100] == [b"%04d" % n for n in range(100)]
    assert seen[-500:] == [b"%04d" % n for n in range(500, 1000)]


def test_memory_sorts_only_when_scanned():
    memory = MemoryBackend()
    memory.write({b"b": b"", b"a": b""}, META)
    assert memory._sorted is None
    assert [key for key, _ in memory.scan(b"")] == [b"a", b"b"]
    memory.write({b"aa": b"", b"b": None}, META)
    assert memory._sorted == [b"a", b"aa"]


def test_many_are_found_as_each_alone(backend):
    long = b"x" * 600
    entries = {b"a": b"1", long: b"2", b"c": b"3"}
    backend.write(entries, FITTING)
    backend.write({b"c": None, b"d": b"4"}, FITTING)
    wanted = [b"a", long, b"b", b"c", b"d"]
    assert backend.get_many(wanted) == {b"a": b"1", long: b"2", b"d": b"4"}
    assert backend.get_many([]) == {}


def test_its_size_is_known_without_a_count(backend):
    before = backend.size()
    backend.write({b"a\0%d" % n: b"x" * 100 for n in range(50)}, META)
    backend.write({b"a\0%d" % n: b"y" * 3000 for n in range(40)}, META)
    backend.write({b"a\0%d" % n: None for n in range(45, 60)}, META)
    assert backend.count() == 45  # what waits is written with it
    size = backend.size()
    assert size.entries == 45
    assert 40 * 3000 < size.bytes - before.bytes < 3 * 40 * 3000


def test_the_size_of_a_store_in_memory_is_that_of_its_keys_and_values():
    backend = MemoryBackend()
    backend.write({b"ab": b"123", b"c": b"1", b"d": b"1"}, META)
    backend.write({b"ab": b"1", b"c": None, b"nobody": None}, META)
    assert backend.size() == (2, 2 + 1 + 1 + 1)
