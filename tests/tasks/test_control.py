"""Orders and news on their way through topics."""

from __future__ import annotations

import pytest

from whorl.plan import naming
from whorl.tasks.control import Address, OrderReader, Skip, Status, StatusReader, StatusWriter, Stop, send_order
from whorl.tasks.signals import Figures
from whorl.testing import Faults
from whorl.testing.memory import QUEUE_FULL, MemoryBroker, MemoryClients

ME = Address("odd näme", "uid", "a", 2)


@pytest.fixture
def clients():
    broker = MemoryBroker()
    broker.create_topic(naming.control_topic(ME.pipeline))
    broker.create_topic(naming.status_topic(ME.pipeline))
    return MemoryClients(broker)


def test_orders_reach_the_layout_they_name_also_if_they_came_first(clients):
    skip = Skip("in", 1, 7, "work")
    for to in (
        ME,
        Address(ME.pipeline, "uid", "a", 1),
        Address(ME.pipeline, "uid", "b", 2),
        Address(ME.pipeline, "x", "a", 2),
    ):
        send_order(clients, to, skip if to == ME else Stop())
    reader = OrderReader(clients, ME)
    assert reader.next(0) == skip
    assert reader.next(0) is None
    send_order(clients, ME, Stop())
    assert reader.next(0) == Stop()
    reader.close()


def news(uid="uid", **figures):
    return Status(uid, "a", 2, 0, 0, "host", 1, "running", 1.5, figures)


def test_news_read_as_they_were_written(clients):
    writer, figures = StatusWriter(clients, ME.pipeline), Figures(read=3, committed={("in", 0): 5, ("in", 1): 6})
    told = news(**figures.snapshot())
    for status in (news("another uid"), told):
        writer.write(status)
    writer.flush()
    reader = StatusReader(clients, ME.pipeline, "uid", 0)
    (read,) = reader.read(0)
    assert read == told
    assert read.positions == {("in", 0): 5, ("in", 1): 6}
    assert list(StatusReader(clients, ME.pipeline, "uid", 2).read(0)) == []


def test_a_broker_that_is_away_stops_no_one(clients):
    away = MemoryClients(clients.broker, Faults(fail={"producer.produce": QUEUE_FULL}))
    writer = StatusWriter(away, ME.pipeline)
    writer.write(news())
    writer.write(news())
    assert len(clients.broker.records(naming.status_topic(ME.pipeline))) == 1
