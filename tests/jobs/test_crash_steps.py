"""The steps at which tests kill a run are methods that there are: else no test that names one would see a death."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def crash(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.delenv("WHORL_TEST_CRASH", raising=False)
    spec = importlib.util.spec_from_file_location("crash", Path(__file__).parent / "crash" / "sitecustomize.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("steps", ["of_driver", "of_worker"])
def test_every_step_is_there(crash: ModuleType, monkeypatch: pytest.MonkeyPatch, steps: str) -> None:
    looked: list[Any] = []
    for way in ("before", "after"):
        monkeypatch.setattr(crash, way, lambda owner, name, *_: looked.append(getattr(owner, name)))
    named = getattr(crash, steps)()
    for patch in named.values():
        patch()
    assert len(looked) == len(named) and all(map(callable, looked))
