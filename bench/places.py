"""Where the benchmarks find their files and keep what they make."""

from __future__ import annotations

import sys
from pathlib import Path

BENCH = Path(__file__).parent
PEERS = BENCH / "peers"
PIPELINES = BENCH / "pipelines"
KEPT = BENCH.parent / ".bench"
LOGS = KEPT / "logs"
PYTHON = Path(sys.executable)
WHORL = PYTHON.parent / "whorl"
