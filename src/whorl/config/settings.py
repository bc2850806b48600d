"""Settings, and which layer each value came from.

Later layers win: defaults, whorl.yaml, its profile, the pipeline's `settings`, `--set`. Maps are merged key by key.
What is wrong in any layer is found where it is written, and its default stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from whorl.config.contradictions import contradictions
from whorl.config.flavours import translated
from whorl.config.groups import Cleaner, Deploy, Engine, Logging, Resources
from whorl.config.offset_stores import StartFrom, Store
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


class Autoscale(Options):
    """How many tasks a job has under the job server, by the records that wait."""

    min: int = Field(default=1, ge=1, description="the fewest tasks of each component")
    max: int = Field(ge=1, description="the most; never more than there are logical partitions")
    lag: int = Field(
        ge=1,
        description="records that may wait: with more for 10 s the tasks are doubled, with hardly any for 60 s one goes",
    )


class HiveSettings(Options):
    """Where Hive tables are known and kept."""

    metastore: str = Field(
        default="", description="thrift://host:9083; without it a metastore of this machine alone, one Spark at a time"
    )
    derby: str = Field(
        default=".whorl/metastore", min_length=1, description="folder of the metastore, where `metastore` names none"
    )
    warehouse: str = Field(
        default=".whorl/warehouse", min_length=1, description="folder of tables; any URL of a Hadoop file system"
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
    autoscale: Autoscale | None = Field(
        default=None, description="under the job server: the number of tasks follows the lag"
    )
    dynamic_allocation: bool = Field(
        default=False,
        description="Spark itself takes and gives back executors; only where all components run in queries",
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
    max_rate_per_partition: float | None = Field(
        default=None,
        gt=0,
        description="the most records a second of each partition of a source; a query then starts a batch every second, unless "
        "`trigger` is an interval",
    )
    backpressure: bool = Field(
        default=False,
        description="tasks take as many records at a time as they can process in `commit_interval`; a query as many in a batch as it can "
        "in its `trigger`, where that is an interval",
    )
    min_rate: float = Field(
        default=100.0,
        gt=0,
        description="records a second that backpressure never goes below, of each task, and of each source of a query",
    )
    fair: bool = Field(
        default=True,
        description="tasks that read several topics take from each in turn, so that none waits behind the backlog of another",
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
    offsets: list[Store] = Field(
        default_factory=list,
        description="where else progress is shown, several at once: zookeeper://host:port/chroot, redis://host:port/0, file:path, "
        "kafka:GROUP; see [offsets](offsets.md)",
    )
    start_from: StartFrom | None = Field(
        default=None,
        description="whose offsets sources begin at when the pipeline has no position of its own yet: offsets+URL of a store, such as "
        "`offsets+kafka:GROUP`",
    )
    on_gap: Literal["fail", "earliest"] = Field(
        default="fail",
        description="when records are gone from Kafka before they were read: fail, or go on at the earliest; both say how many",
    )
    dead_letter_topic: str | None = Field(default=None, description="where bad records go; without it NAME.dead")
    create_topics: bool = Field(default=True, description="source and sink topics that are missing are created")
    partitions: int = Field(default=4, ge=1, description="of source and sink topics that Whorl creates")
    state: StateSettings = Field(default_factory=StateSettings, description="where state is kept")
    hive: HiveSettings = Field(default_factory=HiveSettings, description="where Hive tables are")
    restart: Restart = Field(default_factory=Restart, description="what follows the failure of a task")
    master: str = Field(
        default="local", description="where Spark runs: local (as many threads as needed), local[n], spark://host:port"
    )
    resources: Resources = Field(default_factory=Resources, description="what a job takes of the cluster")
    deploy: Deploy = Field(default_factory=Deploy, description="how a job is started on a cluster")
    ha: str | None = Field(
        default=None,
        description="of the job server: zookeeper://host:port/path, where several servers elect their leader",
    )
    cleaner: Cleaner = Field(default_factory=Cleaner, description="what is deleted of what former lives leave behind")
    logging: Logging = Field(default_factory=Logging, description="what is told while something runs, and where")
    kafka: dict[str, Any] = Field(
        default_factory=dict, description="passed on to every Kafka client, as librdkafka names it"
    )
    spark: dict[str, Any] = Field(
        default_factory=dict,
        description="passed on to Spark, over all that Whorl sets: spark.*; the first word may be left out",
    )
    py_files: list[str] = Field(default_factory=list, description="Python files and zips that executors need")
    archives: list[str] = Field(default_factory=list, description="archives that executors unpack")
    engine: Engine = Field(default="spark", description="what runs pipelines: spark, there is no other")


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
    own = frozenset((*Settings.model_fields, *also))
    translations = [translated(layer, own) for layer in layers]
    merged = reduce(merge, (done.tree for done in translations), empty(""))
    settings, findings = validate(Settings, merged, merged.at, "settings", also)
    settings = settings or Settings()
    findings += [found for done in translations for found in done.findings]
    findings += contradictions(settings, merged)
    return Effective(settings, list(_origins(Settings(), merged, ())), findings)


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
