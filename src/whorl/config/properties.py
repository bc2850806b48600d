"""Settings files that are no YAML: `name value` or `name=value` lines, as spark-defaults.conf and .properties files have them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from whorl.config.document import Document, read, scalar
from whorl.config.tree import Key, Tree, empty
from whorl.config.variables import substitute
from whorl.errors import Finding, Location

_LINE = re.compile(r"\s*([^\s=:#!][^\s=:]*)(?:\s*[=:]\s*|\s+)(.*?)\s*$")
_SUFFIXES = (".conf", ".properties")


def read_settings(file: str, variables: Mapping[str, str] = os.environ) -> Document:
    """A settings file of any kind."""
    return _read_lines(file, variables) if file.endswith(_SUFFIXES) else read(file, variables)


def _read_lines(file: str, variables: Mapping[str, str]) -> Document:
    try:
        text = Path(file).read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        found = Finding("file", f"'{file}' cannot be read: {why}", "name a readable file", Location(file))
        return Document(file, empty(file), (found,))
    values: dict[Key, Tree] = {}
    keys: dict[Key, Location] = {}
    findings = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        at = Location(file, number)
        match = _LINE.match(line)
        if match is None:
            findings.append(
                Finding("value", f"'{line.strip()}' sets nothing", "write `name value` or `name=value`", at)
            )
            continue
        values[match[1]] = Tree(scalar(substitute(match[2], variables)[0]), Location(file, number, match.start(2) + 1))
        keys[match[1]] = at
    return Document(file, Tree(values, Location(file), keys), tuple(findings))
