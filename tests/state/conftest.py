from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers_state import Life

from whorl.state.backend import MemoryBackend
from whorl.state.disk import LmdbBackend


@pytest.fixture(params=["memory", "lmdb"])
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Life:
    return Life(tmp_path / "lp" if request.param == "lmdb" else None)


@pytest.fixture(params=["memory", "lmdb"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryBackend | LmdbBackend:
    make: dict[str, Callable[[], MemoryBackend | LmdbBackend]] = {
        "memory": MemoryBackend,
        "lmdb": lambda: LmdbBackend(tmp_path / "store", 1 << 20),
    }
    return make[request.param]()
