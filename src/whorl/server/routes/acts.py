"""What can be done to a job. Each begins at once, and is an operation to ask after."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from whorl.errors import UsageError
from whorl.server.bodies import RescaleOrder, ResumeOrder, SavepointOrder, StopOrder
from whorl.server.routes.common import OPERATION, OPERATOR, Id, Service, Wait, begun
from whorl.server.schemas import Operation

router = APIRouter(prefix="/jobs/{id}", tags=["acts"], dependencies=OPERATOR)
ComponentId = Annotated[str, Path(min_length=1, max_length=200)]


@router.post("/stop", status_code=202, response_model=Operation, responses=OPERATION)
async def stop(id: Id, service: Service, request: Request, order: StopOrder | None = None, wait: Wait = 0) -> Response:
    """Finish the batch, take a savepoint, and stop; `resume` goes on."""
    order = order or StopOrder()
    done = await run_in_threadpool(service.stop, id, order.savepoint, order.name, order.timeout)
    return await begun(request, done, wait)


@router.post("/cancel", status_code=202, response_model=Operation, responses=OPERATION)
async def cancel(id: Id, service: Service, request: Request, wait: Wait = 0) -> Response:
    """End it at once, without a savepoint."""
    return await begun(request, await run_in_threadpool(service.cancel, id), wait)


@router.post("/resume", status_code=202, response_model=Operation, responses=OPERATION)
async def resume(
    id: Id, service: Service, request: Request, order: ResumeOrder | None = None, wait: Wait = 0
) -> Response:
    """Go on from a savepoint, or from where it was."""
    order = order or ResumeOrder()
    return await begun(request, await run_in_threadpool(service.resume, id, order.savepoint), wait)


@router.post("/savepoints", status_code=202, response_model=Operation, responses=OPERATION)
async def savepoint(
    id: Id, service: Service, request: Request, order: SavepointOrder | None = None, wait: Wait = 0
) -> Response:
    """Save state and positions. A job that runs pauses at a commit, and goes on."""
    order = order or SavepointOrder()
    return await begun(request, await run_in_threadpool(service.savepoint, id, order.name), wait)


@router.post("/rescale", status_code=202, response_model=Operation, responses=OPERATION)
async def rescale(id: Id, service: Service, request: Request, order: RescaleOrder, wait: Wait = 0) -> Response:
    """Another number of tasks or logical partitions."""
    if order.tasks is None and order.partitions is None:
        raise UsageError("neither tasks nor partitions is given", hint="say how many there are to be")
    done = await run_in_threadpool(service.rescale, id, order.tasks or 0, order.partitions or 0, order.dry_run)
    return await begun(request, done, wait)


@router.post("/components/{component}/restart", status_code=202, response_model=Operation, responses=OPERATION)
async def restart(id: Id, component: ComponentId, service: Service, request: Request, wait: Wait = 0) -> Response:
    """Start one component again; the others are left alone."""
    return await begun(request, await run_in_threadpool(service.restart_component, id, component), wait)
