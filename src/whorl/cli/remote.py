"""The job server, as verbs talk to it: which one is meant, what it answers, and its problems as errors of the command line."""

from __future__ import annotations

import os
from typing import Annotated, Any

import httpx
import typer

from whorl.config.framework import named
from whorl.errors import CheckFailed, Finding, Location, PipelineError, Unavailable, UsageError, WhorlError, WorldError
from whorl.server.schemas import Job, JobStatus, Operation, OperationStatus, Problem

DEFAULT = "http://127.0.0.1:8765"
SERVER, TOKEN, CA = "WHORL_SERVER", "WHORL_TOKEN", "WHORL_CA"
_PATIENCE = 60.0
_A_LOOK = httpx.Timeout(2.0, connect=0.5)
_AT_WORK = (JobStatus.CREATED, JobStatus.RUNNING, JobStatus.RESTARTING)

ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server", metavar="URL", help=f"The job server; {SERVER} says it too. Else {DEFAULT}.", show_default=False
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", help=f"For the job server; {TOKEN} says it too.", show_default=False),
]
JobId = Annotated[str, typer.Argument(metavar="ID", help="Job id or pipeline name.", show_default=False)]


class Remote:
    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        token = token or os.environ.get(TOKEN, "")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        verify: Any = os.environ.get(CA) or True
        self._http = httpx.Client(headers=headers, timeout=_PATIENCE, verify=verify)

    def get(self, path: str, **query: Any) -> Any:
        return self._ask("GET", path, query).json()

    def post(self, path: str, body: Any = None, **query: Any) -> Any:
        return self._ask("POST", path, query, json=body).json()

    def upload(self, path: str, packed: bytes, **query: Any) -> Any:
        return self._ask("POST", path, query, content=packed, headers={"Content-Type": "application/zip"}).json()

    def delete(self, path: str) -> None:
        self._ask("DELETE", path, {})

    def act(self, id: str, act: str, body: Any = None) -> Operation:
        """Begins it, and waits until it is over."""
        operation = Operation.model_validate(self.post(f"/jobs/{id}/{act}", body))
        while operation.status is OperationStatus.RUNNING:
            where = f"/jobs/{operation.job}/operations/{operation.id}"
            operation = Operation.model_validate(self.get(where, wait=_PATIENCE / 2))
        if operation.problem is not None:
            raise error_of(operation.problem)
        return operation

    def knows(self, id: str) -> Job | None:
        """Whether there is such a job; None also where no server answers."""
        try:
            answer = self._http.get(f"{self.url}/jobs/{id}", timeout=_A_LOOK)
            return (
                Job.model_validate({name: answer.json()[name] for name in Job.model_fields})
                if answer.is_success
                else None
            )
        except (httpx.HTTPError, ValueError, KeyError):
            return None

    def _ask(self, method: str, path: str, query: dict[str, Any], **options: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, self.url + path, params=query, **options)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            hint = f"'whorl serve' starts one; --server or {SERVER} names another"
            what = f"no job server answers at '{self.url}': {error or type(error).__name__}"
            raise Unavailable(what, hint=hint, code="server-unreachable") from None
        if not answer.is_success:
            raise _refusal(answer)
        return answer


def server_of(url: str | None, token: str | None) -> Remote:
    return Remote(url or os.environ.get(SERVER) or DEFAULT, token)


def job_of(of: str, url: str | None, token: str | None, at_work: bool = True) -> tuple[Remote, str] | None:
    """Where the job server has the pipeline that is meant, by file, name or id: the server and the id. A server that was named is believed
    to have it; one on the default port is asked, and must have it at work, or else a pipeline in somebody's terminal may be meant."""
    told = url or os.environ.get(SERVER)
    id = of if not os.path.isfile(of) else named(of).name
    remote = Remote(told or DEFAULT, token)
    if told:
        return remote, id
    job = remote.knows(id)
    return (remote, id) if job and (not at_work or job.status in _AT_WORK) else None


def error_of(problem: Problem) -> WhorlError:
    if problem.findings:
        return CheckFailed(
            Finding(
                each.code,
                each.message,
                each.hint,
                Location(each.file, each.line or 1, each.column or 1) if each.file else None,
            )
            for each in problem.findings
        )
    kind = {400: UsageError, 422: PipelineError if problem.code != "request" else UsageError}.get(
        problem.status, WorldError
    )
    return kind(problem.detail, hint=problem.hint, code=problem.code)


def _refusal(answer: httpx.Response) -> WhorlError:
    try:
        return error_of(Problem.model_validate_json(answer.content))
    except ValueError:
        what = f"'{answer.url.copy_with(query=None)}' answered {answer.status_code}, as no job server does"
        return WorldError(what, hint="see what listens there", code="server-unreachable")
