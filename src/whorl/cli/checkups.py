"""What a machine needs to run Whorl, looked at one by one. Nothing is changed, downloaded or started by looking."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from whorl.broker.ports import free_port, is_free
from whorl.config.framework import framework_settings
from whorl.config.settings import Settings
from whorl.errors import CheckFailed, WhorlError
from whorl.jobs.address import clients_at
from whorl.jvm.cache import cache_folder
from whorl.jvm.jars import BROKER, CONNECTOR, JarSet, damaged, pins_of
from whorl.jvm.java import find_java
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster
from whorl.kafka.version import OLDEST, broker_version
from whorl.units import format_duration, format_size

_OLDEST_PYTHON = (3, 11)
_SPARK = "4.2"
_MEMORY = (1 << 30, 2 << 30)
_DISK = (256 << 20, 2 << 30)
"""Less than the first fails, less than the second is a warning."""
_SPARK_UI = 4040


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Diagnosis:
    what: str
    level: Level
    told: str
    remedy: str = ""


@dataclass(frozen=True)
class Patient:
    """What the command was told about where to look."""

    broker: str | None = None
    profile: str | None = None
    config: Path | None = None


Checkup = Callable[[Patient], Iterator[Diagnosis]]


def examine(patient: Patient) -> Iterator[Diagnosis]:
    checkups: tuple[Checkup, ...] = (
        _python,
        _java,
        _spark,
        _connector_jars,
        _broker_jars,
        _memory,
        _disk,
        _ports,
        _settings,
    )
    for checkup in checkups:
        yield from checkup(patient)


def _python(patient: Patient) -> Iterator[Diagnosis]:
    fits = sys.version_info >= _OLDEST_PYTHON
    remedy = "" if fits else f"make a venv with Python {_OLDEST_PYTHON[0]}.{_OLDEST_PYTHON[1]} or newer"
    told = f"{'.'.join(map(str, sys.version_info[:3]))} at {sys.executable}"
    yield Diagnosis("python", Level.OK if fits else Level.FAIL, told, remedy)


def _java(patient: Patient) -> Iterator[Diagnosis]:
    try:
        java = find_java()
    except WhorlError as error:
        yield Diagnosis("java", Level.FAIL, error.message, error.hint)
    else:
        yield Diagnosis("java", Level.OK, f"{java.version} by {java.origin} at {java.home}")


def _spark(patient: Patient) -> Iterator[Diagnosis]:
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        yield Diagnosis("spark", Level.FAIL, "pyspark is not installed", f"pip install 'pyspark=={_SPARK}.*'")
        return
    fits = found.startswith(f"{_SPARK}.")
    remedy = "" if fits else f"Whorl is tested with {_SPARK}: pip install 'pyspark=={_SPARK}.*'"
    yield Diagnosis("spark", Level.OK if fits else Level.WARN, f"pyspark {found}", remedy)


def _connector_jars(patient: Patient) -> Iterator[Diagnosis]:
    yield _jars(CONNECTOR)


def _broker_jars(patient: Patient) -> Iterator[Diagnosis]:
    yield _jars(BROKER)


def _jars(jars: JarSet) -> Diagnosis:
    what, folder, pins = f"{jars.name} jars", cache_folder() / "jars", pins_of(jars)
    if wrong := damaged(jars):
        names = ", ".join(f"'{path}'" for path in wrong)
        return Diagnosis(
            what, Level.FAIL, f"{len(wrong)} of {len(pins)} are damaged", f"delete them, they come anew: {names}"
        )
    missing = sum(not pin.is_at(folder) for pin in pins)
    if missing:
        told = f"{missing} of {len(pins)} are not in '{folder}'"
        return Diagnosis(what, Level.WARN, told, "they are downloaded when first needed; that takes a network")
    return Diagnosis(what, Level.OK, f"{len(pins)} in '{folder}'")


def _memory(patient: Patient) -> Iterator[Diagnosis]:
    available = _available_memory()
    remedy = "end other programs; or less for Spark: --set spark.spark.driver.memory=512m"
    yield _enough("memory", available, _MEMORY, f"{format_size(available)} available", remedy)


def _available_memory() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):  # not Linux: all there is
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _disk(patient: Patient) -> Iterator[Diagnosis]:
    folders = {Path.cwd(): "this folder", _existing(cache_folder()): "the cache folder"}
    for folder, name in folders.items():
        free = shutil.disk_usage(folder).free
        remedy = "make room, or name another folder in WHORL_CACHE" if name != "this folder" else "make room"
        yield _enough("disk", free, _DISK, f"{format_size(free)} free in {name} '{folder}'", remedy)


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())


def _enough(what: str, amount: int, bounds: tuple[int, int], told: str, remedy: str) -> Diagnosis:
    level = Level.FAIL if amount < bounds[0] else Level.WARN if amount < bounds[1] else Level.OK
    return Diagnosis(what, level, told, "" if level is Level.OK else remedy)


def _ports(patient: Patient) -> Iterator[Diagnosis]:
    try:
        port = free_port(set())
    except OSError as error:
        yield Diagnosis(
            "ports", Level.FAIL, f"no port on 127.0.0.1 can be opened: {error.strerror}", "allow loopback sockets"
        )
        return
    if is_free(_SPARK_UI):
        yield Diagnosis("ports", Level.OK, f"127.0.0.1 has free ports ({port}); Spark's UI can have {_SPARK_UI}")
    else:
        remedy = "nothing to do: Spark's UI takes the next free one, and 'whorl run' prints it"
        yield Diagnosis("ports", Level.OK, f"127.0.0.1 has free ports ({port}); {_SPARK_UI} is taken", remedy)


def _settings(patient: Patient) -> Iterator[Diagnosis]:
    try:
        settings = framework_settings(patient.profile, patient.config)
    except CheckFailed as error:
        for finding in error.findings:
            yield Diagnosis("settings", Level.FAIL, f"{finding.at}: {finding.message}", finding.hint)
        return
    try:
        clients = clients_at(patient.broker, settings)
    except WhorlError as error:
        yield Diagnosis("broker", Level.WARN, error.message, error.hint)
        return
    yield from _broker(clients, settings)


def _broker(clients: KafkaClients, settings: Settings) -> Iterator[Diagnosis]:
    if not any(_answers(address) for address in clients.address.split(",")):
        remedy = "start it, or correct 'broker:' in whorl.yaml; 'whorl broker start' makes one for this folder"
        yield Diagnosis("broker", Level.FAIL, f"nothing listens at {clients.address}", remedy)
        return
    try:
        cluster = Cluster(clients)
        yield _version(clients, cluster.brokers())
        yield _transactions(cluster, settings)
    except WhorlError as error:
        yield Diagnosis("broker", Level.FAIL, error.message, error.hint)


def _answers(address: str) -> bool:
    host, _, port = address.strip().rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=3).close()
    except (OSError, ValueError):
        return False
    return True


def _version(clients: KafkaClients, brokers: int) -> Diagnosis:
    where, found = f"{clients.address}, {brokers} node{'s' * (brokers != 1)}", broker_version(clients)
    if found is None:
        return Diagnosis("broker", Level.OK, f"{where}; it does not tell its version to strangers")
    if found < OLDEST:
        remedy = f"exactly once needs Kafka {OLDEST[0]}.{OLDEST[1]} or newer"
        return Diagnosis("broker", Level.FAIL, f"{where}, too old", remedy)
    return Diagnosis("broker", Level.OK, f"{where}, Kafka {found[0]}.{found[1]} or newer")


def _transactions(cluster: Cluster, settings: Settings) -> Diagnosis:
    most = float(cluster.broker_config().get("transaction.max.timeout.ms", "inf")) / 1000
    wanted = settings.transaction_timeout
    told = f"up to {format_duration(most)}; 'transaction_timeout' is {format_duration(wanted)}"
    if wanted > most:
        remedy = "lower 'transaction_timeout', or raise the broker's transaction.max.timeout.ms"
        return Diagnosis("transactions", Level.FAIL, told, remedy)
    return Diagnosis("transactions", Level.OK, told)
