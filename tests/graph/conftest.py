from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tests work in a folder of their own, with file names as a user types them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHORL_PROFILE", raising=False)
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Callable[..., None]:
    def write(**files: str) -> None:
        """`write(a="...")` makes a.yaml; two underscores are a folder."""
        for name, text in files.items():
            path = folder / (name.replace("__", "/") + ".yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write
