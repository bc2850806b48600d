from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from whorl.config.full import OPERATOR_KEYS
from whorl.errors import PipelineError
from whorl.operators import registry
from whorl.operators.operator import OperatorType, Step
from whorl.operators.registry import OPERATORS, Operators
from whorl.schema import Schema

NAMES = [
    "forward",
    "add",
    "filter",
    "map",
    "select",
    "drop",
    "rename",
    "cast",
    "fill",
    "flatten",
    "explode",
    "flat_map",
    "mask",
    "sample",
    "key_by",
    "branch",
    "union",
    "validate",
    "python",
    "sql",
    "aggregate",
    "sort",
    "distinct",
    "deduplicate",
    "join",
    "count",
    "sum",
    "min",
    "max",
    "reduce",
    "average",
    "latest",
    "limit",
    "sessionize",
    "connected_components",
    "shortest_paths",
    "reachability",
    "pagerank",
    "label_propagation",
]


class Plugin(OperatorType):
    type = "plugin"
    summary = "For tests."

    def step(self, schema: Schema | None) -> Step:
        raise NotImplementedError


def test_builtin() -> None:
    assert set(NAMES) <= set(OPERATORS)
    assert "nonsense" not in OPERATORS


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_described(name: str) -> None:
    operator = OPERATORS[name]
    assert operator.type == name and operator.summary.endswith(".")
    for field in operator.Options.model_fields.values():
        assert field.description
    assert not {field.alias or name for name, field in operator.Options.model_fields.items()} & set(OPERATOR_KEYS)


def test_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("plugin", f"{__name__}:Plugin", registry.GROUP), EntryPoint("broken", "no_such_module_x:Y", registry.GROUP),
        EntryPoint("odd", f"{__name__}:NAMES", registry.GROUP), EntryPoint("filter", f"{__name__}:Plugin", registry.GROUP),
    ]  # fmt: skip
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    operators = Operators()
    assert operators["plugin"].summary == "For tests."
    assert operators["filter"] is OPERATORS["filter"]
    assert len(operators) == len(NAMES) + 3 and "plugin" in list(operators)
    with pytest.raises(PipelineError, match="'broken' does not load"):
        operators["broken"]
    with pytest.raises(PipelineError, match="not an operator type"):
        operators["odd"]
    with pytest.raises(KeyError):
        operators["nothing"]
