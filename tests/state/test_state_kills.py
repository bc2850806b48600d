"""A real process is killed again and again; its copy and the changelog together always give what was committed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from life_to_kill import open_lp, read_log

from whorl.state.codec import decode

LIFE = Path(__file__).parent / "life_to_kill.py"


def run_and_kill(folder: Path, file: Path, seed: int) -> None:
    path = os.pathsep.join(os.path.abspath(each) for each in sys.path if each)
    command = [sys.executable, str(LIFE), str(folder), str(file), str(seed)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path})
    assert process.stdout is not None and process.stdout.readline(), "it lived"
    time.sleep(random.Random(seed).random() * 0.2)
    process.kill()
    process.communicate()


def test_killed_at_any_point_nothing_is_lost_and_nothing_is_doubled(tmp_path: Path):
    file, sizes = tmp_path / "log", []
    file.touch()
    for seed in range(6):
        run_and_kill(tmp_path / "lp", file, seed)
        log = read_log(file)
        lp = open_lp(tmp_path / "lp", log)
        committed = {key: decode(value) for key, value in dict(log).items() if value is not None}
        assert {b"op/s\0" + key: value for key, value in lp.table("op", "s").scan()} == committed
        lp.close()
        sizes.append(len(log))
    assert sizes == sorted(set(sizes)), "every life committed something"
