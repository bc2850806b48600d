"""The pictures in docs/loops.md are what the tool draws."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whorl.config.loader import load
from whorl.flow.check import checked
from whorl.flow.user_code import user_modules
from whorl.plan.explain import explain
from whorl.plan.planner import make_plan

PAGE = (Path(__file__).parents[2] / "docs" / "loops.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.DOTALL)
PIPELINES = [text for kind, text in BLOCKS if kind == "yaml"]
PICTURES = [text for kind, text in BLOCKS if kind == "" and "↺" in text]


@pytest.mark.parametrize(("pipeline", "picture"), list(zip(PIPELINES, PICTURES, strict=True)), ids=["parts", "retries"])
def test_it_is_drawn_so(pipeline: str, picture: str, tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(pipeline)
    for name, text in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.DOTALL):
        (tmp_path / name).write_text(text)
    loaded = load(tmp_path / "pipeline.yaml")
    with user_modules(loaded.spec.file):
        plan = make_plan(checked(loaded), loaded.settings)
    assert explain(plan).split("\n\n")[1] == picture.strip("\n")
