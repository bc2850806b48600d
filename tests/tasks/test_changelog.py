from __future__ import annotations

import orjson
import pytest

from whorl.errors import WorldError
from whorl.state.partition import LP_KEY
from whorl.tasks.changelog import by_lp, decode_positions, encode_positions, read_positions
from whorl.tasks.layout import Layout
from whorl.testing.memory import MemoryBroker, MemoryClients

POSITIONS = {("in", 0): 5, ("in", 2): 0, ("other.topic", 0): 2**40}


def test_positions_read_as_they_were_written():
    assert decode_positions(encode_positions(POSITIONS)) == POSITIONS
    assert decode_positions(encode_positions({})) == {}


def test_a_newer_format_is_refused():
    with pytest.raises(WorldError, match="format 2"):
        decode_positions(orjson.dumps({"version": 2, "positions": {}}))


def test_positions_lie_under_their_lp():
    assert by_lp(Layout(1, 1, 2), POSITIONS) == {0: POSITIONS}
    assert by_lp(Layout(1, 1, 3), POSITIONS) == {0: {("in", 0): 5, ("other.topic", 0): 2**40}, 2: {("in", 2): 0}}


def test_the_last_committed_record_of_each_lp_counts():
    broker = MemoryBroker()
    broker.create_topic("log", 3)
    clients = MemoryClients(broker)
    producer = clients.transactional("t")
    producer.init_transactions()
    for offset, commit in ((1, True), (2, True), (9, False)):
        producer.begin_transaction()
        for lp in (0, 1):
            producer.produce("log", encode_positions({("in", lp): offset}), LP_KEY, lp)
        producer.produce("log", b"of another kind", b"key", 0)
        producer.commit_transaction() if commit else producer.abort_transaction()
    assert read_positions(clients, "log", range(3)) == {("in", 0): 2, ("in", 1): 2}
    assert read_positions(clients, "log", [1]) == {("in", 1): 2}
    assert read_positions(clients, "log", []) == {}
