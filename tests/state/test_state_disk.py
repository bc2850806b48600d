from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers_state import META

from whorl.errors import Superseded, WorldError
from whorl.state.disk import LmdbBackend, Occupied

FULL = """
import resource, signal, sys
from pathlib import Path
from helpers_state import META
from whorl.errors import WorldError
from whorl.state.disk import LmdbBackend
backend = LmdbBackend(Path(sys.argv[1]), 1 << 28)
backend.write({b"kept": b"1"}, META)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
try:
    backend.write({b"%06d" % n: b"x" * 500 for n in range(10_000)}, META)
except WorldError as error:
    print(error)
print(backend.get(b"kept"), backend.get(b"000000"), backend.count())
backend.write({b"kept": b"2"}, META)
print(backend.get(b"kept"))
"""


def test_what_was_written_is_there_after_a_reopening(tmp_path: Path):
    meta = replace(META, position=5, current_at=9)
    first = LmdbBackend(tmp_path / "a" / "b")
    first.write({b"k": b"v", b"l" * 600: b"long"}, meta)
    first.close()
    second = LmdbBackend(tmp_path / "a" / "b")
    assert (second.meta, second.get(b"k"), second.get(b"l" * 600)) == (meta, b"v", b"long")


def test_a_large_write_that_breaks_off_leaves_the_old_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    meta = replace(META, position=5, current_at=9)
    many: dict[bytes, bytes | None] = {b"%06d" % n: b"new" for n in range(20_000)}
    backend, once = LmdbBackend(tmp_path), LmdbBackend._write_once

    def break_off(self: LmdbBackend, entries: list[tuple[bytes, bytes]], *rest: Any) -> None:
        if entries[0][0] > b"015000":
            raise WorldError("died")
        once(self, entries, *rest)

    monkeypatch.setattr(LmdbBackend, "_write_once", break_off)
    with pytest.raises(WorldError, match="died"):
        backend.write(many, meta)
    assert (backend.get(b"000000"), backend.get(b"019999")) == (b"new", None)
    backend.close()
    monkeypatch.undo()
    again = LmdbBackend(tmp_path)
    assert again.meta == replace(meta, position=0)
    again.write({**many, b"000001": None}, meta)
    assert (again.meta, again.count(), again.get(b"000001")) == (meta, 19_999, None)


def test_a_folder_has_one_owner(tmp_path: Path):
    first = LmdbBackend(tmp_path)
    with pytest.raises(Occupied, match="another process works in") as error:
        LmdbBackend(tmp_path)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    first.close()
    LmdbBackend(tmp_path).close()


def test_a_folder_is_free_when_its_owner_dies(tmp_path: Path):
    code = f"import os, time\nfrom pathlib import Path\nfrom whorl.state.disk import LmdbBackend\nkept = LmdbBackend(Path({str(tmp_path)!r}))\nprint('open', flush=True)\ntime.sleep(60)"
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None and other.stdout.readline() == b"open\n"
        with pytest.raises(Occupied):
            LmdbBackend(tmp_path)
    finally:
        other.kill()
        other.communicate()
    LmdbBackend(tmp_path).close()


def test_the_map_grows(tmp_path: Path):
    backend = LmdbBackend(tmp_path, 1 << 16)
    for turn in range(3):
        backend.write({b"%d-%04d" % (turn, n): b"x" * 500 for n in range(2000)}, replace(META, position=turn))
        assert backend.count() == 2000 * (turn + 1)
    backend.close()
    again = LmdbBackend(tmp_path, 1 << 16)
    assert again.get(b"2-1999") == b"x" * 500
    again.write({b"more%d" % n: b"x" * 5000 for n in range(500)}, META)
    assert again.count() == 6500


def test_a_disk_that_is_full_ends_cleanly_and_ruins_nothing(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)],
        cwd=Path(__file__).parent,
        env={"PYTHONPATH": ":".join([*sys.path, str(Path(__file__).parent)])},
        capture_output=True,
        text=True,
    )
    error, after, again = done.stdout.splitlines()
    assert "[state-disk]" in error and "cannot be written" in error and "nothing is lost" in error
    assert after == "b'1' None 1" and again == "b'2'"


def test_a_disk_without_room_is_called_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    backend = LmdbBackend(tmp_path)
    assert "the disk is full" not in str(backend._unwritten(OSError("x")))
    monkeypatch.setattr("whorl.state.disk._LITTLE", 1 << 80)
    assert "the disk is full" in str(backend._unwritten(OSError("x")))


def test_a_position_that_another_wrote_is_not_written_over(tmp_path: Path):
    backend = LmdbBackend(tmp_path)
    backend.write({b"k": b"1"}, replace(META, position=1))
    with backend._env.begin(write=True) as other:
        other.put(b"\0meta", replace(META, position=7).encode())
    with pytest.raises(Superseded, match="written by another"):
        backend.write({b"k": b"2"}, replace(META, position=2))
    assert backend.get(b"k") == b"1"


def test_a_ruined_copy_is_an_error_that_names_the_remedy_and_frees_the_folder(tmp_path: Path):
    (tmp_path / "data.mdb").write_bytes(b"\1" * 8192)
    kept = []
    for _ in range(2):
        with pytest.raises(WorldError, match="delete the folder") as error:
            LmdbBackend(tmp_path)
        kept.append(error)


def test_reading_goes_on_after_a_write_that_failed(tmp_path: Path):
    backend = LmdbBackend(tmp_path)
    backend.write({b"k": b"1"}, META)
    with pytest.raises(TypeError):
        backend.write({b"k": b"2", b"l": 5}, META)  # type: ignore[dict-item]
    assert backend.get(b"k") == b"1" and backend.get(b"l") is None
