"""Settings, and which layer each value came from.

Later layers win: defaults, whorl.yaml, its profile, the pipeline's `settings`, `--set`. Maps are merged key by key.
What is wrong in any layer is found where it is written, and its default stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from whorl.config.tree import Path, Tree, empty, merge
from whorl.config.validation import Problem, validate
from whorl.errors import Finding, Location
from whorl.operators.operator import Options
from whorl.units import Duration, Size, format_duration, parse_duration

SET = "--set "


def _trigger(value: Any) -> Any:
    if value in ("fast", "realtime") or isinstance(value, float):
        return value
    try:
        return parse_duration(value) or "fast"
    except ValueError:
        hint = "write fast, realtime, or an interval such as 1s"
        raise Problem(f"{value!r} does not say when a batch starts", hint=hint) from None


Trigger = Annotated[Literal["fast", "realtime"] | float, BeforeValidator(_trigger)]


class Restart(Options):
    """What follows the failure of a task."""

    strategy: Literal["none", "fixed", "exponential"] = Field(
        default="exponential",
        description="none: the job fails; fixed: starts again after `delay`; exponential: which doubles",
    )
    attempts: int = Field(default=10, ge=1, description="restarts within `window` before the job fails for good")
    delay: Duration = Field(default=1.0, description="the wait before the first restart")
    max_delay: Duration = Field(default=30.0, description="the longest wait of exponential")
    window: Duration = Field(default=600.0, description="failures longer ago than this no longer count")


class StateSettings(Options):
    """Where the state of operators is kept. Of tasks the truth is the changelog in Kafka; this is a copy to be fast and to start soon."""

    backend: Literal["memory", "disk"] = Field(
        default="disk", description="memory: all of it in each task's memory; disk: LMDB, for more than fits there"
    )
    dir: str | None = Field(
        default=None,
        description="folder of the local copies, a persistent volume if you like; without it a temporary one",
    )
    memory: Size = Field(default=256 << 20, ge=1, description="of each task, for values that are used often (disk)")
    standby: int = Field(
        default=0,
        ge=0,
        le=3,
        description="further copies of all state, each kept current by as many tasks again, on other machines where there are any; a task "
        "that starts there goes on from it (disk)",
    )
    query_backend: Literal["rocksdb", "filesystem"] = Field(
        default="rocksdb",
        description="of queries, fixed at a query's first start: rocksdb: on disk beside the executors; filesystem: all of it in their "
        "memory, for SQL whose state is small; both write what changes to the checkpoint",
    )


class Settings(Options):
    """How a pipeline runs. Set in whorl.yaml, in a pipeline's `settings`, or by `--set name=value`."""

    broker: str | None = Field(
        default=None, description="host:port of Kafka, several by comma; without it the embedded broker"
    )
    tasks: int | None = Field(default=None, ge=1, description="tasks of each component; without it as many as fit")
    max_tasks: int | None = Field(
        default=None, ge=1, description="bound of `tasks`, fixed at a component's first start"
    )
    cogroup: bool = Field(
        default=False,
        description="all topics that a component reads are sorted by the same key and hash: it has as many logical partitions as the "
        "highest common factor of their partition counts, and keyed operators read them as they are; else as the largest count",
    )
    task_managers: int = Field(
        default=1, ge=1, description="processes that share a job's components under the job server"
    )
    commit_interval: Duration = Field(
        default=0.1,
        gt=0,
        description="the longest time between two commits; while behind, longer, so that a fifth of the time goes to them",
    )
    commit_records: int = Field(default=100_000, ge=1, description="the most source records of one transaction")
    bulk_records: int = Field(default=10_000, ge=1, description="the most records of one poll")
    guarantee: Literal["exactly_once", "at_least_once"] = Field(
        default="exactly_once",
        description="at_least_once: outputs leave at once, and a failure may repeat some",
    )
    trigger: Trigger = Field(
        default="fast",
        description="when a query starts its next batch: fast (as soon as the last one ended), an interval such as 1s, or "
        "realtime (no batches: Spark's real-time mode, Kafka to Kafka, at least once)",
    )
    max_per_batch: int | None = Field(
        default=None,
        ge=1,
        description="the most records that a query takes from one source in one batch; without it 500,000",
    )
    checkpoints: str = Field(
        default=".whorl/checkpoints",
        min_length=1,
        description="folder of the checkpoints of queries; any URL of a Hadoop file system",
    )
    savepoints: str = Field(
        default=".whorl/savepoints",
        min_length=1,
        description="folder of savepoints; any URL of a Hadoop file system",
    )
    state_partitions: int | None = Field(
        default=None,
        ge=1,
        description="of a query's state, fixed at its first start; without it the setting `partitions`",
    )
    edges: Literal["fused", "topics"] = Field(default="fused", description="topics: each operator is a component")
    topic_prefix: bool | str = Field(default=True, description="of edge topics: true is the pipeline's name; or a word")
    transaction_timeout: Duration = Field(
        default=60.0, gt=0, description="after it Kafka aborts a transaction left open"
    )
    timeout: Duration = Field(default=30.0, gt=0, description="the longest an operator may take on one record")
    stop_timeout: Duration = Field(default=30.0, gt=0, description="the longest a graceful stop may take")
    heartbeat: Duration = Field(
        default=1.0, gt=0, description="how often a task says that it lives; dead after three missed"
    )
    replication: int | None = Field(
        default=None, ge=1, description="of topics that Whorl creates; without it the broker's"
    )
    group_id: str | None = Field(default=None, description="start of consumer group names; without it the pipeline's")
    dead_letter_topic: str | None = Field(default=None, description="where bad records go; without it NAME.dead")
    create_topics: bool = Field(default=True, description="source and sink topics that are missing are created")
    partitions: int = Field(default=4, ge=1, description="of source and sink topics that Whorl creates")
    state: StateSettings = Field(default_factory=StateSettings, description="where state is kept")
    restart: Restart = Field(default_factory=Restart, description="what follows the failure of a task")
    master: str = Field(
        default="local", description="where Spark runs: local (as many threads as needed), local[n], spark://host:port"
    )
    kafka: dict[str, Any] = Field(
        default_factory=dict, description="passed on to every Kafka client, as librdkafka names it"
    )
    spark: dict[str, Any] = Field(default_factory=dict, description="passed on to Spark: spark.*")
    py_files: list[str] = Field(default_factory=list, description="Python files and zips that executors need")
    archives: list[str] = Field(default_factory=list, description="archives that executors unpack")


class Origin(NamedTuple):
    """Where the value of a setting came from."""

    name: str
    value: Any
    where: str
    """`default`, `file:line:column` or `--set`."""


class Effective(NamedTuple):
    settings: Settings
    origins: list[Origin]
    findings: list[Finding]


def effective(layers: Iterable[Tree], also: Iterable[str] = ()) -> Effective:
    """What the layers, lowest first, come to; `also` are keys that are right beside them in their file."""
    merged = reduce(merge, layers, empty(""))
    settings, findings = validate(Settings, merged, merged.at, "settings", also)
    settings = settings or Settings()
    findings += [*_short_enough(settings, merged), *_on_disk(settings, merged)]
    return Effective(settings, list(_origins(Settings(), merged, ())), findings)


def _short_enough(settings: Settings, merged: Tree) -> Iterator[Finding]:
    limit = settings.transaction_timeout
    for name in ("timeout", "commit_interval"):
        value: float = getattr(settings, name)
        if value >= limit:
            at = merged.value_at((name if name in merged.value else "transaction_timeout",))
            message = f"'{name}' is {format_duration(value)}, 'transaction_timeout' {format_duration(limit)}"
            yield Finding("timeout", message, f"make '{name}' shorter, or 'transaction_timeout' longer", at)


def _on_disk(settings: Settings, merged: Tree) -> Iterator[Finding]:
    if settings.state.standby and settings.state.backend == "memory":
        message = "'state.standby' needs copies on disk: what a standby has in memory no other task can take over"
        hint = "set 'state.backend: disk', or leave 'standby' out"
        yield Finding("value", message, hint, merged.value_at(("state", "standby")))


def _origins(model: Options, merged: Tree, path: Path) -> Iterator[Origin]:
    for name in type(model).model_fields:
        below = (*path, name)
        value = getattr(model, name)
        written = merged.find(below)
        if isinstance(value, Options):
            yield from _origins(value, merged, below)
        elif written is None:
            yield Origin(_dotted(below), _written_default(value), "default")
        elif isinstance(value, dict) and isinstance(written.value, dict):
            for key, tree in written.value.items():
                yield Origin(_dotted((*below, key)), tree.plain(), _where(tree.at))
        else:
            yield Origin(_dotted(below), written.plain(), _where(written.at))


def _written_default(value: Any) -> Any:
    return format_duration(value) if isinstance(value, float) else value


def _dotted(path: Path) -> str:
    return ".".join(str(key) for key in path)


def _where(at: Location) -> str:
    return SET.strip() if at.file.startswith(SET) else str(at)
