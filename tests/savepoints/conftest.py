from __future__ import annotations

from types import SimpleNamespace

import pytest

from sessions import spark
from whorl.savepoints import life

__all__ = ["no_checkpoints", "spark"]


@pytest.fixture
def no_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of queries, which are in folders that Spark opens."""
    monkeypatch.setattr(life, "Folder", lambda *_: SimpleNamespace(delete=lambda: None))
