"""The UI's files: served with the strict policy, small, and without a way for data to become markup or to leave for another host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from whorl.server.web import UI

FILES = sorted(path for path in UI.rglob("*") if path.is_file())
MODULES = [path for path in FILES if path.suffix == ".js"]
_FORBIDDEN = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function")


def _named(path: Path) -> str:
    return path.relative_to(UI).as_posix()


def test_the_root_leads_to_the_pages(client: TestClient) -> None:
    answer = client.get("/")
    assert answer.status_code == 200
    assert answer.url.path == "/ui/"
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-cache"


def test_a_browser_that_has_a_file_is_told_so(client: TestClient) -> None:
    first = client.get("/ui/main.js")
    assert client.get("/ui/main.js", headers={"if-none-match": first.headers["etag"]}).status_code == 304


def test_the_pages_are_seen_without_a_token_and_what_they_ask_is_not(guarded: TestClient) -> None:
    assert guarded.get("/ui/").is_success
    assert guarded.get("/jobs").status_code == 401


def test_only_files_of_the_ui_are_served(client: TestClient) -> None:
    assert client.get("/ui/..%2fweb.py").status_code == 404
    assert client.get("/ui/none.js").status_code == 404


def test_the_page_has_nothing_inline() -> None:
    html = (UI / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", html)


@pytest.mark.parametrize("path", FILES, ids=_named)
def test_a_file_names_no_other_host(path: Path) -> None:
    assert re.findall(r"https?://(?!www\.w3\.org/)[\w.]+", path.read_text()) == []


@pytest.mark.parametrize("path", MODULES, ids=_named)
def test_a_module_is_small_and_makes_no_markup_of_data(path: Path) -> None:
    text = path.read_text()
    assert [word for word in _FORBIDDEN if word in text] == []
    assert len(text.splitlines()) <= 200
    assert text.startswith("// "), "its first line says what it is for"


@pytest.mark.parametrize("path", MODULES, ids=_named)
def test_what_a_module_imports_is_there_and_is_used(path: Path) -> None:
    text = path.read_text()
    for names, where in re.findall(r"^import \{([^}]*)\} from \"([^\"]+)\";", text, re.MULTILINE):
        source = (path.parent / where).resolve().read_text()
        for name in (each.strip() for each in names.split(",")):
            assert re.search(rf"export (async function|function|const|class) {name}\b", source), name
            assert len(re.findall(rf"\b{name}\b", text)) > 1, f"{name} is not used"
