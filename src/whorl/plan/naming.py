"""The names of everything Whorl makes outside itself. Same words in, same name out, on every machine.

Kafka takes letters, digits, `.`, `_` and `-`. A name with anything else, or too long, is slugged and gets a short hash of the original,
so that two different names never meet.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

REGISTER = "whorl.register"
DEAD_OPERATOR = "whorl-operator"
DEAD_ERROR = "whorl-error"
DEAD_TOPIC = "whorl-topic"
DEAD_PARTITION = "whorl-partition"
DEAD_OFFSET = "whorl-offset"
DEAD_TRUNCATED = "whorl-truncated"
LONGEST_ERROR = 4096
_ODD = re.compile(r"[^a-zA-Z0-9._-]+")
_LONGEST = 80


def slug(name: str) -> str:
    legal = _ODD.sub("-", name)
    if legal == name and 0 < len(name) <= _LONGEST and name not in (".", ".."):
        return name
    return f"{legal[: _LONGEST - 9].strip('.')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def control_topic(pipeline: str) -> str:
    return f"whorl.{slug(pipeline)}.control"


def status_topic(pipeline: str) -> str:
    return f"whorl.{slug(pipeline)}.status"


def changelog_topic(pipeline: str, uid: str, component: str) -> str:
    return f"whorl.{slug(pipeline)}.{uid}.{slug(component)}.changelog"


def view_topic(pipeline: str, sink: str) -> str:
    """Where rows of a console or list sink wait for the driver."""
    return f"whorl.{slug(pipeline)}.{slug(sink)}.view"


def dead_letter_topic(pipeline: str) -> str:
    return f"{slug(pipeline)}.dead"


def edge_topic(prefix: str, source: str, output: str, target: str) -> str:
    start = f"{source}.{output}" if output else source
    return (f"{slug(prefix)}." if prefix else "") + f"{slug(start)}_{slug(target)}"


def group(base: str, component: str) -> str:
    return f"{slug(base)}.{slug(component)}"


def driver_id(pipeline: str) -> str:
    return f"whorl.{slug(pipeline)}"


def task_id(uid: str, component: str, layout: int, task: int) -> str:
    return f"{uid}.{slug(component)}.{layout}.{task}"


def ledger_topic(pipeline: str, uid: str, component: str) -> str:
    """What the writers of a query component note of each batch."""
    return f"whorl.{slug(pipeline)}.{uid}.{slug(component)}.ledger"


def ledgers(pipeline: str, uid: str, topics: Iterable[str]) -> list[str]:
    """Those of these topics that are ledgers of the pipeline."""
    start = f"whorl.{slug(pipeline)}.{uid}."
    return sorted(name for name in topics if name.startswith(start) and name.endswith(".ledger"))


def query_id(uid: str, component: str) -> str:
    """The transactional id of the driver of a query component."""
    return f"{uid}.{slug(component)}.query"


def seat_id(uid: str, component: str, seat: str) -> str:
    """The transactional id of one process that writes for a query component."""
    return f"{uid}.{slug(component)}.seat.{slug(seat)}"
