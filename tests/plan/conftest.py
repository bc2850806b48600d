from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from whorl.config.loader import load
from whorl.flow.check import checked
from whorl.plan.plan import Plan
from whorl.plan.planner import make_plan

MakePlan = Callable[..., Plan]


@pytest.fixture
def plan_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakePlan:
    """`plan_of(text, config=..., tasks=2)`: the plan of a pipeline file, with settings as `--set` would give them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHORL_PROFILE", raising=False)

    def make(text: str, config: str = "", **settings: object) -> Plan:
        Path("demo.yaml").write_text(text)
        if config:
            Path("config.yaml").write_text(config)
        loaded = load("demo.yaml", overrides=[f"{name}={value}" for name, value in settings.items()])
        return make_plan(checked(loaded), loaded.settings)

    return make
