"""The records that the benchmarks load: the same for every system, spread evenly over the partitions by their keys."""

from __future__ import annotations

import random
from collections.abc import Iterator

KEYS = 10_000
SIZE = 100
AMOUNTS = 1000


def plain(count: int) -> Iterator[tuple[bytes, bytes]]:
    """Values of 100 bytes that do not compress away."""
    fillers = [random.Random(seed).randbytes(SIZE // 2).hex().encode()[: SIZE - 10] for seed in range(1000)]
    for number in range(count):
        yield b"k%07d" % (number % KEYS), b"%010d" % number + fillers[number % 1000]


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
