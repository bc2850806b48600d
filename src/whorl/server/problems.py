"""Whatever goes wrong is answered with a problem document (RFC 9457): the code and hint of the command line, never a stack trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from whorl.errors import CheckFailed, Finding, PipelineError, PreflightFailed, UsageError, WhorlError
from whorl.server.schemas import FindingSaid, Problem

MEDIA = "application/problem+json"
_MISSING = {
    "no-history",
    "no-job",
    "no-operation",
    "no-component",
    "no-topic",
    "savepoint",
    "state-key",
    "state-operator",
}
_CONFLICT = {"already-running", "job-status", "not-running", "stop-timeout", "superseded"}
_BY_CODE = {
    **dict.fromkeys(_MISSING, 404),
    **dict.fromkeys(_CONFLICT, 409),
    "token": 401,
    "role": 403,
    "csrf": 403,
    "host": 403,
    "too-large": 413,
    "media": 415,
    "check": 422,
    "fenced": 503,
    "ha": 503,
    "not-leader": 503,
    "job-store": 507,
}
_BY_STATUS = {400: "usage", 401: "token", 403: "role", 404: "no-route", 405: "method", 413: "too-large", 415: "media"}


def install(app: FastAPI) -> None:
    app.add_exception_handler(WhorlError, _whorl)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def answer(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    return Response(problem.model_dump_json(), problem.status, headers, MEDIA)


def problem_of(error: WhorlError) -> Problem:
    """As REST and failed operations tell it."""
    status = _status(error)
    findings = error.findings if isinstance(error, CheckFailed | PreflightFailed) else ()
    where = f"{error.where}: " if error.where else ""
    return Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=f"{where}{error.message}",
        code=error.code,
        hint=error.hint,
        findings=said(findings),
    )


def said(findings: Iterable[Finding]) -> list[FindingSaid]:
    return [
        FindingSaid(
            code=found.code,
            message=found.message,
            hint=found.hint,
            file=found.at.file if found.at else None,
            line=found.at.line if found.at else None,
            column=found.at.column if found.at else None,
        )
        for found in findings
    ]


def _status(error: WhorlError) -> int:
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    if isinstance(error, PipelineError | PreflightFailed):
        return 422
    if isinstance(error, UsageError):
        return 400
    return 503 if error.retryable else 502


def _whorl(request: Request, error: Exception) -> Response:
    assert isinstance(error, WhorlError)
    problem = problem_of(error)
    return answer(problem, {"WWW-Authenticate": "Bearer"} if problem.status == 401 else None)


def _invalid(request: Request, error: Exception) -> Response:
    """All that is wrong with a request, at once."""
    assert isinstance(error, RequestValidationError)
    wrong = [f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in error.errors()]
    detail = "; ".join(wrong) or "the request cannot be read"
    status = 400 if any(each["type"] == "json_invalid" for each in error.errors()) else 422
    hint = "/docs tells what each request takes"
    return answer(Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, code="request", hint=hint))


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _BY_STATUS.get(error.status_code, "request")
    detail = f"there is nothing at '{request.url.path}'" if error.status_code == 404 else str(error.detail)
    hint = "/docs lists all there is" if error.status_code in (404, 405) else ""
    title = HTTPStatus(error.status_code).phrase
    problem = Problem(title=title, status=error.status_code, detail=detail, code=code, hint=hint)
    return answer(problem, error.headers)


def unforeseen(error: Exception) -> Problem:
    """What it says may be anybody's secret: only its kind is told."""
    title = HTTPStatus.INTERNAL_SERVER_ERROR.phrase
    detail = f"the server failed on this request: {type(error).__name__}"
    return Problem(title=title, status=500, detail=detail, code="internal", hint="the server's log has more")
