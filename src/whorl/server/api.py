"""The REST side as one application: all routes over a JobServer, behind the guard. `app.create_app` adds what runs beside it."""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from whorl.server import problems
from whorl.server.access import OPEN, Access
from whorl.server.bodies import SubmitOrder
from whorl.server.guard import MOST_BYTES, Guard
from whorl.server.listing import Listing
from whorl.server.routes import acts, around, docs, jobs, metrics, session, state, taskmanagers, views
from whorl.server.schemas import Problem
from whorl.server.service import JobServer
from whorl.server.web import serve_ui

_ROUTERS = (
    jobs.router,
    views.router,
    acts.router,
    state.router,
    around.router,
    metrics.router,
    taskmanagers.router,
    session.router,
    docs.router,
)
_ALSO = (Problem, SubmitOrder)
"""Spoken in bodies that FastAPI does not see."""


def make_api(
    server: JobServer,
    access: Access = OPEN,
    hosts: Collection[str] = ("localhost",),
    most_bytes: int = MOST_BYTES,
    **options: Any,
) -> FastAPI:
    """`hosts`: names that requests may give as Host beside loopback ones; empty means any. `options` are FastAPI's own."""
    app = FastAPI(title="Whorl job server", version=version("whorl"), docs_url=None, redoc_url=None, **options)
    app.state.server, app.state.access, app.state.listing = server, access, Listing(server)
    for router in _ROUTERS:
        app.include_router(router)
    serve_ui(app)
    problems.install(app)
    app.add_middleware(Guard, hosts=hosts, most_bytes=most_bytes)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    if not app.openapi_schema:
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes, description=__doc__)
        schemas = schema.setdefault("components", {}).setdefault("schemas", {})
        for model in _ALSO:
            own = model.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas.update(own.pop("$defs", {}))
            schemas[model.__name__] = own
        app.openapi_schema = schema
    return app.openapi_schema
