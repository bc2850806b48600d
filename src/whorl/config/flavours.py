"""Settings as Spark and Flink name them: known keys become Whorl's own, the others of Spark are passed on, and the rest is named as unknown.

Nothing is dropped in silence: a key that asks for what Whorl always does is taken, one that asks for the opposite is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from whorl.config.tree import Key, Path, Tree
from whorl.errors import Finding, Location

_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*$")
_UNITS = {"": "ms", "ms": "ms", "milli": "ms", "millis": "ms", "s": "s", "sec": "s", "second": "s", "seconds": "s", "m": "m",
          "min": "m", "minute": "m", "minutes": "m", "h": "h", "hour": "h", "hours": "h", "d": "d", "day": "d", "days": "d"}  # fmt: skip
_ROOTS = ("execution", "restart-strategy", "high-availability", "parallelism", "taskmanager", "jobmanager", "pipeline")
"""Words under which Flink's files nest what they may also write with dots."""


def _as_is(value: Any) -> Any:
    return value


def _time(value: Any) -> str:
    """A bare number is milliseconds, in both of them."""
    match = _TIME.match(str(value))
    if match is None or match[2].lower() not in _UNITS:
        raise ValueError(f"{value!r} is not a duration such as 10 s, 500 ms or 1 min")
    return f"{match[1]}{_UNITS[match[2].lower()]}"


def _word(**words: str) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        found = words.get(re.sub(r"\W", "_", str(value).lower()))
        if found is None:
            raise ValueError(f"{value!r} has no counterpart here, only: {', '.join(words).replace('_', '-')}")
        return found

    return convert


def _provider(value: Any) -> str:
    known = {"RocksDBStateStoreProvider": "rocksdb", "HDFSBackedStateStoreProvider": "filesystem"}
    return _word(**{name.lower(): word for name, word in known.items()})(str(value).rpartition(".")[2])


def _zookeeper(value: Any) -> str:
    return str(value) if "://" in str(value) else f"zookeeper://{value}"


@dataclass(frozen=True)
class Key_:
    """A key of another system, and what it is here."""

    name: str
    path: Path
    convert: Callable[[Any], Any] = _as_is

    @property
    def setting(self) -> str:
        return ".".join(str(part) for part in self.path)


@dataclass(frozen=True)
class Always:
    """A key that asks for what Whorl does, or does not do, whatever is said."""

    name: str
    takes: Any
    why: str


_STRATEGY = _word(none="none", off="none", disable="none", fixeddelay="fixed", fixed_delay="fixed", exponentialdelay="exponential",
                  exponential_delay="exponential", failurerate="fixed", failure_rate="fixed")  # fmt: skip
_BACKEND = _word(hashmap="memory", filesystem="memory", memory="memory", rocksdb="disk", disk="disk")
SPARK = (
    Key_("spark.master", ("master",)),
    Key_("spark.submit.deployMode", ("deploy", "mode")),
    Key_("spark.yarn.queue", ("deploy", "queue")),
    Key_("spark.executor.instances", ("resources", "executors")),
    Key_("spark.executor.cores", ("resources", "cores")),
    Key_("spark.executor.memory", ("resources", "memory")),
    Key_("spark.driver.memory", ("resources", "driver_memory")),
    Key_("spark.streaming.gracefulStopTimeout", ("stop_timeout",), _time),
    Key_("spark.sql.streaming.checkpointLocation", ("checkpoints",)),
    Key_("spark.sql.shuffle.partitions", ("state_partitions",)),
    Key_("spark.sql.streaming.stateStore.providerClass", ("state", "query_backend"), _provider),
    Key_("spark.task.maxFailures", ("restart", "attempts")),
)
FLINK = (
    Key_("execution.checkpointing.interval", ("commit_interval",), _time),
    Key_(
        "execution.checkpointing.mode",
        ("guarantee",),
        _word(exactly_once="exactly_once", at_least_once="at_least_once"),
    ),
    Key_("execution.checkpointing.timeout", ("transaction_timeout",), _time),
    Key_("execution.checkpointing.dir", ("checkpoints",)),
    Key_("execution.checkpointing.savepoint-dir", ("savepoints",)),
    Key_("state.checkpoints.dir", ("checkpoints",)),
    Key_("state.savepoints.dir", ("savepoints",)),
    Key_("state.backend", ("state", "backend"), _BACKEND),
    Key_("state.backend.type", ("state", "backend"), _BACKEND),
    Key_("state.backend.rocksdb.localdir", ("state", "dir")),
    Key_("state.backend.rocksdb.memory.fixed-per-slot", ("state", "memory")),
    Key_("restart-strategy", ("restart", "strategy"), _STRATEGY),
    Key_("restart-strategy.type", ("restart", "strategy"), _STRATEGY),
    Key_("restart-strategy.fixed-delay.attempts", ("restart", "attempts")),
    Key_("restart-strategy.fixed-delay.delay", ("restart", "delay"), _time),
    Key_("restart-strategy.exponential-delay.initial-backoff", ("restart", "delay"), _time),
    Key_("restart-strategy.exponential-delay.max-backoff", ("restart", "max_delay"), _time),
    Key_("restart-strategy.exponential-delay.reset-backoff-threshold", ("restart", "window"), _time),
    Key_("restart-strategy.exponential-delay.attempts-before-reset-backoff", ("restart", "attempts")),
    Key_("restart-strategy.failure-rate.max-failures-per-interval", ("restart", "attempts")),
    Key_("restart-strategy.failure-rate.failure-rate-interval", ("restart", "window"), _time),
    Key_("restart-strategy.failure-rate.delay", ("restart", "delay"), _time),
    Key_("parallelism.default", ("tasks",)),
    Key_("pipeline.max-parallelism", ("max_tasks",)),
    Key_("taskmanager.numberOfTaskSlots", ("resources", "cores")),
    Key_("taskmanager.memory.process.size", ("resources", "memory")),
    Key_("jobmanager.memory.process.size", ("resources", "driver_memory")),
    Key_("heartbeat.interval", ("heartbeat",), _time),
    Key_("high-availability.zookeeper.quorum", ("ha",), _zookeeper),
)
ALWAYS = (
    Always("spark.streaming.stopGracefullyOnShutdown", True, "a stop is always graceful; `stop_timeout` bounds it"),
    Always("spark.streaming.backpressure.enabled", True, "no component reads further ahead than it has committed; `max_rate` and `max_per_batch` bound it"),
    Always("high-availability", "zookeeper", "`ha: zookeeper://…` says where"),
    Always("high-availability.type", "zookeeper", "`ha: zookeeper://…` says where"),
)  # fmt: skip
_KNOWN = {key.name: key for key in (*SPARK, *FLINK)}
_ALWAYS = {key.name: key for key in ALWAYS}


@dataclass
class Translation:
    """One layer in Whorl's own words, and what is wrong with it."""

    tree: Tree
    findings: list[Finding] = field(default_factory=list)
    _said: dict[Path, tuple[str, Tree]] = field(default_factory=dict)

    def put(self, name: str, path: Path, value: Tree, key_at: Location) -> None:
        before = self._said.get(path) or self._own(path)
        if before is not None and before[1].plain() != value.plain():
            message = f"'{before[0]}' and '{name}' say different things of the setting '{_dotted(path)}'"
            hint = f"keep one of them; the other is at {before[1].at}"
            self.findings.append(Finding("contradiction", message, hint, key_at))
            return
        self._said[path] = (name, value)
        self.tree = _with(self.tree, path, value, key_at)

    def _own(self, path: Path) -> tuple[str, Tree] | None:
        found = self.tree.find(path)
        return (_dotted(path), found) if found is not None else None


def translated(layer: Tree, own: frozenset[str]) -> Translation:
    """`own`: the names of Whorl's settings."""
    if not isinstance(layer.value, dict):
        return Translation(layer)
    foreign = [(key, tree) for key, tree in layer.value.items() if _is_foreign(key, tree, own)]
    done = Translation(_prefixed(layer.without(*(key for key, _ in foreign))))
    for key, tree in foreign:
        for name, value in _flat(str(key), tree):
            _take(done, name, value, layer.keys.get(key, tree.at), own)
    return done


def _is_foreign(key: Key, tree: Tree, own: frozenset[str]) -> bool:
    return isinstance(key, str) and key not in own and ("." in key or key in _ROOTS or key in _ALWAYS)


def _flat(name: str, tree: Tree) -> Iterator[tuple[str, Tree]]:
    if not isinstance(tree.value, dict):
        yield name, tree
        return
    for key, below in tree.value.items():
        yield from _flat(f"{name}.{key}", below)


def _take(done: Translation, name: str, value: Tree, at: Location, own: frozenset[str]) -> None:
    known, always = _KNOWN.get(name), _ALWAYS.get(name)
    if always is not None:
        if str(value.plain()).lower() != str(always.takes).lower():
            done.findings.append(
                Finding("contradiction", f"'{name}: {value.plain()}' cannot be had: {always.why}", "take it away", at)
            )
    elif known is not None:
        try:
            done.put(name, known.path, Tree(known.convert(value.plain()), value.at), at)
        except ValueError as error:
            done.findings.append(Finding("value", f"'{name}': {error}", f"or set '{known.setting}' itself", value.at))
    elif name.startswith("spark.streaming."):
        why = "it is of Spark's former streaming, which Whorl does not use"
        done.findings.append(Finding("unknown-key", f"'{name}' has no effect: {why}", "take it away", at))
    elif name.startswith("spark."):
        done.put(name, ("spark", name), value, at)
    elif name.partition(".")[0] in own:
        done.put(name, tuple(name.split(".")), value, at)
    else:
        done.tree = _with(done.tree, (name,), value, at)  # the check of all settings names it


def _prefixed(layer: Tree) -> Tree:
    """Below `spark` a name may leave its first word out."""
    given = layer.child("spark")
    if given is None or not isinstance(given.value, dict):
        return layer
    full = {key: key if str(key).startswith("spark.") else f"spark.{key}" for key in given.value}
    values: dict[Key, Tree] = {full[key]: tree for key, tree in given.value.items()}
    keys = {full.get(key, key): at for key, at in given.keys.items()}
    return Tree({**layer.value, "spark": Tree(values, given.at, keys)}, layer.at, layer.keys)


def _with(tree: Tree, path: Path, value: Tree, at: Location) -> Tree:
    first, rest = path[0], path[1:]
    held = tree.value if isinstance(tree.value, dict) else {}
    below = held.get(first)
    below = below if below is not None and isinstance(below.value, dict) else Tree({}, at)
    child = _with(below, rest, value, at) if rest else value
    return Tree({**held, first: child}, tree.at, {**tree.keys, first: tree.keys.get(first, at)})


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path)
