from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def in_a_folder(folder: Path) -> None:
    """Every test here works in a folder of its own."""
