"""A checkpoint that is gone, older than what was written, or another's is refused with the remedy; nothing is doubled in silence."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from running import CLEAN, Feed, Running, count_committed, judge

from whorl.broker import Broker

pytestmark = pytest.mark.long
Start = Callable[..., Running]
Query = tuple[Path, str, str]


def caught_up(whorl_run: Start, file: Path, *arguments: str) -> Running:
    running = whorl_run(file, "--until-caught-up", *arguments)
    running.wait(150)
    return running


def test_gone_older_and_accepted(broker: Broker, whorl_run: Start, query: Query, tmp_path: Path) -> None:
    file, source, sink = query
    feed = Feed(broker.address, source)
    feed.write(100)
    assert caught_up(whorl_run, file).process.returncode == 0
    (checkpoint,) = (tmp_path / ".whorl" / "checkpoints").glob("*/copy")
    old = tmp_path / "old"
    shutil.copytree(checkpoint, old)
    feed.write(100)
    feed.stop()
    assert caught_up(whorl_run, file).process.returncode == 0
    assert judge(broker.address, sink, feed.counts) == CLEAN

    shutil.rmtree(checkpoint)
    refused = caught_up(whorl_run, file)
    assert refused.process.returncode == 3 and "[checkpoint-gone]" in refused.output and "--fresh" in refused.output

    shutil.copytree(old, checkpoint)
    refused = caught_up(whorl_run, file)
    assert refused.process.returncode == 3 and "[checkpoint-older]" in refused.output, refused.output
    assert "--accept-repeat" in refused.output and "Traceback" not in refused.output
    assert judge(broker.address, sink, feed.counts) == CLEAN

    accepted = caught_up(whorl_run, file, "--accept-repeat")
    assert accepted.process.returncode == 0, accepted.output
    assert count_committed(broker.address, sink) == 300  # the second hundred again, as it was asked for
