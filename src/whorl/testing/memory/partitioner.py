"""Which partition a key goes to, for each of librdkafka's partitioners that is not a matter of chance alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from zlib import crc32

_MASK = 0xFFFFFFFF
_M = 0x5BD1E995


def murmur2(data: bytes) -> int:
    """The 32-bit hash of Kafka's Java client, unsigned."""
    whole = len(data) & ~3
    h = 0x9747B28C ^ len(data)
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = h * _M & _MASK ^ k
    if tail := data[whole:]:
        h = (h ^ int.from_bytes(tail, "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partitioner(name: str) -> Callable[[bytes | None, int], int]:
    """By librdkafka's name. Where librdkafka draws lots, partitions take turns, so that runs repeat."""
    turns = count()

    def by_murmur2(key: bytes | None, partitions: int) -> int:
        return (murmur2(key or b"") & 0x7FFFFFFF) % partitions

    def by_crc32(key: bytes | None, partitions: int) -> int:
        return crc32(key or b"") % partitions

    def in_turn(key: bytes | None, partitions: int) -> int:
        return next(turns) % partitions

    def murmur2_random(key: bytes | None, partitions: int) -> int:
        return in_turn(key, partitions) if key is None else by_murmur2(key, partitions)

    def consistent_random(key: bytes | None, partitions: int) -> int:
        return by_crc32(key, partitions) if key else in_turn(key, partitions)

    known = {
        "murmur2": by_murmur2,
        "murmur2_random": murmur2_random,
        "consistent": by_crc32,
        "consistent_random": consistent_random,
        "random": in_turn,
    }
    return known[name]
