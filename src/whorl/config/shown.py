"""A pipeline file as it may be shown: line by line as it was written, with the values of secrets left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from whorl.masking import MASK, is_secret, without_secrets

_REFERENCE = re.compile(r"[\"']?\$\{\w+\}[\"']?")
"""It tells where a secret is, and not which."""
Span = tuple[int, int]


def masked_text(text: str) -> str:
    try:
        root = yaml.SafeLoader(text).get_single_node()
        spans = sorted(set(_spans(root, False)), reverse=True) if root else []
    except (yaml.YAMLError, RecursionError):
        spans = []
    for start, end in spans:
        text = text[:start] + _masked(text[start:end]) + text[end:]
    return without_secrets(text, {})


def _spans(node: yaml.Node, secret: bool) -> Iterator[Span]:
    """Of the scalars that are secret, or below something that is."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            named = isinstance(key, yaml.ScalarNode) and is_secret(str(key.value))
            yield from _spans(value, secret or named)
    elif isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _spans(each, secret)
    elif secret and node.value:
        yield node.start_mark.index, node.end_mark.index


def _masked(written: str) -> str:
    """As many lines as it had, so that findings still point to the right ones."""
    if _REFERENCE.fullmatch(written):
        return written
    return MASK + "\n" * written.count("\n")
