"""The job server, as a task manager talks to it: several addresses may be given, one of them leads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import httpx

from whorl.errors import Unavailable, UsageError, WorldError
from whorl.server.orders import Beat, Hello, Orders, Welcome

TOKEN = "WHORL_TOKEN"


class Server:
    def __init__(self, urls: Sequence[str], timeout: float = 5.0, verify: str | bool = True) -> None:
        if not urls:
            raise UsageError("no server is named", hint="give one with --join http://host:port")
        self._urls = [url.rstrip("/") for url in urls]
        token = os.environ.get(TOKEN, "")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(timeout=timeout, headers=headers, verify=verify, follow_redirects=True)

    def join(self, hello: Hello) -> Welcome:
        return Welcome.model_validate(self._ask("POST", "/taskmanagers", hello.model_dump(mode="json")).json())

    def beat(self, id: str, beat: Beat) -> Orders:
        said = self._ask("POST", f"/taskmanagers/{id}/heartbeat", beat.model_dump(mode="json"))
        orders = Orders.model_validate(said.json())
        self._urls += [url for url in orders.servers if url not in self._urls]
        return orders

    def bundle(self, job: str) -> bytes:
        return self._ask("GET", f"/taskmanagers/bundles/{job}").content

    def leave(self, id: str) -> None:
        self._ask("DELETE", f"/taskmanagers/{id}")

    def _ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """The one that answered last is asked first."""
        reason = ""
        for url in list(self._urls):
            try:
                response = self._http.request(method, url + path, json=body)
            except httpx.HTTPError as error:
                reason = f"'{url}' does not answer: {error or type(error).__name__}"
                self._urls = [*self._urls[1:], self._urls[0]]
                continue
            if response.status_code in (502, 503):
                reason = f"'{url}' does not lead"
                self._urls = [*self._urls[1:], self._urls[0]]
                continue
            return _fine(url, response)
        raise Unavailable(reason, hint="start it with 'whorl serve', or see its log")


def _fine(url: str, response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    try:
        problem = response.json()
    except ValueError:
        problem = {}
    what = problem.get("detail") or f"'{url}' answered {response.status_code}"
    raise WorldError(str(what), hint=problem.get("hint", ""), code=problem.get("code", "server"))
