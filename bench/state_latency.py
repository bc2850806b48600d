"""How long a record takes through an operator with state at 200 records/s, less what the broker alone takes, measured in turns.

`at_least_once` lets results leave at once and commits every 100 ms; `exactly_once` commits every 5 ms, and its reader sees what is
committed alone.
"""

from __future__ import annotations

import json

from bench.latency import Stamped, over_broker_ms
from bench.topics import Topics

SENT = Stamped(b'{"sent": %d}', lambda value: int(json.loads(value)["sent"]))
COMMITS = {"at_least_once": "100ms", "exactly_once": "5ms"}


def with_state(topics: Topics, runs: int) -> str:
    over = {guarantee: _over_broker_ms(topics, guarantee, runs) for guarantee in COMMITS}
    return "state over_broker_ms " + " ".join(f"{guarantee}={ms:.2f}" for guarantee, ms in over.items())


def _over_broker_ms(topics: Topics, guarantee: str, runs: int) -> float:
    settings = ("--set", f"guarantee={guarantee}", "--set", f"commit_interval={COMMITS[guarantee]}")
    return over_broker_ms(topics, runs, "count_latency.yaml", SENT, settings, guarantee)
