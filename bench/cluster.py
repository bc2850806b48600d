"""The Kafka of a benchmark: an embedded broker in a fresh folder, gone afterwards, or an outside one."""

from __future__ import annotations

import shutil
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from whorl.broker import Broker

HEAP = "1g"


class Cluster:
    """A broker that can be killed and come back."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.address = broker.address

    def kill(self) -> None:
        self._broker.kill()

    def restart(self) -> None:
        self._broker.restart()


def add_broker_option(parser: ArgumentParser) -> None:
    parser.add_argument("--broker", metavar="ADDRESS", help="an outside broker instead of one for this run alone")


@contextmanager
def address(outside: str | None) -> Iterator[str]:
    if outside:
        yield outside
        return
    with cluster() as own:
        yield own.address


@contextmanager
def cluster() -> Iterator[Cluster]:
    folder = Path(mkdtemp(prefix="whorl-bench-broker-"))
    try:
        broker = Broker.start(folder, heap=HEAP)
        try:
            yield Cluster(broker)
        finally:
            broker.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
