"""Where task managers join, say that they live, and get their orders."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from whorl.server.orders import Beat, Hello, Orders, Welcome
from whorl.server.routes.common import MANAGER, PROBLEMS, VIEWER, Service
from whorl.server.schemas import TaskManagerSaid

router = APIRouter(prefix="/taskmanagers", tags=["task managers"], responses=PROBLEMS)


class Zip(Response):
    media_type = "application/zip"


ManagerId = Annotated[str, Path(min_length=1, max_length=200)]


@router.get("", dependencies=VIEWER)
def task_managers(service: Service) -> list[TaskManagerSaid]:
    """All that are known, with what they run."""
    return service.task_managers()


@router.post("", dependencies=MANAGER)
def join(hello: Hello, service: Service) -> Welcome:
    """A task manager is there, perhaps with a job that it runs already."""
    return service.join(hello)


@router.post("/{id}/heartbeat", dependencies=MANAGER)
def heartbeat(id: ManagerId, beat: Beat, service: Service) -> Orders:
    """It lives, and runs this; the answer is what it is to do."""
    return service.heartbeat(id, beat)


@router.get("/bundles/{job}", dependencies=MANAGER, response_class=Zip)
def bundle(job: ManagerId, service: Service) -> Response:
    """The files of a job, as a zip."""
    return Zip(service.bundle(job))


@router.delete("/{id}", status_code=204, dependencies=MANAGER)
def leave(id: ManagerId, service: Service) -> Response:
    """It ends."""
    service.leave(id)
    return Response(status_code=204)
