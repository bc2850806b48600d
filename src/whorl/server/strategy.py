"""The restart strategy of a job: how often it starts again, and when."""

from __future__ import annotations

from collections.abc import Sequence

from whorl.config.settings import Restart


def again_after(restart: Restart, failures: Sequence[float], now: float) -> tuple[float | None, list[float]]:
    """Seconds until the next start, None where there is none any more; and the failures that count, with this one."""
    counted = [*(at for at in failures if at > now - restart.window), now]
    allowed = 0 if restart.strategy == "none" else restart.attempts
    if len(counted) > allowed:
        return None, counted
    if restart.strategy == "fixed":
        return restart.delay, counted
    return float(min(restart.delay * 2 ** min(len(counted) - 1, 20), restart.max_delay)), counted
