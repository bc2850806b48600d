"""`${NAME}` and `${NAME:-default}` in values. `$${` stands for `${`; an empty variable takes the default as well."""

from __future__ import annotations

import re
from collections.abc import Mapping

_VARIABLE = re.compile(r"\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\})?")


def substitute(text: str, variables: Mapping[str, str]) -> tuple[str, list[str]]:
    """The text with its variables filled in, and the names of those that have no value (empty: a `${` without a name)."""
    unresolved: list[str] = []

    def fill(match: re.Match[str]) -> str:
        name, has_default, default = match.groups()
        if match[0] == "$${":
            return "${"
        if name and has_default:
            return variables.get(name) or default
        if name and name in variables:
            return variables[name]
        unresolved.append(name or "")
        return match[0]

    return _VARIABLE.sub(fill, text), unresolved
