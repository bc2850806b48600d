"""The web UI: static files under /ui/, which ask REST for everything. A browser asks each time whether a file has changed, so a newer server is seen at once."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import RedirectResponse
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

UI = Path(__file__).parent / "ui"


class _Pages(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "no-cache"
        return response


def serve_ui(app: FastAPI) -> None:
    app.get("/", include_in_schema=False)(_home)
    app.mount("/ui", _Pages(directory=UI, html=True), name="ui")


async def _home() -> RedirectResponse:
    return RedirectResponse("ui/")
