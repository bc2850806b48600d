"""Who has which part of a job. One task manager leads: it is the job's driver and has its queries. The others are members, each with a seat.

A seat is a task manager and the how manieth giving it was, so that none is ever had twice: what was said to an earlier one is not heard, and
what is told of it does not count.
"""

from __future__ import annotations

from whorl.server.orders import Run
from whorl.server.records import JobRecord
from whorl.server.schemas import Component, ComponentStatus, Health, Report


def seat(record: JobRecord, manager: str) -> str:
    return f"{manager}.{record.start_of(manager)}"


def manager_of(seat: str) -> str:
    return seat.partition(".")[0]


def run_of(record: JobRecord, manager: str) -> Run:
    leads = record.is_led_by(manager)
    return Run(
        job=record.id,
        attempt=record.start_of(manager),
        pipeline=record.pipeline,
        file=record.file,
        bundle=record.bundle,
        settings=record.settings,
        profile=record.profile,
        savepoint=record.resume_from if leads else "",
        seat="" if leads else seat(record, manager),
        elsewhere=elsewhere(record) if leads else {},
        adopts=_older(record, manager) if leads else [],
    )


def _older(record: JobRecord, leader: str) -> list[str]:
    """Components that members had before it led."""
    start = record.start_of(leader)
    return [id for manager, ids in record.task_managers.items() if record.start_of(manager) < start for id in ids]


def elsewhere(record: JobRecord) -> dict[str, str]:
    """Components that its leader does not have, and their seats: empty, while nobody has them."""
    taken = {id: manager for manager, ids in record.task_managers.items() for id in ids}
    away = [part.id for part in record.known.parts if not record.is_led_by(taken.get(part.id, ""))]
    return {id: seat(record, taken[id]) if id in taken else "" for id in away}


def vouched(record: JobRecord, report: Report) -> Report:
    """What the leader says of components, by task manager: of those that it has not found in their new seats yet, that they start again."""
    seats = elsewhere(record)
    return report.model_copy(
        update={"components": [_vouched(each, seats.get(each.id), record) for each in report.components]}
    )


def _vouched(component: Component, now: str | None, record: JobRecord) -> Component:
    manager = manager_of(component.task_manager)
    if now is None or now == component.task_manager:
        return component.model_copy(update={"task_manager": manager})
    given = next((id for id, ids in record.task_managers.items() if component.id in ids), "")
    return component.model_copy(
        update={"status": ComponentStatus.RESTARTING, "health": Health.DEGRADED, "task_manager": given}
    )
