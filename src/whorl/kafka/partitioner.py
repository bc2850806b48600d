"""Which partition a key belongs to, by the same code that librdkafka's producers run.

`murmur2` is what Java's producers use, and ours; `crc32` is librdkafka's own default.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import confluent_kafka

_SYMBOLS = {"murmur2": "rd_kafka_msg_partitioner_murmur2", "crc32": "rd_kafka_msg_partitioner_consistent"}


def partition_of(key: bytes, partitions: int, partitioner: str = "murmur2") -> int:
    return int(_function(partitioner)(None, key, len(key), partitions, None, None))


@cache
def _function(partitioner: str) -> Any:
    function = getattr(_library(), _SYMBOLS[partitioner])
    function.argtypes = [
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_int32,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ]
    function.restype = ctypes.c_int32
    return function


@cache
def _library() -> ctypes.CDLL:
    package = Path(confluent_kafka.__file__).parent
    bundled = sorted(package.parent.glob("confluent_kafka.libs/librdkafka*.so*")) + sorted(
        package.glob(".dylibs/librdkafka*")
    )
    return ctypes.CDLL(str(bundled[0]) if bundled else "librdkafka.so.1")
