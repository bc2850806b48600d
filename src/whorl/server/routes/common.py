"""What routes share: the service they call, who is asking, and how something that takes long is answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from whorl.errors import UsageError
from whorl.server.access import Access, Role
from whorl.server.guard import SAFE
from whorl.server.problems import MEDIA
from whorl.server.schemas import Operation, OperationStatus
from whorl.server.service import JobServer

COOKIE = "whorl_session"
CSRF_HEADER = "x-csrf-token"
_LOOK = 0.1
"""Seconds between two looks at something that is awaited."""
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "description": "a problem document",
        "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    },
    "5XX": {
        "description": "a problem document",
        "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    },
}
Id = Annotated[str, Path(description="job id or pipeline name", min_length=1, max_length=200)]
Wait = Annotated[
    float, Query(ge=0, le=600, allow_inf_nan=False, description="seconds to wait for its end before the answer")
]


async def _service(request: Request) -> JobServer:
    service: JobServer = request.app.state.server
    return service


Service = Annotated[JobServer, Depends(_service)]


def role_of(request: Request) -> Role | None:
    """By bearer token, else by the session of a browser, which must show its CSRF token where it changes something."""
    access: Access = request.app.state.access
    if access.open:
        return Role.ADMIN
    if token := _bearer(request):
        return access.role(token)
    cookie = request.cookies.get(COOKIE, "")
    role = access.session_role(cookie)
    if role and request.method not in SAFE and request.headers.get(CSRF_HEADER, "") != access.csrf(cookie):
        raise UsageError("the request lacks the session's CSRF token", hint=f"send {CSRF_HEADER}", code="csrf")
    return role


def _bearer(request: Request) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def at_least(least: Role) -> Callable[[Request], Awaitable[None]]:
    async def check(request: Request) -> None:
        role = role_of(request)
        if role is None:
            hint = "send 'Authorization: Bearer TOKEN', or --token TOKEN on the command line"
            raise UsageError("no valid token was given", hint=hint, code="token")
        if role < least:
            what = f"{request.method} {request.url.path} is for the role {least.word}, this token is of a {role.word}"
            raise UsageError(what, hint=f"use a token of the role {least.word}", code="role")

    return check


async def _manager(request: Request) -> None:
    """A task manager that the server started itself has a token for this alone; others have one of an admin."""
    access: Access = request.app.state.access
    if not access.is_manager(_bearer(request)):
        await _admin(request)


_admin = at_least(Role.ADMIN)
MANAGER = [Depends(_manager)]
VIEWER = [Depends(at_least(Role.VIEWER))]
OPERATOR = [Depends(at_least(Role.OPERATOR))]
ADMIN = [Depends(_admin)]


async def begun(request: Request, operation: Operation, wait: float) -> Response:
    """200 when it is over, else 202 and where to look."""
    operation = await awaited(request.app.state.server, operation, wait)
    request.app.state.listing.forget()
    over = operation.status is not OperationStatus.RUNNING
    where = f"/jobs/{operation.job}/operations/{operation.id}"
    return Response(operation.model_dump_json(), 200 if over else 202, {"Location": where}, "application/json")


async def awaited(service: JobServer, operation: Operation, wait: float) -> Operation:
    """Holds no thread meanwhile, so that many may wait."""
    until = time.monotonic() + wait
    while operation.status is OperationStatus.RUNNING and time.monotonic() < until:
        await asyncio.sleep(_LOOK)
        operation = await run_in_threadpool(service.operation, operation.job, operation.id)
    return operation


OPERATION: dict[int | str, dict[str, Any]] = {
    200: {"model": Operation, "description": "it is over"},
    202: {"model": Operation, "description": "it has begun; Location tells where to look"},
    **PROBLEMS,
}
