"""The server itself: whether it lives, whether it is ready."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from whorl.server.problems import answer
from whorl.server.routes.common import PROBLEMS, Service
from whorl.server.schemas import Problem

router = APIRouter(tags=["server"], responses=PROBLEMS)


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process answers. Needs no token."""
    return {"status": "ok"}


@router.get("/readyz", response_model=dict[str, str])
def readyz(service: Service) -> Response | dict[str, str]:
    """Whether jobs can be taken and run; 503 names what is not ready. Needs no token."""
    if not (missing := service.not_ready()):
        return {"status": "ready"}
    detail = "; ".join(missing)
    return answer(Problem(title="Service Unavailable", status=503, detail=detail, code="not-ready"))
