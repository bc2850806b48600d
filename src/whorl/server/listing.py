"""The list of all jobs as bytes. Many clients ask for it every second; it is made a few times a second at most.

Who has changed something sees it in the next list.
"""

from __future__ import annotations

import asyncio
import time

from starlette.concurrency import run_in_threadpool

from whorl.server.schemas import JobList
from whorl.server.service import JobServer

FRESH = 0.25
"""Seconds for which a list is good."""


class Listing:
    def __init__(self, service: JobServer) -> None:
        self._service = service
        self._body, self._until, self._changes = b"", 0.0, 0
        self._making = asyncio.Lock()

    async def body(self) -> bytes:
        if time.monotonic() < self._until:
            return self._body
        async with self._making:
            if time.monotonic() >= self._until:
                changes = self._changes
                self._body = await run_in_threadpool(self._made)
                self._until = time.monotonic() + FRESH if changes == self._changes else 0.0
        return self._body

    def forget(self) -> None:
        self._changes += 1
        self._until = 0.0

    def _made(self) -> bytes:
        return JobList(jobs=self._service.jobs()).model_dump_json().encode()
