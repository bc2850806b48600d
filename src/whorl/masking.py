"""Secrets are never shown: not by the command line, the API, the UI, nor in logs. What a pipeline needs of them it gets; what people see is masked.

A secret is the value of a name that sounds like one (`sasl.password`, `api_key`), wherever it is written; and the value of an environment
variable whose name sounds like one, or that WHORL_SECRETS lists, wherever it turns up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

MASK = "***"
SECRETS = "WHORL_SECRETS"
"""Names of further environment variables whose values are secret, with commas between."""
_NAME = r"pass(?:word|wd|phrase)|secret|token|credential|private.?key|jaas|sasl\.(?!mechanism)|api.?key|access.?key|ssl\.key\.pem"
_SECRET = re.compile(_NAME, re.IGNORECASE)
_ASSIGNED = re.compile(
    rf"((?:{_NAME})[\w.-]{{0,60}}[\"']?\s{{0,9}}[=:]\s{{0,9}})(?!\$\{{\w+\}})(\"[^\"]*\"|'[^']*'|[^\s\"',;}}]+)",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"(://[^/\s:@\"']{0,200}:)[^/\s@\"']+(?=@)")
_SHORTEST = 4
"""A shorter value would be masked in the middle of ordinary words."""


def is_secret(name: str) -> bool:
    return bool(_SECRET.search(name))


def masked(name: str, value: Any) -> Any:
    """The value of a setting as it may be shown."""
    if isinstance(value, Mapping):
        return {key: masked(f"{name}.{key}", below) for key, below in value.items()}
    if is_secret(name):
        return value if value in (None, "", [], False, True) else MASK
    if isinstance(value, list | tuple):
        return [masked(name, each) for each in value]
    return without_secrets(value) if isinstance(value, str) else value


def without_secrets(text: str, variables: Mapping[str, str] = os.environ) -> str:
    """A message or a line of a log, with what looks like a secret, and what is known to be one, left out."""
    if not text:
        return text
    for value in _values(tuple(_secret_values(variables))):
        text = text.replace(value, MASK)
    return _IN_URL.sub(rf"\1{MASK}", _ASSIGNED.sub(rf"\1{MASK}", text))


def _secret_values(variables: Mapping[str, str]) -> Iterable[str]:
    listed = {name.strip() for name in variables.get(SECRETS, "").split(",")}
    return (
        value
        for name, value in variables.items()
        if (name in listed or is_secret(name)) and name != SECRETS and len(value) >= _SHORTEST
    )


@lru_cache(maxsize=8)
def _values(values: tuple[str, ...]) -> tuple[str, ...]:
    """Longest first, so that one inside another leaves no rest."""
    return tuple(sorted(set(values), key=len, reverse=True))
