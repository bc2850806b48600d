"""What is told of a job: what the store knows, and what its task managers said last. What nobody vouches for any more is LOST."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whorl.config.shown import masked_text
from whorl.server.records import JobRecord
from whorl.server.schemas import CheckpointSaid, Component, ComponentStatus, Health, Job, JobDetail, JobStatus, Report

_WORST = [Health.NONE, Health.OK, Health.STARTING, Health.DEGRADED, Health.FAILED]


def components_of(record: JobRecord, reports: Sequence[Report], silent: Sequence[str]) -> list[Component]:
    """`reports`: of task managers that are alive and meant to run it; `silent`: those that are meant to, and are not heard."""
    told = {component.id: component for report in reports for component in report.components}
    lost = {id for manager in silent for id in record.task_managers[manager]}
    return [
        told[part.id]
        if part.id in told and part.id not in lost
        else Component(
            id=part.id,
            host=part.host,
            operators=part.operators,
            **_not_told(record, part.id, silent),
        )
        for part in record.known.parts
    ]


def _not_told(record: JobRecord, component: str, silent: Sequence[str]) -> dict[str, object]:
    manager = next((id for id, ids in record.task_managers.items() if component in ids), "")
    if not record.is_living:
        failed = record.status is JobStatus.FAILED
        status = ComponentStatus.FAILED if failed else ComponentStatus.STOPPED
        return {"status": status, "health": Health.FAILED if failed else Health.NONE}
    if manager in silent:
        return {"status": ComponentStatus.LOST, "health": Health.FAILED, "task_manager": manager}
    if record.status is JobStatus.RESTARTING:
        return {"status": ComponentStatus.RESTARTING, "health": Health.DEGRADED, "task_manager": manager}
    status = ComponentStatus.STARTING if manager else ComponentStatus.WAITING
    return {"status": status, "health": Health.STARTING, "task_manager": manager}


def job_of(record: JobRecord, components: Sequence[Component]) -> Job:
    return Job(**_fields(record, components))


def detail_of(record: JobRecord, components: Sequence[Component], reports: Sequence[Report]) -> JobDetail:
    return JobDetail(
        **_fields(record, components),
        file=record.file,
        text=masked_text(record.known.text),
        settings=record.known.origins,
        components=list(components),
        spark_ui=next((report.spark_ui for report in reports if report.spark_ui), ""),
        notices=[notice for report in reports for notice in report.notices],
    )


def checkpoints_of(reports: Sequence[Report]) -> list[CheckpointSaid]:
    """The newest of each component."""
    return [
        CheckpointSaid(
            component=component.id,
            kind="checkpoint" if component.host == "query" else "commit",
            at=report.at,
            ms=component.batch_ms,
        )
        for report in reports
        for component in report.components
    ]


def health_of(record: JobRecord, components: Sequence[Component]) -> Health:
    """The worst of its components."""
    if record.status is JobStatus.FAILED:
        return Health.FAILED
    if not record.is_living:
        return Health.NONE
    worst = max((each.health for each in components), key=_WORST.index, default=Health.STARTING)
    return max(worst, Health.DEGRADED if record.status is JobStatus.RESTARTING else worst, key=_WORST.index)


def _fields(record: JobRecord, components: Sequence[Component]) -> dict[str, object]:
    runs = record.is_living
    return {
        "id": record.id,
        "name": record.name,
        "pipeline": record.pipeline,
        "status": record.status,
        "health": health_of(record, components),
        "reason": record.reason,
        "created": record.created,
        "started": record.started,
        "ended": record.ended,
        "restarts": record.restarts,
        "tasks": record.tasks,
        "slots": record.slots,
        "task_managers": list(record.task_managers),
        "savepoint": record.savepoint,
        "rate_in": _total(each.rate_in for each in components) if runs else None,
        "rate_out": _total(each.rate_out for each in components) if runs else None,
        "lag": _total(each.lag for each in components) if all(each.lag is not None for each in components) else None,
        "busy": max((each.busy for each in components if each.busy is not None), default=None),
        "state_bytes": _total(each.state_bytes for each in components),
        "batch_ms": max((each.batch_ms for each in components if each.batch_ms is not None), default=None),
    }


def _total(values: Iterable[float | None]) -> float | None:
    """None where nobody knows any."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
