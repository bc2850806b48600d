"""What is asked of a job and takes a while: begun at once, told of in the store, done in a thread.

An operation that was under way when the server died is over: who asked looks at the job, which is what counts.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from whorl.errors import WhorlError, WorldError
from whorl.server.schemas import Operation, OperationStatus, Problem
from whorl.server.store import Store

_AT_ONCE = 16
Act = Callable[[], dict[str, Any]]


class Operations:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(_AT_ONCE, "whorl-operation")
        self._changed = threading.Condition()

    def close_left(self) -> None:
        """Those of a server that is no more."""
        for operation in self._store.operations():
            if operation.status is OperationStatus.RUNNING:
                hint = "look at the job: what was stored of it is carried on"
                error = WorldError("the server was started anew while this was under way", hint=hint, code="no-answer")
                self._end(operation, problem=problem_of(error))

    def begin(self, job: str, kind: str, act: Act) -> Operation:
        operation = Operation(
            id=uuid.uuid4().hex[:12], job=job, kind=kind, status=OperationStatus.RUNNING, begun=time.time()
        )
        self._store.put_operation(operation)
        self._pool.submit(self._carry_out, operation, act)
        return operation

    def _carry_out(self, operation: Operation, act: Act) -> None:
        try:
            self._end(operation, result=act())
        except WhorlError as error:
            self._end(operation, problem=problem_of(error))
        except Exception as error:
            what = WorldError(
                f"{type(error).__name__}: {error}"[:500], hint="the server's log says more", code="server"
            )
            self._end(operation, problem=problem_of(what))
            raise

    def _end(self, operation: Operation, result: dict[str, Any] | None = None, problem: Problem | None = None) -> None:
        status = OperationStatus.FAILED if problem else OperationStatus.DONE
        ended = {"status": status, "ended": time.time(), "result": result or {}, "problem": problem}
        with self._changed:
            self._store.put_operation(operation.model_copy(update=ended))
            self._changed.notify_all()

    def wait(self, operation: Operation, seconds: float) -> Operation:
        until = time.monotonic() + seconds
        with self._changed:
            while (now := self._store.operation(operation.id) or operation).status is OperationStatus.RUNNING:
                if (left := until - time.monotonic()) <= 0:
                    break
                self._changed.wait(left)
        return now

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def problem_of(error: WhorlError) -> Problem:
    status = {1: 422, 2: 400}.get(error.exit_code, 409)
    return Problem(title=type(error).__name__, status=status, detail=error.message, code=error.code, hint=error.hint)
