"""The web application around a job server."""

from __future__ import annotations

from collections.abc import Collection

from fastapi import FastAPI

from whorl.server.access import OPEN, Access
from whorl.server.api import make_api
from whorl.server.service import JobServer


def create_app(server: JobServer, access: Access = OPEN, hosts: Collection[str] = ("localhost",)) -> FastAPI:
    return make_api(server, access, hosts)
