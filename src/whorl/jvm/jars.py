"""Jars in the user's cache folder, each pinned by its checksum.

A jar enters the folder by a rename after it was verified, so whatever lies there is whole; half-finished downloads stay
in a folder beside it, which the next download starts by removing.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from whorl.errors import WorldError
from whorl.jvm.cache import cache_folder, exclusive
from whorl.jvm.ivy import fetch

LOCK = Path(__file__).with_name("jars.lock.json")
ATTEMPTS = 3
_CAUSE = re.compile(r"Server access error at url \S+ \((.+)\)")


class Progress(Protocol):
    """Told of every jar that arrives. `name` is the jar's file name."""

    def __call__(self, done: int, total: int, name: str, /) -> None: ...


@dataclass(frozen=True, slots=True)
class JarSet:
    """Jars that are used together. What `transitive` brings in is settled in the lock, not at run time."""

    name: str
    coordinates: tuple[str, ...]
    transitive: bool = False
    excludes: tuple[str, ...] = ()
    """`group:artifact`, each a regular expression."""


CONNECTOR = JarSet(
    "connector",
    (
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
        "org.apache.kafka:kafka-clients:3.9.2",
        "org.apache.commons:commons-pool2:2.13.1",
        "org.apache.spark:spark-avro_2.13:4.1.1",
    ),
)
BROKER = JarSet("broker", ("org.apache.kafka:kafka_2.13:4.1.0", "org.slf4j:slf4j-simple:1.7.36"), transitive=True)
TOOLS = JarSet(
    "tools",
    ("org.apache.kafka:kafka-tools:4.1.0", "org.slf4j:slf4j-simple:1.7.36"),
    transitive=True,
    # Only Kafka Connect needs them.
    excludes=(
        r"org\.apache\.kafka:connect-.*",
        r"org\.eclipse\.jetty.*:.*",
        r"org\.glassfish\..*:.*",
        r"jakarta\..*:.*",
        r"com\.fasterxml\.jackson\.jakarta.*:.*",
        r".*:jackson-module-jakarta.*",
    ),
)
DELTA = JarSet("delta", ("io.delta:delta-spark_4.2_2.13:4.4.0", "io.delta:delta-storage:4.4.0"))
POSTGRESQL = JarSet("postgresql", ("org.postgresql:postgresql:42.7.8",))
SETS = (CONNECTOR, BROKER, TOOLS, DELTA, POSTGRESQL)


@dataclass(frozen=True, slots=True)
class Pin:
    """One jar as it has to be."""

    coordinate: str
    sha256: str
    size: int

    @property
    def file(self) -> str:
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"

    def is_at(self, folder: Path) -> bool:
        path = folder / self.file
        return path.is_file() and path.stat().st_size == self.size


def resolve(jars: JarSet, progress: Progress | None = None, *, lock: Path = LOCK) -> tuple[Path, ...]:
    """The paths of all jars of the set, downloaded first if they are not all there."""
    pins = pins_of(jars, lock)
    folder = cache_folder() / "jars"
    if not all(pin.is_at(folder) for pin in pins):
        with exclusive(folder.with_name("jars.lock")), _disk(folder):
            # Another process may have brought them while this one waited for the lock.
            if missing := [pin for pin in pins if not pin.is_at(folder)]:
                _download(jars.name, missing, folder, progress or (lambda done, total, name: None))
    return tuple(folder / pin.file for pin in pins)


def pins_of(jars: JarSet, lock: Path = LOCK) -> tuple[Pin, ...]:
    pinned = json.loads(lock.read_text()).get(jars.name)
    if not pinned:
        raise WorldError(
            f"the jar set '{jars.name}' has no pins in '{lock.name}'", code="jar-checksum", hint="make its lock anew"
        )
    return tuple(Pin(coordinate, pin["sha256"], pin["size"]) for coordinate, pin in pinned.items())


def damaged(jars: JarSet, *, lock: Path = LOCK) -> tuple[Path, ...]:
    """Jars of the set in the cache whose content is not what it was: reads them all."""
    folder = cache_folder() / "jars"
    there = [pin for pin in pins_of(jars, lock) if (folder / pin.file).is_file()]
    return tuple(folder / pin.file for pin in there if sha256(folder / pin.file) != pin.sha256)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(name: str, pins: Sequence[Pin], folder: Path, progress: Progress) -> None:
    partial = folder.with_name("jars.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        _fetch(name, pins, partial / "out", progress)
        _verify(pins, partial / "out")
        folder.mkdir(parents=True, exist_ok=True)
        for pin in pins:
            (partial / "out" / pin.file).replace(folder / pin.file)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _fetch(name: str, pins: Sequence[Pin], into: Path, progress: Progress) -> None:
    """Some attempts, since networks fail; each goes on where the last one ended."""
    arrived: set[str] = set()

    def downloaded(jar: str) -> None:
        arrived.add(jar)
        progress(len(arrived), len(pins), jar)

    for attempt in range(ATTEMPTS):
        time.sleep(attempt)
        account = fetch([pin.coordinate for pin in pins], into, downloaded)
        missing = [pin.file for pin in pins if not (into / pin.file).is_file()]
        if not missing:
            return
    raise _unavailable(name, missing, account)


def _unavailable(name: str, missing: Sequence[str], account: str) -> WorldError:
    if "No space left on device" in account:
        raise OSError(errno.ENOSPC, "No space left on device")
    some = ", ".join(f"'{jar}'" for jar in missing[:3]) + (", …" if len(missing) > 3 else "")
    cause = _CAUSE.search(account)
    return WorldError(
        f"{len(missing)} jars of '{name}' could not be downloaded: {some}{f': {cause[1]}' if cause else ''}",
        code="jars-unavailable",
        hint="check the network; JAVA_TOOL_OPTIONS may name a proxy, WHORL_IVY_SETTINGS an Ivy file with a mirror",
    )


def _verify(pins: Sequence[Pin], folder: Path) -> None:
    wrong = [pin.file for pin in pins if sha256(folder / pin.file) != pin.sha256]
    if wrong:
        raise WorldError(
            f"the download of {', '.join(repr(jar) for jar in wrong)} is not what the lock pins by sha256",
            code="jar-checksum",
            hint="try again; if it stays so, the repository or mirror in use serves changed files",
        )


@contextmanager
def _disk(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WorldError(
            f"jars cannot be stored in '{folder}': {error.strerror}",
            code="disk",
            hint="make room or access there, or name another folder in WHORL_CACHE",
        ) from error
