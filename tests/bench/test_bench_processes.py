from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from bench.failures import ProcessFailed
from bench.processes import Process, memory_mb

ORPHAN = "import os, time\nif os.fork() == 0:\n os.setpgid(0, 0)\n time.sleep(60)"
PATIENT = (
    "import signal, time\nsignal.signal(signal.SIGINT, lambda *_: exit(7))\nprint('up', flush=True)\ntime.sleep(60)"
)


def test_a_process_takes_its_orphans_with_it(tmp_path: Path) -> None:
    with Process((sys.executable, "-c", ORPHAN), tmp_path / "log") as process:
        process.wait(10)
        (orphan,) = process.members()
        assert memory_mb([orphan]) > 0
    assert not process.members()


def test_an_end_that_was_not_asked_for_shows_the_log(tmp_path: Path) -> None:
    with Process((sys.executable, "-c", "print('the reason'); exit(3)"), tmp_path / "whorl.log") as process:
        process.wait(10)
        with pytest.raises(ProcessFailed, match=r"(?s)whorl ended with exit code 3.*the reason"):
            process.check()


def test_an_interrupt_gives_the_exit_code(tmp_path: Path) -> None:
    process = Process((sys.executable, "-c", PATIENT), tmp_path / "log")
    deadline = time.monotonic() + 10
    while "up" not in process.tail() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.interrupt() == 7
