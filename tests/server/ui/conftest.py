"""A real browser before a server in which much happens and nothing runs. Every page is watched: no error on its console, and no request to
another host. Without Chromium the tests are skipped, and say so."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.server.ui.world import World, furnished

from whorl.server.access import OPEN, Access
from whorl.server.api import make_api

PATIENCE_MS = 30_000
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
Open = Callable[..., Page]
expect.set_options(timeout=PATIENCE_MS)


class Site:
    """A server that can go away and come back on the same port."""

    def __init__(self, world: World, access: Access = OPEN) -> None:
        self.world, self.access = world, access
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/ui/"

    def start(self) -> None:
        app = make_api(self.world, self.access)
        self.server = uvicorn.Server(
            uvicorn.Config(app, "127.0.0.1", self.port, log_level="error", timeout_graceful_shutdown=1)
        )
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            assert self.thread.is_alive(), "the server did not start"

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(30)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium here: `make tools` installs it where apt-get can")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture
def world() -> World:
    return furnished()


@pytest.fixture
def site(world: World) -> Iterator[Site]:
    site = Site(world)
    yield site
    site.stop()


@pytest.fixture
def visit(browser: Browser, site: Site) -> Iterator[Open]:
    """`visit("#/jobs", at=site, width=390, color_scheme="dark")` opens a page of its own."""
    contexts, faults = [], list[str]()

    def visit(where: str = "", at: Site = site, width: int = 1280, may_fail: bool = False, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 800}, reduced_motion="reduce", **options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: _own(request.url, faults))
        if not may_fail:
            page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
        page.goto(at.url + where)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert not faults


def _own(url: str, faults: list[str]) -> None:
    if urlsplit(url).hostname != "127.0.0.1":
        faults.append(f"asked {url}")


@pytest.fixture
def job(world: World) -> Callable[[str], str]:
    """`job("payments")` is its id."""
    return lambda name: next(each.id for each in world.kept.values() if each.name == name)
