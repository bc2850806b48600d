"""The memory broker behaves as the real one: every test of the first part runs on both."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from hypothesis import given
from hypothesis import strategies as st

from whorl.kafka.clients import Clients, KafkaClients
from whorl.kafka.partitioner import partition_of
from whorl.testing.memory import (
    ABORTABLE,
    BROKER_DOWN,
    FENCED,
    QUEUE_FULL,
    TIMED_OUT,
    Crash,
    Failure,
    Faults,
    MemoryBroker,
    MemoryClients,
    murmur2,
)
from whorl.testing.memory.partitioner import partitioner


@dataclass
class Kafka:
    clients: Clients
    create: Callable[[str, int], object]

    def topic(self, partitions=1):
        name = f"memory-{uuid4().hex[:12]}"
        self.create(name, partitions)
        return name

    def transactional(self, id=None, **config):
        producer = self.clients.transactional(id or uuid4().hex, **config)
        producer.init_transactions()
        return producer

    def reader(self, topic, offset=0, partitions=1, **config):
        consumer = self.clients.consumer(**{"group.id": f"group-{topic}", **config})
        consumer.assign([TopicPartition(topic, partition, offset) for partition in range(partitions)])
        return consumer

    def written(self, topic, end):
        """Values that a new reader of committed data sees up to the end of partition 0."""
        return [message.value() for message in read_to(self.reader(topic), end)]


@pytest.fixture(params=["memory", pytest.param("real", marks=pytest.mark.kafka)])
def kafka(request):
    if request.param == "memory":
        broker = MemoryBroker()
        return Kafka(MemoryClients(broker), broker.create_topic)
    broker = request.getfixturevalue("broker")
    address = getattr(broker, "address", broker)
    admin = AdminClient({"bootstrap.servers": address})
    return Kafka(KafkaClients(address), lambda name, partitions: _create(admin, name, partitions))


def _create(admin, name, partitions):
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result()
    await_(lambda: name in admin.list_topics(timeout=5).topics)


def await_(condition, seconds=15.0):
    deadline = time.monotonic() + seconds
    while (found := condition()) is None or found is False:  # a message with an empty value is false, too
        assert time.monotonic() < deadline, "waited in vain"
    return found


def read_to(consumer, end):
    """Records until the end of a partition is reported at `end`; markers of a real commit may come a little late."""
    messages, seen, deadline = [], [], time.monotonic() + 15
    while end not in seen:
        assert time.monotonic() < deadline, f"no end at {end}, only at {seen}"
        message = consumer.poll(0.2)
        if message is None:
            continue
        if message.error() is None:
            messages.append(message)
        else:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            seen.append(message.offset())
    return messages


def next_record(consumer):
    message = consumer.poll(0.2)
    return message if message is not None and message.error() is None else None


def error_of(call, *arguments):
    with pytest.raises(KafkaException) as caught:
        call(*arguments)
    return caught.value.args[0]


# Both brokers


def test_a_transaction_is_seen_when_it_is_committed_and_its_marker_takes_an_offset(kafka):
    topic, producer = kafka.topic(), kafka.transactional()
    reader = kafka.reader(topic)
    producer.begin_transaction()
    producer.produce(topic, b"a")
    producer.produce(topic, b"b")
    assert producer.flush(10) == 0
    assert read_to(reader, 0) == []
    producer.commit_transaction()
    assert [(m.offset(), m.value()) for m in read_to(reader, 3)] == [(0, b"a"), (1, b"b")]


def test_offsets_have_a_gap_for_each_marker(kafka):
    topic, producer = kafka.topic(), kafka.transactional()
    for value in (b"a", b"b", b"c"):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.commit_transaction()
    reader = kafka.reader(topic)
    assert [m.offset() for m in read_to(reader, 6)] == [0, 2, 4]
    assert reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (0, 6)


def test_only_partitions_that_were_written_get_a_marker(kafka):
    topic, producer = kafka.topic(2), kafka.transactional()
    producer.begin_transaction()
    producer.produce(topic, b"a", partition=1)
    producer.commit_transaction()
    reader = kafka.reader(topic)
    await_(lambda: reader.get_watermark_offsets(TopicPartition(topic, 1), timeout=10) == (0, 2))
    assert reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (0, 0)


def test_an_open_transaction_blocks_what_lies_behind_it(kafka):
    topic, open_one, plain = kafka.topic(), kafka.transactional(), kafka.clients.producer()
    open_one.begin_transaction()
    open_one.produce(topic, b"open")
    assert open_one.flush(10) == 0
    plain.produce(topic, b"plain")
    assert plain.flush(10) == 0
    reader = kafka.reader(topic)
    assert read_to(reader, 0) == []
    assert reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (0, 0)
    uncommitted = kafka.reader(topic, **{"isolation.level": "read_uncommitted"})
    assert [m.value() for m in read_to(uncommitted, 2)] == [b"open", b"plain"]
    open_one.abort_transaction()
    assert [(m.offset(), m.value()) for m in read_to(reader, 3)] == [(1, b"plain")]


def test_transactions_of_two_producers_interleave(kafka):
    topic, one, two = kafka.topic(), kafka.transactional(), kafka.transactional()
    for producer, value in ((one, b"1"), (two, b"2")):
        producer.begin_transaction()
        producer.produce(topic, value)
        assert producer.flush(10) == 0
    two.commit_transaction()
    assert kafka.written(topic, 0) == []
    one.abort_transaction()
    assert kafka.written(topic, 4) == [b"2"]


def test_the_end_is_told_once_and_again_when_it_moved(kafka):
    topic, producer = kafka.topic(), kafka.transactional()
    reader = kafka.reader(topic)
    assert read_to(reader, 0) == []
    assert reader.poll(0.3) is None
    assert reader.position([TopicPartition(topic, 0)])[0].offset == OFFSET_INVALID
    producer.begin_transaction()
    producer.produce(topic, b"gone")
    assert producer.flush(10) == 0
    assert reader.poll(0.3) is None
    producer.abort_transaction()
    assert read_to(reader, 2) == []
    assert reader.poll(0.3) is None
    assert reader.position([TopicPartition(topic, 0)])[0].offset == 2


def test_the_end_is_told_again_after_seek_and_resume(kafka):
    topic, producer = kafka.topic(), kafka.transactional()
    producer.begin_transaction()
    producer.produce(topic, b"a")
    producer.commit_transaction()
    reader = kafka.reader(topic)
    assert len(read_to(reader, 2)) == 1
    reader.seek(TopicPartition(topic, 0, 0))
    assert len(read_to(reader, 2)) == 1
    reader.pause([TopicPartition(topic, 0)])
    assert reader.poll(0.2) is None
    reader.resume([TopicPartition(topic, 0)])
    assert read_to(reader, 2) == []


def test_beginning_end_and_stored_offsets(kafka):
    topic, producer, plain = kafka.topic(), kafka.transactional(), kafka.clients.producer()
    for value in (b"a", b"b"):
        plain.produce(topic, value)
    assert plain.flush(10) == 0
    assert [m.value() for m in read_to(kafka.reader(topic, OFFSET_BEGINNING), 2)] == [b"a", b"b"]
    assert read_to(kafka.reader(topic, OFFSET_END), 2) == []
    group = kafka.reader(topic).consumer_group_metadata()
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition(topic, 0, 1)], group)
    producer.commit_transaction()
    assert [m.value() for m in read_to(kafka.reader(topic, OFFSET_INVALID), 2)] == [b"b"]


@pytest.mark.parametrize("offset", [99, OFFSET_INVALID])
def test_an_offset_that_is_not_there_is_an_error_and_said_once(kafka, offset):
    topic = kafka.topic()
    reader = kafka.reader(topic, offset)
    message = await_(lambda: reader.poll(0.2))
    assert message.error().code() == KafkaError._AUTO_OFFSET_RESET
    assert not message.error().fatal() and not message.error().retriable()
    assert (message.topic(), message.partition()) == (topic, 0)
    assert message.offset() == (99 if offset == 99 else None)
    assert reader.poll(0.3) is None


def test_a_second_init_fences_the_first_and_aborts_what_it_left_open(kafka):
    topic, id = kafka.topic(), uuid4().hex
    zombie = kafka.transactional(id)
    zombie.begin_transaction()
    zombie.produce(topic, b"zombie")
    assert zombie.flush(10) == 0
    heir = kafka.transactional(id)
    heir.begin_transaction()
    heir.produce(topic, b"heir")
    for call in (
        zombie.commit_transaction,
        zombie.commit_transaction,
        zombie.abort_transaction,
        zombie.begin_transaction,
    ):
        error = error_of(call)
        assert (error.code(), error.fatal(), error.retriable(), error.txn_requires_abort()) == (
            KafkaError._FENCED, True, False, False,
        )  # fmt: skip
    assert error_of(zombie.produce, topic, b"late").code() == KafkaError._FATAL
    heir.commit_transaction()
    assert kafka.written(topic, 4) == [b"heir"]


def test_offsets_of_a_zombie_are_refused(kafka):
    topic, id = kafka.topic(), uuid4().hex
    zombie, reader = kafka.transactional(id), kafka.reader(topic)
    zombie.begin_transaction()
    kafka.transactional(id)
    error = error_of(
        zombie.send_offsets_to_transaction, [TopicPartition(topic, 0, 5)], reader.consumer_group_metadata()
    )
    assert error.code() == KafkaError._FENCED and error.fatal()
    assert reader.committed([TopicPartition(topic, 0)], timeout=10)[0].offset == OFFSET_INVALID


def test_the_first_flush_of_a_zombie_raises_and_later_ones_do_not(kafka):
    topic, id = kafka.topic(), uuid4().hex
    zombie = kafka.transactional(id)
    zombie.begin_transaction()
    kafka.transactional(id)
    zombie.produce(topic, b"late")
    error = error_of(zombie.flush, 10)
    assert error.code() == KafkaError._FENCED and error.fatal()
    assert zombie.flush(10) == 0
    assert error_of(zombie.commit_transaction).fatal()
    assert kafka.written(topic, 0) == []


def test_an_empty_transaction_of_a_zombie_commits_as_nobody_is_asked(kafka):
    id = uuid4().hex
    zombie = kafka.transactional(id)
    kafka.transactional(id)
    zombie.begin_transaction()
    zombie.commit_transaction()


def test_offsets_are_there_only_after_the_commit(kafka):
    topic, producer = kafka.topic(), kafka.transactional()
    here = [TopicPartition(topic, 0)]
    reader = kafka.reader(topic, **{"isolation.level": "read_uncommitted"})
    strict = kafka.reader(topic)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition(topic, 0, 7, "note")], reader.consumer_group_metadata())
    assert reader.committed(here, timeout=10)[0].offset == OFFSET_INVALID
    with pytest.raises(KafkaException) as waits:
        strict.committed(here, timeout=1)
    assert waits.value.args[0].code() == KafkaError._TIMED_OUT
    producer.commit_transaction()
    committed = strict.committed(here, timeout=10)[0]
    assert (committed.offset, committed.metadata) == (7, "note")


def test_an_abort_drops_records_and_offsets(kafka):
    topic, producer = kafka.topic(2), kafka.transactional()
    reader = kafka.reader(topic)
    producer.begin_transaction()
    for partition in (0, 1):
        producer.produce(topic, b"gone", partition=partition)
    producer.send_offsets_to_transaction([TopicPartition(topic, 0, 7)], reader.consumer_group_metadata())
    assert producer.flush(10) == 0
    producer.abort_transaction()
    producer.begin_transaction()
    producer.produce(topic, b"kept", partition=0)
    producer.commit_transaction()
    assert kafka.written(topic, 4) == [b"kept"]
    assert reader.committed([TopicPartition(topic, 0)], timeout=10)[0].offset == OFFSET_INVALID


def test_calls_in_the_wrong_state(kafka):
    topic = kafka.topic()
    producer = kafka.clients.transactional(uuid4().hex)
    group = kafka.reader(topic).consumer_group_metadata()
    offsets = [TopicPartition(topic, 0, 1)]

    def wrong(call, *arguments):
        error = error_of(call, *arguments)
        assert (error.code(), error.fatal(), error.retriable()) == (KafkaError._STATE, False, False)
        return error.str()

    assert wrong(producer.begin_transaction) == "Operation not valid in state Init"
    assert wrong(producer.send_offsets_to_transaction, offsets, group) == "Operation not valid in state Init"
    wrong(producer.produce, topic, b"x")
    producer.init_transactions()
    assert wrong(producer.init_transactions) == "Operation not valid in state Ready"
    assert wrong(producer.commit_transaction) == "Operation not valid in state Ready"
    assert wrong(producer.abort_transaction) == "Operation not valid in state Ready"
    assert wrong(producer.produce, topic, b"x") == "Unable to produce message: Local: Erroneous state"
    producer.send_offsets_to_transaction([], group)
    producer.begin_transaction()
    assert wrong(producer.begin_transaction) == "Operation not valid in state InTransaction"
    producer.commit_transaction()
    assert error_of(kafka.clients.producer().begin_transaction).code() == KafkaError._NOT_CONFIGURED


def test_a_record_the_broker_refuses_makes_the_transaction_one_to_abort(kafka):
    topic, producer = kafka.topic(), kafka.transactional(**{"message.max.bytes": 5_000_000, "compression.type": "none"})
    errors = []
    producer.begin_transaction()
    producer.produce(topic, b"x" * 3_000_000, on_delivery=lambda error, message: errors.append(error.code()))
    assert producer.flush(10) == 0
    assert errors == [KafkaError.MSG_SIZE_TOO_LARGE]
    assert error_of(producer.produce, topic, b"y").code() == KafkaError._STATE
    for call in (producer.commit_transaction, producer.begin_transaction):
        error = error_of(call)
        assert (error.code(), error.txn_requires_abort(), error.fatal()) == (KafkaError.MSG_SIZE_TOO_LARGE, True, False)
    producer.abort_transaction()
    producer.begin_transaction()
    producer.produce(topic, b"y")
    error = error_of(producer.commit_transaction)
    assert (error.code(), error.txn_requires_abort()) == (KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, True)
    producer.abort_transaction()
    producer.begin_transaction()
    producer.produce(topic, b"z")
    producer.commit_transaction()
    assert [(m.offset(), m.value()) for m in read_to(kafka.reader(topic), 4)] == [(2, b"z")]


def test_a_record_too_large_for_the_client_is_refused_at_once(kafka):
    topic, producer = kafka.topic(), kafka.clients.producer(**{"message.max.bytes": 1_000_000})
    producer.produce(topic, b"x" * 999_964)
    assert error_of(producer.produce, topic, b"x" * 999_965).code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert error_of(producer.produce, topic, b"x" * 999_960, b"12345").code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert producer.flush(10) == 0


def test_null_empty_and_text(kafka):
    topic, producer = kafka.topic(), kafka.clients.producer()
    for key, value in ((None, None), (b"", b""), ("clé", "välue"), (b"\xff\x00", b"\xfe")):
        producer.produce(topic, value, key)
    assert producer.flush(10) == 0
    messages = read_to(kafka.reader(topic), 4)
    assert [(m.key(), m.value()) for m in messages] == [
        (None, None), (b"", b""), ("clé".encode(), "välue".encode()), (b"\xff\x00", b"\xfe"),
    ]  # fmt: skip


def test_headers_and_timestamps(kafka):
    topic, producer = kafka.topic(), kafka.clients.producer()
    before = int(time.time() * 1000)
    producer.produce(topic, b"1", headers=[("a", b"1"), ("a", None), ("b", b"")], timestamp=before - 1000)
    producer.produce(topic, b"2", headers={"n": "text"})
    producer.produce(topic, b"3", headers=[])
    assert producer.flush(10) == 0
    one, two, three = read_to(kafka.reader(topic), 3)
    assert one.headers() == [("a", b"1"), ("a", None), ("b", b"")]
    assert two.headers() == [("n", b"text")]
    assert three.headers() is None
    assert one.timestamp() == (1, before - 1000)
    assert two.timestamp()[0] == 1 and before <= two.timestamp()[1] <= int(time.time() * 1000) + 1


def test_delivery_reports_tell_the_offset(kafka):
    topic, reports = kafka.topic(), []
    producer = kafka.transactional(**{"delivery.report.only.error": False})
    producer.begin_transaction()
    for value in (b"a", b"b"):
        producer.produce(topic, value, on_delivery=lambda error, message: reports.append((error, message.offset())))
    producer.commit_transaction()
    producer.begin_transaction()
    producer.produce(topic, b"c", None, 0, lambda error, message: reports.append((error, message.offset())))
    producer.commit_transaction()
    assert reports == [(None, 0), (None, 1), (None, 3)]


def test_reports_of_success_can_be_left_out(kafka):
    topic, reports = kafka.topic(), []
    producer = kafka.clients.producer(**{"delivery.report.only.error": True})
    producer.produce(topic, b"a", on_delivery=lambda *report: reports.append(report))
    assert producer.flush(10) == 0
    assert reports == [] and kafka.written(topic, 1) == [b"a"]


def test_murmur2_partitions_are_those_of_librdkafka(kafka):
    topic, producer = kafka.topic(5), kafka.clients.producer(partitioner="murmur2_random")
    keys = [b"", b"a", b"ab", b"abc", b"abcd", b"abcde", *(f"key-{n}".encode() for n in range(50)), b"\xff" * 9]
    for key in keys:
        producer.produce(topic, b"", key)
    assert producer.flush(10) == 0
    reader, placed = kafka.reader(topic, partitions=5), {}
    while len(placed) < len(keys):
        message = await_(lambda: next_record(reader))
        placed[message.key()] = message.partition()
    assert placed == {key: partition_of(key, 5) for key in keys}


def test_topics_are_listed(kafka):
    topic = kafka.topic(3)
    reader = kafka.clients.consumer()
    assert sorted(reader.list_topics(topic, timeout=10).topics[topic].partitions) == [0, 1, 2]
    assert topic in reader.list_topics(timeout=10).topics
    missing = reader.list_topics(f"no-{topic}", timeout=10).topics[f"no-{topic}"]
    assert missing.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert error_of(reader.seek, TopicPartition(topic, 0, 0)).code() == KafkaError._STATE
    reader.close()
    with pytest.raises(RuntimeError):
        reader.poll(0)


def test_a_commit_without_time_is_resumed_by_calling_it_again(kafka):
    topic, producer, error = interrupted_commit(kafka)
    assert (error.code(), error.retriable(), error.fatal()) == (KafkaError._TIMED_OUT, True, False)
    assert error_of(producer.produce, topic, b"b").code() == KafkaError._STATE
    for call in (producer.abort_transaction, producer.begin_transaction):
        conflict = error_of(call)
        assert (conflict.code(), conflict.retriable()) == (KafkaError._CONFLICT, True)
    producer.commit_transaction()
    assert kafka.written(topic, 2) == [b"a"]


def interrupted_commit(kafka, tries=20):
    """On the real broker the timeout of zero makes it, mostly: a busy machine can be done by the time it looks. Here it is injected."""
    for _ in range(tries):
        topic = kafka.topic()
        if isinstance(kafka.clients, MemoryClients):
            kafka.clients.faults = Faults(fail={"producer.commit_transaction": TIMED_OUT})
        producer = kafka.transactional(**{"linger.ms": 500})
        producer.begin_transaction()
        producer.produce(topic, b"a")
        try:
            producer.commit_transaction(0)
        except KafkaException as interrupted:
            return topic, producer, interrupted.args[0]
    raise AssertionError(f"{tries} commits were all done in no time")


# The memory broker alone


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def advance(self, seconds):
        self.now += seconds


def started(topics=("in", "out"), **broker):
    memory = MemoryBroker(**broker)
    for topic in topics:
        memory.create_topic(topic)
    return memory


def values(broker, topic="out", committed=True):
    return [entry.value for entry in broker.records(topic, committed)]


def transaction(broker, faults=None, id="id", **config):
    producer = MemoryClients(broker, faults).transactional(id, **config)
    producer.init_transactions()
    producer.begin_transaction()
    return producer


@given(st.binary(max_size=40), st.integers(1, 1000))
def test_hashes_are_librdkafkas(key, partitions):
    assert (murmur2(key) & 0x7FFFFFFF) % partitions == partition_of(key, partitions)
    assert partitioner("consistent")(key, partitions) == partition_of(key, partitions, "crc32")


def test_known_murmur2_values():
    """The vectors of Kafka's own UtilsTest."""
    known = {"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "abc": 479470107}
    assert {text: murmur2(text.encode()) for text in known} == {text: hash % 2**32 for text, hash in known.items()}


def test_null_keys_take_turns():
    place = partitioner("murmur2_random")
    assert [place(None, 3) for _ in range(4)] == [0, 1, 2, 0]


def test_nothing_ever_waits_and_the_idle_hook_runs():
    waits = []
    broker = started(idle=waits.append)
    reader = MemoryClients(broker).consumer()
    reader.assign([TopicPartition("in", 0, 0)])
    assert reader.poll(5.0).error().code() == KafkaError._PARTITION_EOF
    assert waits == []
    assert reader.poll(3600.0) is None and reader.consume(10, 60.0) == []
    assert waits == [3600.0, 60.0]


def test_partitions_take_turns_and_keep_their_order():
    broker = MemoryBroker()
    broker.create_topic("in", 2)
    clients = MemoryClients(broker)
    producer, reader = clients.producer(), clients.consumer(**{"enable.partition.eof": False})
    for number in range(6):
        producer.produce("in", b"%d" % number, partition=number % 2)
    reader.assign([TopicPartition("in", partition, 0) for partition in (0, 1)])
    first = [reader.poll(0).value() for _ in range(4)]
    assert sorted(first) == [b"0", b"1", b"2", b"3"]
    assert sorted(m.value() for m in reader.consume(10, 0)) == [b"4", b"5"]


def test_a_deleted_topic_is_silent_and_deleted_records_are_out_of_range():
    broker = started()
    clients = MemoryClients(broker)
    for value in (b"a", b"b"):
        clients.producer().produce("in", value)
    broker.delete_records("in", 0, before=1)
    reader = clients.consumer()
    reader.assign([TopicPartition("in", 0, 0)])
    assert reader.poll(0).error().code() == KafkaError._AUTO_OFFSET_RESET
    assert reader.get_watermark_offsets(TopicPartition("in", 0)) == (1, 2)
    reader.assign([TopicPartition("in", 0, OFFSET_BEGINNING)])
    assert reader.poll(0).value() == b"b"
    broker.delete_topic("in")
    assert reader.poll(0) is None
    assert reader.list_topics("in").topics["in"].error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_a_transaction_past_its_timeout_is_aborted_and_its_owner_fenced():
    clock = Clock()
    broker = started(clock=clock)
    producer = transaction(broker, **{"transaction.timeout.ms": 5000})
    producer.produce("out", b"late")
    clock.advance(4.9)
    assert broker.open_transactions() == ["id"]
    clock.advance(0.1)
    assert broker.open_transactions() == []
    error = error_of(producer.commit_transaction)
    assert error.code() == KafkaError._FENCED and error.fatal()
    assert values(broker) == [] and values(broker, committed=False) == [b"late"]


def test_a_topic_may_stamp_records_itself():
    clock = Clock()
    broker = MemoryBroker(clock)
    broker.create_topic("out", 1, {"message.timestamp.type": "LogAppendTime"})
    MemoryClients(broker).producer().produce("out", b"a", timestamp=5)
    entry = broker.records("out")[0]
    assert (entry.timestamp_type, entry.timestamp) == (2, 1_000_000)


def test_what_is_held_back_is_lost_in_a_crash_unless_it_was_flushed():
    broker = started()
    producer = MemoryClients(broker, Faults(hold=True)).producer()
    producer.produce("out", b"a")
    assert values(broker) == [] and len(producer) == 1
    producer.poll(0)
    assert values(broker) == []
    producer.flush()
    assert values(broker) == [b"a"]
    producer.produce("out", b"b")
    producer.purge()
    assert producer.flush() == 0 and values(broker) == [b"a"]


def test_purged_records_make_the_transaction_one_to_abort():
    broker = started()
    producer = transaction(broker, Faults(hold=True))
    producer.produce("out", b"a")
    producer.purge()
    error = error_of(producer.commit_transaction)
    assert error.code() == KafkaError._INCONSISTENT and error.txn_requires_abort()
    producer.abort_transaction()
    assert values(broker, committed=False) == []


@pytest.mark.parametrize("point, done", [("request", False), ("answer", True)])
def test_a_commit_that_timed_out_may_be_done_or_not(point, done):
    broker = started()
    producer = transaction(broker, Faults(fail={f"producer.commit_transaction/{point}": TIMED_OUT}))
    producer.produce("out", b"a")
    error = error_of(producer.commit_transaction)
    assert error.code() == KafkaError._TIMED_OUT and error.retriable()
    assert values(broker) == ([b"a"] if done else [])
    assert error_of(producer.abort_transaction).code() == KafkaError._CONFLICT
    producer.commit_transaction()
    assert values(broker) == [b"a"]
    producer.begin_transaction()


def test_an_abortable_error_lasts_until_the_abort():
    broker = started()
    producer = transaction(broker, Faults(fail={"producer.send_offsets_to_transaction": ABORTABLE}))
    producer.produce("out", b"a")
    group = MemoryClients(broker).consumer().consumer_group_metadata()
    for _ in range(2):
        error = error_of(producer.send_offsets_to_transaction, [TopicPartition("in", 0, 1)], group)
        assert error.txn_requires_abort() and not error.fatal()
    assert error_of(producer.commit_transaction).txn_requires_abort()
    producer.abort_transaction()
    producer.begin_transaction()
    producer.produce("out", b"b")
    producer.commit_transaction()
    assert values(broker) == [b"b"]


@pytest.mark.parametrize("point", ["produce", "commit_transaction", "commit_transaction/request"])
def test_an_injected_fence_is_true(point):
    broker = started()
    producer = transaction(broker, Faults(fail={f"producer.{point}": FENCED}))
    producer.produce("out", b"a")
    for _ in range(2):
        error = error_of(producer.commit_transaction)
        assert error.code() == KafkaError._FENCED and error.fatal()
    assert broker.open_transactions() == [] and values(broker) == []


def test_a_full_queue_a_failed_delivery_and_a_broker_that_is_down():
    broker, errors = started(), []
    down = Failure(KafkaError._MSG_TIMED_OUT, "too late")
    clients = MemoryClients(broker, Faults(fail={1: QUEUE_FULL, 3: down, "consumer.poll": BROKER_DOWN}))
    producer, reader = clients.producer(), clients.consumer()
    with pytest.raises(BufferError):
        producer.produce("out", b"1")
    for value in (b"2", b"3"):
        producer.produce(
            "out", value, on_delivery=lambda error, message: errors.append((error.code(), message.value()))
        )
    assert producer.flush() == 0
    assert errors == [(KafkaError._MSG_TIMED_OUT, b"3")] and values(broker) == [b"2"]
    message = reader.poll(0)
    assert message.error().code() == KafkaError._ALL_BROKERS_DOWN and message.error().retriable()
    assert reader.poll(0) is None


def test_after_a_crash_nothing_of_the_process_works():
    broker = started()
    faults = Faults(crash_at=6)
    producer = transaction(broker, faults)
    with pytest.raises(Crash):
        try:
            producer.produce("out", b"a")
            producer.poll(0)
        finally:
            with pytest.raises(Crash):
                producer.abort_transaction()
    assert faults.points == [
        "producer.init_transactions", "producer.init_transactions/request", "producer.init_transactions/answer",
        "producer.begin_transaction", "producer.produce", "producer.poll",
    ]  # fmt: skip
    assert broker.open_transactions() == ["id"]
    MemoryClients(broker).transactional("id").init_transactions()
    assert broker.open_transactions() == []


def copy(clients, count):
    """The smallest exactly-once loop: one record a transaction, from `in` to `out`, until `count` are behind it."""
    producer = clients.transactional("copy")
    producer.init_transactions()
    reader = clients.consumer(**{"group.id": "copy", "auto.offset.reset": "earliest", "enable.partition.eof": False})
    reader.assign([TopicPartition("in", 0)])
    done = max(reader.committed([TopicPartition("in", 0)])[0].offset, 0)
    while done < count:
        message = reader.poll(1)
        producer.begin_transaction()
        producer.produce("out", message.value())
        done = message.offset() + 1
        producer.send_offsets_to_transaction([TopicPartition("in", 0, done)], reader.consumer_group_metadata())
        while True:
            try:
                producer.commit_transaction()
                break
            except KafkaException as error:
                assert error.args[0].retriable()


def loaded():
    broker = started()
    for number in range(3):
        MemoryClients(broker).producer().produce("in", b"%d" % number)
    return broker


@pytest.mark.parametrize("hold", [False, True])
def test_a_right_loop_is_exactly_once_at_every_crash_point(hold):
    undisturbed = Faults(hold=hold)
    copy(MemoryClients(loaded(), undisturbed), 3)
    assert len(undisturbed.points) > 20
    for number in range(1, len(undisturbed.points) + 1):
        broker = loaded()
        with pytest.raises(Crash):
            copy(MemoryClients(broker, Faults(crash_at=number, hold=hold)), 3)
        copy(MemoryClients(broker, Faults(hold=hold)), 3)
        assert values(broker) == [b"0", b"1", b"2"], undisturbed.points[number - 1]
        assert broker.offsets("copy") == {("in", 0): 3} and broker.open_transactions() == []


def test_a_right_loop_is_exactly_once_when_any_commit_times_out():
    undisturbed = Faults()
    copy(MemoryClients(loaded(), undisturbed), 3)
    commits = [n for n, point in enumerate(undisturbed.points, 1) if point.startswith("producer.commit_transaction")]
    assert len(commits) == 9
    for number in commits:
        broker = loaded()
        copy(MemoryClients(broker, Faults(fail={number: TIMED_OUT})), 3)
        assert values(broker) == [b"0", b"1", b"2"]


def test_a_wrong_loop_is_found_out():
    """Offsets outside the transaction lose or double a record at some crash point; the broker must show it."""

    def wrong(clients):
        producer = clients.transactional("copy")
        producer.init_transactions()
        reader = clients.consumer(
            **{"group.id": "copy", "auto.offset.reset": "earliest", "enable.partition.eof": False}
        )
        reader.assign([TopicPartition("in", 0)])
        while (message := reader.poll(0)) is not None:
            producer.begin_transaction()
            producer.produce("out", message.value())
            producer.commit_transaction()
            reader.commit(message=message, asynchronous=False)

    undisturbed, outcomes = Faults(), set()
    wrong(MemoryClients(loaded(), undisturbed))
    for number in range(1, len(undisturbed.points) + 1):
        broker = loaded()
        with pytest.raises(Crash):
            wrong(MemoryClients(broker, Faults(crash_at=number)))
        wrong(MemoryClients(broker))
        outcomes.add(tuple(values(broker)))
    assert (b"0", b"0", b"1", b"2") in outcomes
