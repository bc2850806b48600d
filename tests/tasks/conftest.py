from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from whorl.testing import PipelineHarness

HarnessOf = Callable[..., PipelineHarness]


@pytest.fixture
def harness_of(tmp_path: Path) -> HarnessOf:
    def make(text: str, steps: str = "", **options: object) -> PipelineHarness:
        """A pipeline and the module `steps` beside it."""
        (tmp_path / "pipeline.yaml").write_text(text)
        (tmp_path / "steps.py").write_text(steps)
        return PipelineHarness(tmp_path / "pipeline.yaml", **options)  # type: ignore[arg-type]

    return make
