"""The largest entry of state that a task may write is taken by the broker, whoever writes it: a task, a savepoint, a new life."""

from __future__ import annotations

from random import Random

import pytest

from whorl.broker import Broker
from whorl.config.settings import Settings
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end
from whorl.kafka.topics import LARGEST, Cluster
from whorl.kafka.transactions import Transactions
from whorl.savepoints.frames import _Writer
from whorl.sinks.kafka import OVERHEAD
from whorl.tasks.changelog import wanted_changelog
from whorl.tasks.outlet import Outlet
from whorl.tasks.register import Register

KEY = b"blob/of\0key"
LARGE = Random(1).randbytes(int(LARGEST["max.message.bytes"]) - OVERHEAD - len(KEY))


@pytest.mark.kafka
def test_it_is_written_by_all(broker: Broker) -> None:
    clients = KafkaClients(broker.address)
    Cluster(clients).create([wanted_changelog("large.changelog", 1, True)], 1)

    def write(transactions: Transactions) -> None:
        transactions.begin()
        transactions.produce("large.changelog", LARGE, KEY, 0)
        transactions.produce("large.changelog", b"small", b"small", 0)
        transactions.commit()

    outlet = Outlet(clients, "large.task", Settings())
    outlet.transactions.init()
    write(outlet.transactions)
    write(Register(clients, "large").transactions)
    writer = _Writer(clients)
    writer.write("large.changelog", 0, KEY, LARGE)
    writer.flush()
    read = [message for message in read_to_end(clients, [("large.changelog", 0)]) if message.key() == KEY]
    assert [message.value() == LARGE for message in read] == [True] * 3
