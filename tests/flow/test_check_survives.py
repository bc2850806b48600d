"""Whatever is written, `check` answers with findings: it never raises."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml

from whorl.config.codes import CODES
from whorl.config.loader import load
from whorl.flow.check import check

FULL = {
    "name": "p",
    "sources": {
        "s": {"type": "kafka", "topic": "t", "key": "id", "schema": {"id": "string", "n": "long"}, "start": "latest"}
    },
    "operators": [
        {"id": "a", "type": "filter", "from": "s", "where": "n > 1", "on_error": {"action": "retry"}},
        {"id": "b", "type": "branch", "outputs": [{"name": "x", "where": "n > 5"}], "default": "y"},
        {"id": "c", "type": "map", "from": [{"id": "b", "output": "x"}, "b.y"], "columns": {"m": "n + 1"}, "to": "o"},
    ],
    "sinks": {"o": {"type": "kafka", "topic": "o", "key": ["id"], "format": {"type": "json"}}},
    "settings": {"tasks": 2, "restart": {"delay": "1s"}, "kafka": {"a.b": 1}},
}
SHORT = [{"id": "p", "type": "sum", "value": 2, "to": ["q"]}, {"id": "q", "type": "forward", "to": "sink"}]
CONFIG = {"source_topic": "i", "sink_topic": "o", "parallelism": 2}
ODD = [
    None,
    True,
    0,
    1.5,
    "",
    "a.b",
    "x y",
    "${NOT_SET}",
    [],
    {},
    [None],
    {"a": None},
    {"id": "s"},
    {1: 2},
    10**30,
    "é" * 300,
]


def places(value, path=()):
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def changed(value, path, by):
    if not path:
        return by
    copied = copy.copy(value)
    copied[path[0]] = changed(value[path[0]], path[1:], by)
    return copied


def lacking(value, path):
    copied = copy.deepcopy(value)
    holder = copied
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return copied


def survives(**files):
    for name, value in files.items():
        Path(f"{name}.yaml").write_text(yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False))
    for finding in check(load("p.yaml", variables={})):
        assert finding.code in CODES and finding.hint and finding.at, finding


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: json.dumps(odd)[:20])
def test_odd_values_anywhere(odd):
    for path in places(FULL):
        survives(p=changed(FULL, path, odd))
    for path in places(SHORT):
        survives(p=changed(SHORT, path, odd), config=CONFIG)
    for path in places(CONFIG):
        survives(p=SHORT, config=changed(CONFIG, path, odd))


def test_anything_left_out():
    for path in list(places(FULL))[1:]:
        survives(p=lacking(FULL, path))
    for path in list(places(SHORT))[1:]:
        survives(p=lacking(SHORT, path), config=CONFIG)


def test_files_cut_short():
    text = yaml.dump(FULL)
    for end in range(0, len(text), 7):
        Path("p.yaml").write_text(text[:end])
        check(load("p.yaml", variables={}))
