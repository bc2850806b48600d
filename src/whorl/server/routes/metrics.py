"""`/metrics`, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response

from whorl.errors import WhorlError
from whorl.server.metrics import MEDIA, Running, exposition
from whorl.server.routes.common import PROBLEMS, VIEWER, Service
from whorl.server.schemas import Job, JobStatus
from whorl.server.service import JobServer

router = APIRouter(tags=["server"], dependencies=VIEWER, responses=PROBLEMS)
_AT_WORK = (JobStatus.RUNNING, JobStatus.RESTARTING)


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(service: Service) -> Response:
    """All metrics in Prometheus' text format."""
    text = exposition([_looked(service, job) for job in service.jobs()], service.task_managers())
    return Response(text, media_type=MEDIA)


def _looked(service: JobServer, job: Job) -> Running:
    if job.status not in _AT_WORK:
        return Running(job)
    try:
        return Running(job, service.components(job.id), service.offsets(job.id))
    except WhorlError:
        return Running(job)  # deleted meanwhile, or its broker is away: the other jobs are told all the same
