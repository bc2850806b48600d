"""What can be seen of one job."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.concurrency import run_in_threadpool

from whorl.plan.layout import placed
from whorl.server.routes.common import PROBLEMS, VIEWER, Id, Service, Wait, awaited
from whorl.server.schemas import (
    AdviceSaid,
    Checkpoints,
    Component,
    Failure,
    LogLine,
    Offset,
    Operation,
    Partition,
    Sample,
)

router = APIRouter(prefix="/jobs/{id}", tags=["views"], dependencies=VIEWER, responses=PROBLEMS)
_LOOK = 0.25
After = Annotated[int, Query(ge=0, le=2**62, description="the number of the last line that is known")]
Most = Annotated[int, Query(ge=1, le=10_000)]
OperationId = Annotated[str, Path(min_length=1, max_length=200)]


@router.get("/plan")
def plan(id: Id, service: Service) -> dict[str, Any]:
    """The plan, as `whorl plan --json` has it; nodes with `column` and `row` to draw them, edges with the `points` they pass."""
    return placed(service.plan(id))


@router.get("/components")
def components(id: Id, service: Service) -> list[Component]:
    """How each component fares, and where it runs."""
    return service.components(id)


@router.get("/partitions")
def partitions(id: Id, service: Service) -> list[Partition]:
    """Logical partitions: where they are, and their failures."""
    return service.partitions(id)


@router.get("/offsets")
def offsets(id: Id, service: Service) -> list[Offset]:
    """Positions and lag by topic partition."""
    return service.offsets(id)


@router.get("/checkpoints")
def checkpoints(id: Id, service: Service) -> Checkpoints:
    """The newest commits and checkpoints, and the savepoints."""
    return service.checkpoints(id)


@router.get("/exceptions")
def exceptions(id: Id, service: Service) -> list[Failure]:
    """Failures, newest first, with the user's own line."""
    return service.exceptions(id)


@router.get("/feedback")
def feedback(id: Id, service: Service) -> list[AdviceSaid]:
    """What could be better in how it runs, from what it told within the hour, and which setting changes it. It may be half a minute old."""
    return service.feedback(id)


@router.get("/history")
def history(id: Id, service: Service) -> list[Sample]:
    """Rates, lag and batch times of the past, for charts."""
    return service.history(id)


@router.get("/logs")
async def logs(id: Id, service: Service, after: After = 0, limit: Most = 1000, wait: Wait = 0) -> list[LogLine]:
    """Lines with a number above `after`, oldest first. With `wait` the answer comes when there is one, or when that time is over."""
    until = time.monotonic() + wait
    while True:
        lines = await run_in_threadpool(service.logs, id, after, limit)
        if lines or time.monotonic() >= until:
            return lines
        await asyncio.sleep(_LOOK)


@router.get("/operations/{operation}")
async def operation(id: Id, operation: OperationId, service: Service, wait: Wait = 0) -> Operation:
    """How far a stop, savepoint, resume or rescale is."""
    found = await run_in_threadpool(service.operation, id, operation)
    return await awaited(service, found, wait)
