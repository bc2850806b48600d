"""What Prometheus scrapes: one table of metrics, each with its unit in its name, and the text that they make.

A value that nobody knows yet is left out. Counters start again at 0 when a component does, as Prometheus expects.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from whorl.server.schemas import Component, ComponentStatus, Job, JobStatus, Offset, TaskManagerSaid

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
_STARTED = time.time()
Of = TypeVar("Of")
Labels = Mapping[str, str]
Sample = tuple[Labels, float | None]


@dataclass(frozen=True)
class Running:
    """A job, as far as its parts are known."""

    job: Job
    components: Sequence[Component] = ()
    offsets: Sequence[Offset] = ()


@dataclass(frozen=True)
class Metric(Generic[Of]):
    name: str
    kind: str
    help: str
    value: Callable[[Of], float | None]


JOB: Sequence[Metric[Job]] = (
    Metric("whorl_job_up", "gauge", "1 while the job is RUNNING.", lambda job: job.status is JobStatus.RUNNING),
    Metric("whorl_job_created_timestamp_seconds", "gauge", "When it was submitted.", lambda job: job.created),
    Metric("whorl_job_started_timestamp_seconds", "gauge", "When it started last.", lambda job: job.started),
    Metric("whorl_job_restarts_total", "counter", "Starts after a failure.", lambda job: job.restarts),
    Metric("whorl_job_slots", "gauge", "Slots that it needs.", lambda job: job.slots),
)
COMPONENT: Sequence[Metric[Component]] = (
    Metric(
        "whorl_component_up",
        "gauge",
        "1 while the component is RUNNING.",
        lambda each: each.status is ComponentStatus.RUNNING,
    ),
    Metric("whorl_component_tasks", "gauge", "Tasks that it has.", lambda each: each.tasks),
    Metric(
        "whorl_component_logical_partitions",
        "gauge",
        "Logical partitions that it has.",
        lambda each: each.logical_partitions,
    ),
    Metric("whorl_component_records_read_total", "counter", "Records read since its start.", lambda each: each.read),
    Metric(
        "whorl_component_records_written_total",
        "counter",
        "Records written since its start.",
        lambda each: each.written,
    ),
    Metric("whorl_component_dead_letters_total", "counter", "Dead letters since its start.", lambda each: each.dead),
    Metric("whorl_component_failures_total", "counter", "Failures of it.", lambda each: each.failures),
    Metric("whorl_component_lag_records", "gauge", "Records that wait for it.", lambda each: each.lag),
    Metric("whorl_component_busy_ratio", "gauge", "Share of its time at work.", lambda each: each.busy),
    Metric("whorl_component_state_keys", "gauge", "Keys that it keeps state of.", lambda each: each.state_keys),
    Metric("whorl_component_state_bytes", "gauge", "Size of its state.", lambda each: each.state_bytes),
    Metric(
        "whorl_component_batch_seconds", "gauge", "Time of its last commit or batch.", lambda each: _s(each.batch_ms)
    ),
    Metric(
        "whorl_component_watermark_timestamp_seconds",
        "gauge",
        "Event time that it has reached.",
        lambda each: each.watermark,
    ),
)
OFFSET: Sequence[Metric[Offset]] = (
    Metric("whorl_topic_lag_records", "gauge", "Records of a partition that wait.", lambda each: each.lag),
    Metric("whorl_topic_committed_offset", "gauge", "Position of the component.", lambda each: each.committed),
    Metric("whorl_topic_latest_offset", "gauge", "End of the partition.", lambda each: each.latest),
)
MANAGER: Sequence[Metric[TaskManagerSaid]] = (
    Metric("whorl_task_manager_slots", "gauge", "Slots that it offers.", lambda each: each.slots),
    Metric("whorl_task_manager_load_ratio", "gauge", "Share of a core that it takes.", lambda each: each.load),
    Metric(
        "whorl_task_manager_heartbeat_age_seconds",
        "gauge",
        "Time since it was heard of.",
        lambda each: each.heartbeat_age,
    ),
)
LATENCY = Metric[float]("whorl_component_latency_seconds", "gauge", "Record timestamp to commit.", lambda value: value)
JOBS = Metric[float]("whorl_jobs", "gauge", "Jobs by status.", lambda value: value)
SERVER: Sequence[Metric[resource.struct_rusage]] = (
    Metric(
        "whorl_server_cpu_seconds_total", "counter", "CPU time of the server.", lambda use: use.ru_utime + use.ru_stime
    ),
    Metric("whorl_server_started_timestamp_seconds", "gauge", "When the server started.", lambda use: _STARTED),
    Metric("whorl_server_resident_memory_bytes", "gauge", "Memory of the server.", lambda use: _resident()),
)
NAMES = [metric.name for table in (JOB, COMPONENT, OFFSET, MANAGER, SERVER) for metric in table] + [
    LATENCY.name,
    JOBS.name,
]


def exposition(running: Sequence[Running], managers: Sequence[TaskManagerSaid]) -> str:
    return "".join(_families(running, managers))


def _families(running: Sequence[Running], managers: Sequence[TaskManagerSaid]) -> Iterator[str]:
    jobs = [(_job(each), each.job) for each in running]
    components = [({**_job(each), "component": own.id}, own) for each in running for own in each.components]
    offsets = [(_place(each, own), own) for each in running for own in each.offsets]
    by_status = {status: sum(each.job.status is status for each in running) for status in JobStatus}
    yield _family(JOBS, [({"status": status}, float(number)) for status, number in by_status.items()])
    yield from (_family(metric, jobs) for metric in JOB)
    yield from (_family(metric, components) for metric in COMPONENT)
    yield _family(LATENCY, list(_latencies(components)))
    yield from (_family(metric, offsets) for metric in OFFSET)
    yield from (_family(metric, [(_manager(each), each) for each in managers]) for metric in MANAGER)
    yield from (_family(metric, [({}, resource.getrusage(resource.RUSAGE_SELF))]) for metric in SERVER)


def _family(metric: Metric[Of], of: Iterable[tuple[Labels, Of]]) -> str:
    samples = [(labels, metric.value(each)) for labels, each in of]
    lines = [_line(metric.name, labels, value) for labels, value in samples if value is not None]
    return f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.kind}\n{''.join(lines)}"


def _line(name: str, labels: Labels, value: float) -> str:
    inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{inner}}} {float(value)!r}\n" if inner else f"{name} {float(value)!r}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _job(each: Running) -> dict[str, str]:
    return {"job": each.job.id, "pipeline": each.job.pipeline}


def _place(each: Running, own: Offset) -> dict[str, str]:
    return {**_job(each), "component": own.component, "topic": own.topic, "partition": str(own.partition)}


def _manager(each: TaskManagerSaid) -> dict[str, str]:
    return {"task_manager": each.id, "host": each.host, "status": each.status}


def _latencies(components: Iterable[tuple[Labels, Component]]) -> Iterator[tuple[Labels, float]]:
    for labels, each in components:
        for name, milliseconds in each.latency_ms.items():
            yield {**labels, "quantile": str(float(name.removeprefix("p")) / 100)}, milliseconds / 1000


def _s(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _resident() -> float | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return float(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return None
