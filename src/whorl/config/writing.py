"""A pipeline as YAML that reads back as the same values: what YAML 1.2 would take for something else is quoted, `${` is `$${`."""

from __future__ import annotations

from typing import Any

import yaml

from whorl.config.document import scalar


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Lists stand further in than their key."""
        super().increase_indent(flow, False)


def to_yaml(data: Any) -> str:
    text: str = yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, default_flow_style=_flow(data), allow_unicode=True, width=120
    )
    return text


def _flow(data: Any) -> bool | None:
    """A flat map is written one key a line; of nested ones the innermost are in one line."""
    nested = isinstance(data, dict) and any(isinstance(value, dict | list) for value in data.values())
    return None if nested else False


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    plain = isinstance(scalar(value), str)
    style = "|" if "\n" in value and not value.startswith((" ", "\n")) else None if plain else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value.replace("${", "$${"), style)


_Dumper.add_representer(str, _text)
