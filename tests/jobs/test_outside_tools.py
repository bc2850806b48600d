"""Tools that nobody here wrote see what Whorl does: kcat its records, Kafka's own ConsumerGroupCommand its offsets."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Running

from whorl.broker import Broker
from whorl.jvm.jars import TOOLS, resolve
from whorl.jvm.java import find_java


def kcat(broker: Broker, *arguments: str, given: str = "") -> str:
    done = subprocess.run(
        ["kcat", "-b", broker.address, *arguments], input=given, text=True, capture_output=True, check=True
    )
    return done.stdout


def describe(broker: Broker, group: str) -> dict[int, list[str]]:
    """Rows of `kafka-consumer-groups --describe` by partition."""
    classpath = ":".join(map(str, resolve(TOOLS)))
    main = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    command = [
        str(find_java().executable),
        "-cp",
        classpath,
        main,
        "--bootstrap-server",
        broker.address,
        "--describe",
        "--group",
        group,
    ]
    lines = subprocess.run(command, text=True, capture_output=True, check=True).stdout.splitlines()
    return {int(cells[2]): cells for line in lines if (cells := line.split()) and cells[0] == group}


@pytest.mark.skipif(not shutil.which("kcat"), reason="kcat is not installed (Debian package 'kcat')")
def test_kcat_and_consumer_group_command(
    broker: Broker, whorl_run: Callable[..., Running], forward: tuple[Path, str, str]
) -> None:
    file, source, sink = forward
    written = "".join(f'k{n % 3}\t{{"key": "k{n % 3}", "n": {n}}}\n' for n in range(30))
    kcat(broker, "-P", "-t", source, "-K", "\t", "-H", "origin=kcat", "-X", "partitioner=murmur2_random", given=written)
    assert whorl_run(file, "--until-caught-up").wait(90) == 0

    lines = kcat(
        broker, "-C", "-t", sink, "-e", "-q", "-X", "isolation.level=read_committed", "-f", "%k %h %s\n"
    ).splitlines()
    expected = [f'k{n % 3} origin=kcat {{"key":"k{n % 3}","n":{n},"seen":true}}' for n in range(30)]
    for key in ("k0", "k1", "k2"):
        assert [line for line in lines if line.startswith(key)] == [line for line in expected if line.startswith(key)]

    kcat(broker, "-P", "-t", source, "-p", "2", given='{"key": "k0", "n": 0}\n' * 7)
    rows = describe(broker, f"{source}.copy")
    assert {partition: int(cells[5]) for partition, cells in rows.items()} == {0: 0, 1: 0, 2: 7, 3: 0}
    assert sum(int(cells[3]) for cells in rows.values()) == 30
