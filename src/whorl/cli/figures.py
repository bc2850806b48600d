"""Numbers of a running job as people read them; a dash where nobody knows."""

from __future__ import annotations

import time

from whorl.units import format_size

UNKNOWN = "-"


def figure(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}"


def share(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0%}"


def size(value: int | None) -> str:
    return UNKNOWN if value is None else format_size(value)


def milliseconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f} ms"


def age(since: float | None) -> str:
    if since is None:
        return UNKNOWN
    seconds = max(int(time.time() - since), 0)
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def moment(at: float | None) -> str:
    return UNKNOWN if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
