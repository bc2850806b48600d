"""Jobs as a whole: submitted, looked at, deleted."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from whorl.server.routes.common import ADMIN, OPERATOR, PROBLEMS, VIEWER, Id, Service
from whorl.server.routes.reading import BODY, read
from whorl.server.schemas import FindingSaid, Job, JobDetail, JobList

router = APIRouter(tags=["jobs"], responses=PROBLEMS)
_UPLOAD: dict[str, Any] = {"requestBody": BODY}
Name = Annotated[str | None, Query(min_length=1, max_length=200, description="of the job; else the pipeline's")]
File = Annotated[str | None, Query(min_length=1, max_length=300, description="which of the files is the pipeline")]
Profile = Annotated[str | None, Query(min_length=1, max_length=200, description="of the whorl.yaml among the files")]
Sets = Annotated[list[str], Query(alias="set", max_length=200, description="a setting: name=value")]


@router.post("/jobs", status_code=201, dependencies=OPERATOR, openapi_extra=_UPLOAD, response_model=Job)
async def submit(
    request: Request,
    service: Service,
    name: Name = None,
    file: File = None,
    profile: Profile = None,
    sets: Sets = [],  # noqa: B006
) -> Response:
    """Submit a pipeline: its file and the modules beside it. It starts as soon as there are slots."""
    upload = await read(request, file)
    given = (name or upload.name, (*upload.settings, *sets), profile or upload.profile)
    job = await run_in_threadpool(service.submit, upload.submission, *given)
    request.app.state.listing.forget()
    return Response(job.model_dump_json(), 201, {"Location": f"/jobs/{job.id}"}, "application/json")


@router.post("/check", dependencies=OPERATOR, openapi_extra=_UPLOAD)
async def check(request: Request, service: Service, file: File = None, profile: Profile = None) -> list[FindingSaid]:
    """All that is wrong with a pipeline, by line. Nothing is kept or started."""
    upload = await read(request, file)
    return await run_in_threadpool(service.check, upload.submission, profile or upload.profile)


@router.get("/jobs", dependencies=VIEWER, response_model=JobList)
async def jobs(request: Request) -> Response:
    """All jobs, newest first."""
    return Response(await request.app.state.listing.body(), media_type="application/json")


@router.get("/jobs/{id}", dependencies=VIEWER)
def job(id: Id, service: Service) -> JobDetail:
    """One job, with its pipeline, settings and components; secrets are masked."""
    return service.job(id)


@router.delete("/jobs/{id}", status_code=204, dependencies=ADMIN)
def delete(id: Id, service: Service, request: Request) -> Response:
    """Forget a job that does not run. Its topics and savepoints stay."""
    service.delete(id)
    request.app.state.listing.forget()
    return Response(status_code=204)
