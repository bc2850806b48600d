"""Which Kafka a broker is, told by the requests it understands. Asked over the wire, since no client hands it out."""

from __future__ import annotations

import socket
import struct

from whorl.kafka.clients import KafkaClients

OLDEST = (2, 5)
_API_VERSIONS = 18
_MARKS = (
    ((4, 0), 24, 5),  # AddPartitionsToTxn: transactions of the second protocol
    ((3, 7), 68, 0),  # ConsumerGroupHeartbeat
    ((3, 0), 65, 0),  # DescribeTransactions
    ((2, 5), 28, 3),  # TxnOffsetCommit with the consumer group's metadata
)
"""(version, request, its highest version at least): the first that fits is the oldest Kafka it can be."""


def broker_version(clients: KafkaClients) -> tuple[int, int] | None:
    """The oldest Kafka this can be; (0, 0) if older than all we know; None where a secured listener does not answer plainly."""
    if clients.extra.get("security.protocol", "PLAINTEXT") != "PLAINTEXT":
        return None
    for address in clients.address.split(","):
        try:
            understood = _ask(address.strip())
        except (OSError, struct.error, ValueError):
            continue
        return next((version for version, api, least in _MARKS if understood.get(api, -1) >= least), (0, 0))
    return None


def _ask(address: str) -> dict[int, int]:
    """Request number to the highest version understood."""
    host, _, port = address.rpartition(":")
    client = b"whorl"
    header = struct.pack(f">hhih{len(client)}s", _API_VERSIONS, 0, 1, len(client), client)
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(struct.pack(">i", len(header)) + header)
        body = _read(connection, struct.unpack(">i", _read(connection, 4))[0])
    _, error, count = struct.unpack_from(">ihi", body)
    if error:
        return {}
    rows = (struct.unpack_from(">hhh", body, 10 + 6 * index) for index in range(count))
    return {api: highest for api, _, highest in rows}


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise OSError("the connection was closed")
        data += part
    return data
