from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers_state import Life

from whorl.state.backend import Backend, MemoryBackend
from whorl.state.behind import WriteBehind
from whorl.state.disk import LmdbBackend


@pytest.fixture(params=["memory", "lmdb", "behind"])
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Life:
    return Life(tmp_path / "lp" if request.param != "memory" else None, behind=request.param == "behind")


@pytest.fixture(params=["memory", "lmdb", "behind"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    make: dict[str, Callable[[], Backend]] = {
        "memory": MemoryBackend,
        "lmdb": lambda: LmdbBackend(tmp_path / "store", 1 << 20),
        "behind": lambda: WriteBehind(LmdbBackend(tmp_path / "store", 1 << 20), age=1e9),
    }
    return make[request.param]()
