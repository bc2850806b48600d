"""From a row to a record; rows of views on their way back."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from whorl.formats import codec, parse_format
from whorl.operators.chain import StepFailed
from whorl.operators.record import Metadata, Record
from whorl.plan import naming
from whorl.plan.plan import Output, OutputKind
from whorl.sinks.kafka import BY_KEY, dead_letter, emitter, entry_maker, key_maker
from whorl.sinks.view import ViewReader
from whorl.testing.memory import MemoryBroker, MemoryClients

JSON = parse_format("json")


@dataclass
class Message:
    """As the Kafka client gives one."""

    fields: dict = field(default_factory=dict)

    def __getattr__(self, name):
        defaults = {
            "topic": "in",
            "partition": 5,
            "offset": 7,
            "key": b"k",
            "value": b"v",
            "headers": None,
            "timestamp": (1, 1000),
        }
        return lambda: {**defaults, **self.fields}[name]


def emitted(row, meta=None, limit=1_000_000, partitions=4, **output):
    entries = []
    out = Output("out", OutputKind.SINK, "topic", JSON, None, **output)
    emitter(out, codec(JSON, None).encode, partitions, limit, entries.append)(row, meta or Metadata(Message(), b"k"))
    return entries[0]


def test_a_record_keeps_its_key_headers_and_timestamp():
    message = Message({"headers": [("h", b"1")]})
    assert emitted({"a": 1}, Metadata(message, b"k")) == (
        "topic",
        b'{"a":1}',
        b"k",
        BY_KEY,
        None,
        None,
        1000,
        [("h", b"1")],
    )
    assert emitted({"a": 1}, Metadata(message, b"k"), headers=False)[-1] is None


def test_a_record_may_leave_with_others():
    meta = Record({}, key="x", headers=[("h", b"2")], timestamp=5).metadata(Metadata(Message(), b"k"))
    _, _, key, _, _, _, timestamp, headers = emitted({"a": 1}, meta)
    assert (key, timestamp, headers) == (b"x", 5, [("h", b"2")])


def test_columns_make_the_key():
    assert emitted({"a": 1, "b": None}, key=("a",))[2] == b"1"
    assert emitted({"a": 1, "b": None}, key=("b",))[2] is None


def test_without_keys_records_stay_in_their_partition():
    assert emitted({}, keyed=False, partitions=4)[3] == 1


def test_a_row_that_cannot_be_written_blames_the_sink():
    with pytest.raises(StepFailed, match="operator 'out' failed"):
        emitted({"a": object()})
    with pytest.raises(StepFailed, match="too large for topic 'topic'"):
        emitted({"a": "x" * 1000}, limit=1000)


@pytest.mark.parametrize(
    ("columns", "row", "key"),
    [
        (("a",), {"a": "ä"}, "ä".encode()),
        (("a",), {"a": True}, b"true"),
        (("a",), {"a": b"\0"}, b"\0"),
        (("a",), {"a": 1.5}, b"1.5"),
        (("a",), {}, None),
        (("a", "b"), {"a": 1, "b": "x"}, b'[1,"x"]'),
        (("a", "b"), {"a": 1}, None),
    ],
)
def test_keys(columns, row, key):
    assert key_maker(columns)(row) == key


def test_a_dead_letter_says_what_and_where():
    topic, value, key, partition, _, _, timestamp, headers = dead_letter(
        "dead", Message({"headers": [("h", b"1")]}), "op", "why", 10**6
    )
    assert (topic, value, key, partition, timestamp) == ("dead", b"v", b"k", BY_KEY, 1000)
    assert dict(headers) == {
        "h": b"1",
        naming.DEAD_OPERATOR: b"op",
        naming.DEAD_ERROR: b"why",
        naming.DEAD_TOPIC: b"in",
        naming.DEAD_PARTITION: b"5",
        naming.DEAD_OFFSET: b"7",
    }


def test_an_error_that_is_odd_or_long_is_no_trouble():
    headers = dict(dead_letter("dead", Message(), "op", "\ud800" + "x" * 9000, 10**6)[-1])
    assert headers[naming.DEAD_ERROR].startswith(b"?x")
    assert len(headers[naming.DEAD_ERROR]) == 4096


def test_a_view_gives_rows_once_and_knows_its_end():
    broker = MemoryBroker()
    broker.create_topic("view", 2)
    clients = MemoryClients(broker)
    rows = codec(parse_format("rows"), None)
    output = Output("screen", OutputKind.VIEW, "view", parse_format("rows"), None)
    producer = clients.transactional("t")
    producer.init_transactions()
    ends = {("view", 0): 0, ("view", 1): 0}
    reader = ViewReader(clients, [output], ends)
    for number, commit in ((1, True), (2, False), (3, True)):
        producer.begin_transaction()
        producer.produce("view", rows.encode({"n": number}), None, 0)
        producer.commit_transaction() if commit else producer.abort_transaction()
    assert reader.read(0) == {"screen": [{"n": 1}, {"n": 3}]}
    assert reader.read(0) == {}
    assert reader.has_reached({("view", 0): 6, ("view", 1): 0}), "the end lies behind the markers"
    assert not reader.has_reached({("view", 0): 7, ("view", 1): 0})
    reader.close()


def entries_of(messages, limit=1_000_000, **output):
    out = Output("out", OutputKind.SINK, "topic", JSON, None, **output)
    return entry_maker(out, 4, limit)([b"1"] * len(messages), [b"k"] * len(messages), messages)


@pytest.mark.parametrize("output", [{}, {"headers": False}, {"keyed": False}])
def test_many_entries_are_as_each_alone(output):
    messages = [Message({"timestamp": (1, time), "headers": [("h", b"1")] if time else None}) for time in (0, 7)]
    alone = [emitted(1, Metadata(message, b"k"), **output) for message in messages]
    assert entries_of(messages, **output) == alone


@pytest.mark.parametrize(
    ("fields", "limit"),
    [({"timestamp": (0, -1)}, 1_000_000), ({}, 513), ({"headers": [("h", b"x" * 100)]}, 600)],
)
def test_many_entries_are_made_only_where_none_must_be_looked_at_alone(fields, limit):
    with pytest.raises(StepFailed):
        entries_of([Message(), Message(fields)], limit)
