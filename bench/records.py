"""The records that the benchmarks load: the same for every system, spread evenly over the partitions by their keys."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

KEYS = 10_000
SIZE = 100
AMOUNTS = 1000
PER_MINUTE = 50_000
"""Timed records to a minute of event time: every account has as many of them in each."""
LATE_MS = 10_000
LOOKED_AT = 1000
"""Of how many keys the totals are known."""
_SCATTER = 2_654_435_761
"""A prime."""


class Written(NamedTuple):
    """How an amount is written, and how the count and sum of a key."""

    amount: bytes
    total: bytes


TEXT = Written(b"%d", b"%d,%d")
JSON = Written(b'{"amount": %d}', b'{"count":%d,"sum":%d}')


def plain(count: int) -> Iterator[tuple[bytes, bytes]]:
    """Values of 100 bytes that do not compress away."""
    fillers = [random.Random(seed).randbytes(SIZE // 2).hex().encode()[: SIZE - 10] for seed in range(1000)]
    for number in range(count):
        yield _key(number % KEYS), b"%010d" % number + fillers[number % 1000]


def json(count: int) -> Iterator[tuple[bytes, bytes]]:
    """Rows whose `amount` runs through 0.25 .. 999.25, so that what a filter keeps is known."""
    for number in range(count):
        account = number % KEYS
        yield (
            b"a%05d" % account,
            (
                b'{"id": %d, "account": "a%05d", "amount": %d.25, "country": "%s", "note": "payment for order %d"}'
                % (number, account, number * 7 % AMOUNTS, (b"de", b"fr", b"it", b"es")[number % 4], number)
            ),
        )


def kept(count: int) -> int:
    """How many of the json rows have an amount above 250."""
    return sum(number * 7 % AMOUNTS >= 250 for number in range(count))


def timed(count: int) -> Iterator[tuple[bytes, bytes]]:
    """Rows in the order of their time, from midnight on."""
    for number in range(count):
        account = number % KEYS
        minute, rest = divmod(_millis(number), 60_000)
        yield (
            b"a%05d" % account,
            b'{"account": "a%05d", "amount": %d.25, "at": "2026-01-%02dT%02d:%02d:%02d.%03dZ"}'
            % (
                account, number * 7 % AMOUNTS, 1 + minute // 1440, minute // 60 % 24, minute % 60, rest // 1000, rest % 1000,
            ),
        )  # fmt: skip


def closed(count: int) -> int:
    """How many sums per account and minute are final when all timed records were read, up to `LATE_MS` late."""
    return max(0, _millis(count - 1) - LATE_MS) // 60_000 * KEYS


def amounts(count: int, keys: int, written: Written) -> Iterator[tuple[bytes, bytes]]:
    """Whole numbers, under keys drawn at random, all alike."""
    for key, amount in _drawn(count, keys):
        yield _key(key), written.amount % amount


def totals(count: int, keys: int, written: Written) -> dict[bytes, bytes]:
    """What the last amounts of some keys come to."""
    found: dict[int, tuple[int, int]] = {}
    for key, amount in _drawn(count, keys):
        if key % max(1, keys // LOOKED_AT) == 0:
            seen, total = found.get(key, (0, 0))
            found[key] = seen + 1, total + amount
    return {_key(key): written.total % total for key, total in found.items()}


def scattered(number: int, keys: int) -> tuple[bytes, bytes]:
    """The n-th of amounts that are all 1: every key has its turn before any comes again, far from the one before."""
    return _key(number * _SCATTER % keys), b"1"


def _drawn(count: int, keys: int) -> Iterator[tuple[int, int]]:
    draw = random.Random(keys).random
    for _ in range(count):
        yield int(draw() * keys), int(draw() * AMOUNTS)


def _key(number: int) -> bytes:
    return b"k%07d" % number


def _millis(number: int) -> int:
    return number * 60_000 // PER_MINUTE
