"""Requests made from the API's schema, right ones and wrong ones. Paths lead to jobs that there are, half of the time."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode

_SETTINGS = settings(deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))

Known = Mapping[str, Sequence[str]]
"""What a path's parameters name on this server."""


@schemathesis.serializer("application/zip")
def _as_it_is(context: object, value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def fuzz(url: str, examples: int) -> tuple[int, int, int]:
    """Routes, requests, and how many of them failed the server."""
    warnings.simplefilter("ignore")
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    known: Known = {"id": ["listed-3", "0000000004"], "operator": ["total"], "component": ["big"]}
    routes, statuses = 0, Counter[int]()
    for result in schema.get_all_operations():
        operation = result.ok()  # type: ignore[union-attr]  # of a schema that is whole
        routes += 1
        for mode in GenerationMode:
            statuses += _tried(operation, mode, examples, known)
    print(f"answers by status: {dict(sorted(statuses.items()))}", flush=True)
    return routes, statuses.total(), sum(number for status, number in statuses.items() if status >= 500)


def _tried(operation: object, mode: GenerationMode, examples: int, known: Known) -> Counter[int]:
    statuses = Counter[int]()

    @settings(_SETTINGS, max_examples=examples)
    @given(case=operation.as_strategy(generation_mode=mode))  # type: ignore[attr-defined]
    def ask(case: Case[Any]) -> None:
        _lead_somewhere(case, known)
        answer = case.call(timeout=120)
        statuses[answer.status_code] += 1
        if answer.status_code >= 500:
            print(f"{answer.status_code} {answer.request.method} {answer.request.url}: {answer.text[:500]}", flush=True)

    with suppress(Unsatisfiable):  # a route without parameters cannot be asked wrongly
        ask()
    return statuses


def _lead_somewhere(case: Case[Any], known: Known) -> None:
    if case.query and "wait" in case.query:
        case.query["wait"] = 0
    for name, values in known.items():
        if case.path_parameters and name in case.path_parameters and random.random() < 0.5:
            case.path_parameters[name] = random.choice(values)
