"""A store that is away harms nobody: what it missed it gets, newest first and once."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from whorl.config.offset_stores import store_url
from whorl.errors import WorldError
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Place
from whorl.offsets import mirror as mirrors
from whorl.offsets.file import FileStore
from whorl.offsets.mirror import Mirror, lowest

URL = store_url("file:unused")
NOBODY = KafkaClients("")


class Fragile:
    """Takes offsets while it is up."""

    def __init__(self) -> None:
        self.is_up, self.calls, self.closed = True, 0, False
        self.has: dict[str, dict[Place, int]] = {}

    def read(self, group: str) -> dict[Place, int]:
        return self.has.get(group, {})

    def write(self, group: str, offsets: Mapping[Place, int]) -> None:
        self.calls += 1
        if not self.is_up:
            raise ConnectionError("refused")
        self.has.setdefault(group, {}).update(offsets)

    def close(self) -> None:
        self.closed = True


def test_a_store_that_is_down_is_told_once_and_gets_what_it_missed() -> None:
    store, told, now = Fragile(), list[str](), [0.0]
    mirror = Mirror(URL, lambda: store, told.append, lambda: now[0])
    store.is_up = False
    for at in range(5):
        mirror.offer({"g": {("t", 0): at, ("t", 1): 7}})
        assert not mirror.attempt()
    assert len(told) == 1 and "fails: refused" in told[0] and mirror.figures.failures == 5
    store.is_up, now[0] = True, 12.0
    assert mirror.attempt() and store.has == {"g": {("t", 0): 4, ("t", 1): 7}}
    assert told[1:] == ["offset store 'file:unused' is back after 12 s"]
    mirror.offer({"g": {("t", 0): 4, ("t", 1): 8}})
    assert mirror.pending() == {"g": {("t", 1): 8}}


def test_offers_while_a_store_is_busy_come_to_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, entered, store = threading.Event(), threading.Event(), Fragile()
    write = store.write

    def slow(group: str, offsets: Mapping[Place, int]) -> None:
        entered.set()
        gate.wait(30)
        write(group, offsets)

    monkeypatch.setattr(store, "write", slow)
    mirror = Mirror(URL, lambda: store, print)
    mirror.start()
    mirror.offer({"g": {("t", 0): 0}})
    assert entered.wait(30)
    for at in range(1, 1000):
        mirror.offer({"g": {("t", 0): at}})
    gate.set()
    mirror.close()
    assert store.has == {"g": {("t", 0): 999}} and store.calls == 2 and store.closed


def test_the_thread_waits_longer_each_time_and_ends_with_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrors, "_FIRST_WAIT", 0.01)
    monkeypatch.setattr(mirrors, "_LONGEST_WAIT", 0.04)
    store, told = Fragile(), list[str]()
    store.is_up = False
    mirror = Mirror(URL, lambda: store, told.append)
    mirror.start()
    mirror.offer({"g": {("t", 0): 1}})
    for _ in range(3000):
        if store.calls >= 4:
            break
        threading.Event().wait(0.01)
    mirror.close()
    assert not mirror._thread.is_alive() and store.calls >= 4 and len(told) == 1


def test_a_store_that_cannot_even_be_opened_is_one_that_is_down() -> None:
    def refuse() -> Fragile:
        raise WorldError("no such package")

    told = list[str]()
    mirror = Mirror(URL, refuse, told.append)
    mirror.offer({"g": {("t", 0): 1}})
    assert not mirror.attempt() and "no such package" in told[0]


def test_one_group_of_all_is_where_all_have_been() -> None:
    assert lowest({"a": {("t", 0): 5, ("u", 0): 1}, "b": {("t", 0): 3}}) == {("t", 0): 3, ("u", 0): 1}


def test_a_file_keeps_groups_side_by_side_and_is_never_half_written(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "offsets.json"
    store = FileStore(store_url(f"file:{file}"), NOBODY)
    assert store.read("a") == {}
    many = [threading.Thread(target=store.write, args=(f"g{n}", {("t", n): n})) for n in range(8)]
    for each in many:
        each.start()
    for each in many:
        each.join()
    store.write("g1", {("t", 9): 2})
    assert store.groups() == {**{f"g{n}": {("t", n): n} for n in range(8)}, "g1": {("t", 1): 1, ("t", 9): 2}}
    file.write_text("[1, 2")
    with pytest.raises(WorldError, match="is no file of offsets"):
        store.read("a")
