"""Jars of the peers, pinned like Whorl's own. `python -m bench.jars` makes the lock anew."""

from __future__ import annotations

import os
from pathlib import Path

from whorl.jvm.jars import CONNECTOR, JarSet, resolve
from whorl.jvm.lock import write_lock

LOCK = Path(__file__).with_name("jars.lock.json")
STREAMS = JarSet(
    "kafka_streams", ("org.apache.kafka:kafka-streams:4.1.0", "org.slf4j:slf4j-nop:1.7.36"), transitive=True
)


def streams_class_path() -> str:
    return os.pathsep.join(str(jar) for jar in resolve(STREAMS, lock=LOCK))


def connector() -> str:
    """As `spark.jars` takes them."""
    return ",".join(str(jar) for jar in resolve(CONNECTOR))


if __name__ == "__main__":
    write_lock((STREAMS,), LOCK)
