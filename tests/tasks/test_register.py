"""The register: what it holds, who may write it, and what its readers must not miss."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from whorl.config.settings import Settings
from whorl.errors import Superseded, Unavailable
from whorl.kafka.transactions import Fenced
from whorl.plan import naming
from whorl.tasks.control import StatusWriter
from whorl.tasks.driver import Driver, Wanted, refuse_second
from whorl.tasks.layout import Layout
from whorl.tasks.register import ComponentEntry, Holder, Register, Registration, read_registration
from whorl.testing import Faults, ManualClock
from whorl.testing.memory import ABORTABLE, MemoryBroker, MemoryClients


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def broker(clock):
    broker = MemoryBroker(clock, clock.wait)
    for topic in (naming.REGISTER, naming.control_topic("p"), naming.status_topic("p"), "in"):
        broker.create_topic(topic)
    return broker


def test_a_registration_reads_as_it_was_written():
    components = {"a": ComponentEntry(Layout(3, 2, 4), ((1, 2), (2, 1)), ("in", "other"))}
    for holder in (None, Holder("id", "host", 7, "born", 1.5)):
        registration = Registration("päpeline", "uid", holder, components)
        assert Registration.decode(registration.encode()) == registration


def test_layouts_stay_open_until_they_are_fenced():
    def wanted(tasks: int) -> ComponentEntry:
        return ComponentEntry(Layout(0, tasks, 4), (), ("in",))

    one = Registration.new("p").with_layout("a", wanted(2))
    assert (one.components["a"].layout, one.components["a"].open) == (Layout(1, 2, 4), ())
    three = one.with_layout("a", wanted(3)).with_layout("a", wanted(1))
    assert three.components["a"].open == ((1, 2), (2, 3))
    assert three.fenced().components["a"] == ComponentEntry(Layout(3, 1, 4), (), ("in",))


def test_a_transaction_may_take_as_long_as_its_driver_was_told(broker, clock):
    """With records between components, of which a savepoint may hold many."""
    clients, registration = MemoryClients(broker), Registration.new("p")

    def slowly(transactions):
        transactions.produce("in", b"one of many", None, 0)
        clock.wait(120)

    def write(longest: float) -> None:
        Driver(clients, "p", longest).adopt(registration, slowly)

    write(900.0)
    assert read_registration(clients, "p").uid == registration.uid
    with pytest.raises((Fenced, Unavailable)):
        write(60.0)


def test_what_is_written_beside_the_register_is_not_there_where_it_failed(broker):
    """Also when the driver writes again, as it does when it ends."""
    driver = Driver(MemoryClients(broker), "p")

    def fail(transactions):
        transactions.produce("in", b"half", None, 0)
        raise OSError("the rest cannot be read")

    with pytest.raises(OSError, match="the rest"):
        driver.adopt(Registration.new("p"), fail)
    driver.release()
    assert broker.records("in") == []


def test_the_last_word_on_each_pipeline_counts(broker):
    clients = MemoryClients(broker)
    assert read_registration(clients, "p") is None
    mine, other = Register(clients, "p"), Register(clients, "q")
    first, last, others = Registration.new("p"), Registration.new("p"), Registration.new("q")
    mine.write(first)
    other.write(others)
    mine.write(last)
    assert read_registration(clients, "p") == last
    assert read_registration(clients, "q") == others
    mine.forget()
    assert read_registration(clients, "p") is None


def test_who_opens_it_fences_whoever_had_it(broker):
    old = Register(MemoryClients(broker), "p")
    new = Register(MemoryClients(broker), "p")
    with pytest.raises(Fenced):
        old.write(Registration.new("p"))
    new.write(Registration.new("p"))


def test_the_driver_of_another_pipeline_that_died_writing_hides_nothing(broker, clock):
    """What was committed behind its open transaction is out of sight until Kafka ends that; a reader that stopped there would
    take an old layout for the one in force."""
    clients = MemoryClients(broker)
    mine = Register(clients, "p")
    mine.write(Registration.new("p"))
    dying = clients.transactional("whorl.q", **{"transaction.timeout.ms": 60_000})
    dying.init_transactions()
    dying.begin_transaction()
    dying.produce(naming.REGISTER, b"half", b"q", 0)
    last = Registration.new("p")
    mine.write(last)
    before = clock()
    assert read_registration(clients, "p") == last
    assert clock() - before >= 60


def test_a_write_that_kafka_aborts_is_done_again(broker):
    register = Register(MemoryClients(broker, Faults(fail={"producer.commit_transaction": ABORTABLE})), "p")
    registration = Registration.new("p")
    register.write(registration)
    assert read_registration(MemoryClients(broker), "p") == registration


def test_a_write_that_kafka_always_aborts_is_given_up(broker):
    faults = Faults()
    register = Register(MemoryClients(broker, faults), "p")
    faults.reach = lambda point: ABORTABLE if point == "producer.commit_transaction" else None
    with pytest.raises(Unavailable, match="register cannot be written"):
        register.write(Registration.new("p"))


def test_a_driver_lays_out_seeds_and_releases(broker):
    clients = MemoryClients(broker)
    driver = Driver(clients, "p")
    broker.create_topic(naming.changelog_topic("p", driver.registration.uid, "a"), 2)
    first = {("in", 0): 5}
    wanted = Wanted("a", "p.a", 2, 2, (("in", 0),), lambda stored: {} if stored else first)
    assert driver.lay_out([wanted]) == {"a": Layout(1, 2, 2)}
    assert broker.offsets("p.a") == first
    assert driver.lay_out([wanted]) == {"a": Layout(2, 2, 2)}
    seen = read_registration(clients, "p")
    assert (seen.holder, seen.components["a"].open, seen.components["a"].topics) == (driver.holder, (), ("in",))
    driver.release()
    assert read_registration(clients, "p").holder is None


def test_only_a_living_holder_refuses_a_second_one(broker):
    clients, settings = MemoryClients(broker), Settings(heartbeat="50ms")
    refuse_second(clients, None, settings, 0)
    driver = Driver(clients, "p")
    registration = driver.registration
    refuse_second(clients, replace(registration, holder=None), settings, 0)
    refuse_second(clients, registration, settings, 0)  # its process is there, but it says nothing
    StatusWriter(clients, "p").write(driver.heartbeat())
    with pytest.raises(Superseded, match=f"pipeline 'p' runs already: process {os.getpid()} on"):
        refuse_second(clients, registration, settings, 0)
    gone = replace(registration, holder=replace(driver.holder, pid=2**22 - 1, born="1"))
    refuse_second(clients, gone, settings, 0)
