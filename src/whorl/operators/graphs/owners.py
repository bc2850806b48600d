"""Whose a vertex is: the logical partition that Kafka's murmur2 gives its key, of many vertices at once.

Asked for one at a time, the hash takes longer than all that is done with the vertex; over an array it costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Vertex = Any
"""A whole number or a text: one kind within a graph."""
FEW = 40
"""Up to so many the hash is faster one by one."""
LONG = 64
"""Bytes of a key beyond which its hash is taken alone: one long key would make the array as wide for all."""
_MIX, _SEED = np.uint32(0x5BD1E995), 0x9747B28C
_SIGNLESS = 0x7FFFFFFF
Words = npt.NDArray[np.uint32]


class Places(Protocol):
    """What is asked of a context."""

    @property
    def partitions(self) -> int: ...

    def partition_of(self, key: bytes) -> int: ...


def key_maker(kind: type) -> Callable[[Vertex], bytes]:
    """The key of a vertex as Kafka and `whorl state` have it: its text."""
    return b"%d".__mod__ if kind is int else str.encode


class Owners:
    """Of vertices of one kind among the partitions of a context."""

    def __init__(self, kind: type, places: Places) -> None:
        self._key, self._partitions, self._one = key_maker(kind), places.partitions, places.partition_of

    def of(self, vertices: Sequence[Vertex]) -> Sequence[int]:
        """In the order of the vertices."""
        keys = list(map(self._key, vertices))
        if len(keys) <= FEW:
            return list(map(self._one, keys))
        if max(map(len, keys)) > LONG:
            return [self._one(key) for key in keys]
        found: list[int] = ((hashes(keys) & _SIGNLESS) % np.uint32(self._partitions)).tolist()
        return found

    def parted(self, vertices: Sequence[Vertex]) -> dict[int, list[Vertex]]:
        """By owner."""
        found: dict[int, list[Vertex]] = {}
        for owner, vertex in zip(self.of(vertices), vertices, strict=True):
            if owner in found:
                found[owner].append(vertex)
            else:
                found[owner] = [vertex]
        return found


def hashes(keys: Sequence[bytes]) -> Words:
    """murmur2 of each, as Kafka's producers compute it."""
    width = -(-(max(map(len, keys)) + 1) // 4) * 4
    table = np.array(keys, dtype=f"S{width}").view(np.uint8).reshape(len(keys), width)
    # The array drops zeros at the end of a key, so lengths are taken from the keys.
    lengths = np.fromiter(map(len, keys), np.uint32, len(keys))
    words = table.view(np.uint32)
    found = np.uint32(_SEED) ^ lengths
    for at in range(width // 4):
        whole = lengths >= 4 * (at + 1)
        found = np.where(whole, (found * _MIX) ^ _stirred(words[:, at]), found)
        # What is left of a key is its last word, with zeros above.
        left = (lengths > 4 * at) & ~whole
        found = np.where(left, (found ^ words[:, at]) * _MIX, found)
    found ^= found >> np.uint32(13)
    found *= _MIX
    return found ^ (found >> np.uint32(15))


def _stirred(word: Words) -> Words:
    word = word * _MIX
    return (word ^ (word >> np.uint32(24))) * _MIX
