from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from whorl.errors import WorldError
from whorl.jvm import jars as module
from whorl.jvm.jars import LOCK, SETS, JarSet, damaged, resolve

PAIR = JarSet("pair", ("org.a:one:1.0", "org.b:two:2.0"))
CONTENT = {"one-1.0.jar": b"first", "two-2.0.jar": b"second"}


class FakeIvy:
    """Leaves the files it was given; each call may be told to behave otherwise."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.content = dict(CONTENT)
        self.failures = 0
        self.account = ""

    def __call__(self, coordinates: Iterable[str], folder: Path, downloaded: Callable[[str], None]) -> str:
        self.calls.append(list(coordinates))
        folder.mkdir(parents=True, exist_ok=True)
        if len(self.calls) > self.failures:
            for coordinate in self.calls[-1]:
                name = "{1}-{2}.jar".format(*coordinate.split(":"))
                (folder / name).write_bytes(self.content[name])
                downloaded(name)
        return self.account


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("WHORL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    return tmp_path / "cache"


@pytest.fixture
def ivy(monkeypatch: pytest.MonkeyPatch, cache: Path) -> FakeIvy:
    fake = FakeIvy()
    monkeypatch.setattr(module, "fetch", fake)
    return fake


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    pins = {
        coordinate: {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
        for coordinate, content in zip(PAIR.coordinates, CONTENT.values(), strict=True)
    }
    path = tmp_path / "lock.json"
    path.write_text(json.dumps({"pair": pins}))
    return path


def test_resolves_once_with_progress(ivy: FakeIvy, cache: Path, lock: Path) -> None:
    told: list[tuple[int, int, str]] = []
    paths = resolve(PAIR, lambda *step: told.append(step), lock=lock)
    assert [path.read_bytes() for path in paths] == list(CONTENT.values())
    assert told == [(1, 2, "one-1.0.jar"), (2, 2, "two-2.0.jar")]
    assert resolve(PAIR, lock=lock) == paths
    assert len(ivy.calls) == 1


def test_only_what_is_missing_or_cut_short_is_fetched(ivy: FakeIvy, cache: Path, lock: Path) -> None:
    paths = resolve(PAIR, lock=lock)
    paths[1].write_bytes(b"sec")
    assert resolve(PAIR, lock=lock)[1].read_bytes() == b"second"
    assert ivy.calls[1:] == [["org.b:two:2.0"]]


def test_a_changed_jar_never_enters_the_cache(ivy: FakeIvy, cache: Path, lock: Path) -> None:
    ivy.content["two-2.0.jar"] = b"sEcond"
    with pytest.raises(WorldError, match=r"'two-2\.0\.jar'") as error:
        resolve(PAIR, lock=lock)
    assert error.value.code == "jar-checksum"
    assert not list(cache.rglob("*.jar"))


def test_a_half_finished_download_is_never_used(ivy: FakeIvy, cache: Path, lock: Path) -> None:
    for name in CONTENT:
        left = cache / "jars.partial" / "out" / name
        left.parent.mkdir(parents=True, exist_ok=True)
        left.write_bytes(b"half")
    ivy.failures = 99
    with pytest.raises(WorldError, match="2 jars of 'pair'"):
        resolve(PAIR, lock=lock)
    ivy.failures = 0
    assert [path.read_bytes() for path in resolve(PAIR, lock=lock)] == list(CONTENT.values())
    assert not (cache / "jars.partial").exists()


def test_a_network_that_fails_twice_is_tried_again(ivy: FakeIvy, lock: Path) -> None:
    ivy.failures = 2
    resolve(PAIR, lock=lock)
    assert len(ivy.calls) == 3


def test_no_network(ivy: FakeIvy, lock: Path) -> None:
    ivy.failures, ivy.account = 99, "\tServer access error at url https://x/y.jar (java.net.UnknownHostException: x)\n"
    with pytest.raises(WorldError, match="UnknownHostException: x") as error:
        resolve(PAIR, lock=lock)
    assert (error.value.code, len(ivy.calls)) == ("jars-unavailable", module.ATTEMPTS)


def test_a_full_disk_is_named(ivy: FakeIvy, lock: Path) -> None:
    ivy.failures, ivy.account = 99, "java.io.IOException: No space left on device"
    with pytest.raises(WorldError, match="No space left on device") as error:
        resolve(PAIR, lock=lock)
    assert error.value.code == "disk"


def test_two_at_once_download_once(ivy: FakeIvy, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both_asked = threading.Barrier(2)
    looked = threading.local()
    is_at = module.Pin.is_at

    def wait_at_first_look(pin: module.Pin, folder: Path) -> bool:
        answer = is_at(pin, folder)
        if not hasattr(looked, "once"):
            looked.once = True
            both_asked.wait(10)
        return answer

    monkeypatch.setattr(module.Pin, "is_at", wait_at_first_look)
    results: list[tuple[Path, ...]] = []
    threads = [threading.Thread(target=lambda: results.append(resolve(PAIR, lock=lock))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(results) == 2
    assert results[0] == results[1]
    assert len(ivy.calls) == 1


def test_damage_of_equal_size_is_found_on_request(ivy: FakeIvy, lock: Path) -> None:
    paths = resolve(PAIR, lock=lock)
    assert damaged(PAIR, lock=lock) == ()
    paths[0].write_bytes(b"FIRST")
    assert damaged(PAIR, lock=lock) == (paths[0],)


def test_a_set_without_pins_is_refused(ivy: FakeIvy, lock: Path) -> None:
    with pytest.raises(WorldError, match="'other' has no pins"):
        resolve(JarSet("other", ("org.a:one:1.0",)), lock=lock)


@pytest.mark.parametrize("jars", SETS, ids=lambda jars: jars.name)
def test_the_lock_is_of_these_sets(jars: JarSet) -> None:
    pinned = set(json.loads(LOCK.read_text())[jars.name])
    assert set(jars.coordinates) <= pinned
    assert jars.transitive or set(jars.coordinates) == pinned


def test_the_real_ivy_fetches_what_the_lock_pins(cache: Path, tmp_path: Path) -> None:
    coordinate = "org.slf4j:slf4j-simple:1.7.36"
    lock = tmp_path / "lock.json"
    lock.write_text(json.dumps({"one": {coordinate: json.loads(LOCK.read_text())["broker"][coordinate]}}))
    told: list[tuple[int, int, str]] = []
    (path,) = resolve(JarSet("one", (coordinate,)), lambda *step: told.append(step), lock=lock)
    assert path.name == "slf4j-simple-1.7.36.jar"
    assert told == [(1, 1, path.name)]
