from __future__ import annotations

import pickle
from datetime import datetime

import pytest

from whorl.config.loader import load
from whorl.config.spec import SINKS, SOURCES, KafkaSink, KafkaSource, ListSource, OperatorSpec, RateSource
from whorl.schema import TEXT, Schema


def found(loaded):
    return [f"{f.at} {f.code}" for f in loaded.findings]


def reads(loaded):
    """id -> what its `from` names, for all that read."""
    named = (*loaded.spec.operators, *loaded.spec.sinks)
    return {n.id: [link.id + (f".{link.output}" if link.output else "") for link in n.from_] for n in named}


FULL = """\
name: shop
sources:
  orders:
    type: kafka
    topic: orders
    key: customer
    schema: {customer: string, amount: DOUBLE, tags: array<string>}
    on_error: skip
operators:
  - {id: large, type: filter, from: orders, where: amount > 10, on_error: {action: retry, backoff: 5s}}
  - {id: out2, type: forward, from: [large, {id: orders, via: topic}], isolate: true}
sinks:
  big: {type: kafka, topic: big, from: large, key: [customer]}
  seen: {type: console, from: out2}
settings: {tasks: 2}
"""


def test_the_full_form(write):
    write(p=FULL)
    loaded = load("p.yaml")
    assert found(loaded) == []
    spec = loaded.spec
    source = spec.sources[0].options
    assert (spec.name, spec.file, spec.settings) == ("shop", "p.yaml", {"tasks": 2})
    assert isinstance(source, KafkaSource) and source.key == ("customer",) and source.on_error.action == "skip"
    assert source.output() == Schema.of({"customer": "string", "amount": "double", "tags": "array<string>"})
    assert [(o.id, o.type, o.options) for o in spec.operators] == [
        ("large", "filter", {"where": "amount > 10"}), ("out2", "forward", {}),
    ]  # fmt: skip
    assert spec.operators[0].on_error.action == "retry" and spec.operators[0].on_error.backoff == 5.0
    assert spec.operators[1].isolate and spec.operators[1].from_[1].via == "topic"
    assert isinstance(spec.sinks[0].options, KafkaSink) and spec.sinks[0].options.key == ("customer",)
    assert str(spec.sources[0].at) == "p.yaml:3:3" and str(spec.operators[1].at) == "p.yaml:11:5"


def test_specs_are_frozen_and_cross_process_borders(write):
    write(p=FULL)
    spec = load("p.yaml").spec
    assert pickle.loads(pickle.dumps(spec)) == spec
    source = spec.sources[0].options
    assert hash(pickle.loads(pickle.dumps(source))) == hash(source)
    rows = ListSource(rows=({"a": 1},), keys=("k",))
    assert hash(rows) == hash(ListSource(rows=({"a": 1},), keys=("k",)))
    assert hash(KafkaSource(topic="t", start={"offsets": {"t": {0: 5}}})) is not None
    with pytest.raises(ValueError):
        source.topic = "x"


@pytest.mark.parametrize("file, name", [("sales", "sales"), ("shop__pipeline", "shop"), ("shop__a b", "a b")])
def test_a_pipeline_without_a_name_has_its_files(write, file, name):
    write(**{file: "sources: {}\n"})
    assert load(file.replace("__", "/") + ".yaml").spec.name == name


def test_in_a_sequence_each_reads_the_one_before(write):
    write(
        p="sources: {s: {type: rate}}\noperators:\n- {id: a, type: x}\n- {id: b, type: x}\nsinks: {o: {type: list}, q: {type: list}}"
    )
    assert reads(load("p.yaml")) == {"a": ["s"], "b": ["a"], "o": ["b"], "q": ["b"]}


def test_without_operators_the_sink_reads_the_only_source(write):
    write(p="sources: {s: {type: rate}}\nsinks: {o: {type: list}}")
    assert reads(load("p.yaml")) == {"o": ["s"]}


def test_an_end_that_is_written_anywhere_ends_the_sequence(write):
    write(
        p="""\
sources: {s: {type: rate, to: b}, t: {type: rate}}
operators:
- {id: a, type: x, from: t, to: c}
- {id: b, type: x}
- {id: c, type: x}
- {id: d, type: x, from: [c.big, b]}
sinks: {o: {type: list}}
"""
    )
    loaded = load("p.yaml")
    assert found(loaded) == []
    assert reads(loaded) == {"a": ["t"], "b": [], "c": [], "d": ["c.big", "b"], "o": ["d"]}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("sources: {s: {type: rate}, t: {type: rate}}\noperators:\n- {id: a, type: x}\n", "p.yaml:3:3 ambiguous"),
        ("sources: {s: {type: rate}, t: {type: rate}}\nsinks:\n  o: {type: list}\n", "p.yaml:3:3 ambiguous"),
        ("sources: {s: {type: rate}}\noperators:\n- {id: a, type: x, to: c}\n- {id: b, type: x}\n- {id: c, type: x}\n", "p.yaml:4:3 ambiguous"),
        ("sources: {s: {type: rate}}\noperators:\n- {id: a, type: x, to: p}\nsinks:\n  p: {type: list}\n  o: {type: list}\n", "p.yaml:6:3 ambiguous"),
    ],
)  # fmt: skip
def test_where_the_order_says_nothing_it_is_found(write, text, expected):
    write(p=text)
    assert found(load("p.yaml")) == [expected]


SHORT = "- {id: p1, type: forward, to: [p2, p3]}\n- {id: p2, type: sum, to: p4}\n- {id: p3, type: sum, value: 5, to: p4}\n- {id: p4, type: forward, to: sink}\n"
CONFIG = "broker: h:9092\ntask_managers: 2\nparallelism: 3\nsource_topic: in\nsink_topic: out\n"


def test_the_short_form(write):
    write(procs=SHORT, config=CONFIG)
    loaded = load("procs.yaml")
    assert found(loaded) == []
    spec, settings = loaded.spec, loaded.settings
    assert spec.name == "procs"
    assert reads(loaded) == {"p1": ["source"], "p2": [], "p3": [], "p4": [], "sink": []}
    assert [(o.id, o.type, o.options) for o in spec.operators] == [
        ("p1", "forward", {}), ("p2", "add", {"value": 1}), ("p3", "add", {"value": 5}), ("p4", "forward", {}),
    ]  # fmt: skip
    assert [link.id for link in spec.operators[0].to] == ["p2", "p3"]
    source, sink = spec.sources[0].options, spec.sinks[0].options
    assert (source.topic, source.format.type, source.output()) == ("in", "text", TEXT)
    assert (sink.topic, sink.format.type) == ("out", "text")
    assert (settings.broker, settings.tasks, settings.task_managers) == ("h:9092", 3, 2)
    assert settings.topic_prefix is False
    came = {origin.name: origin.where for origin in loaded.origins}
    assert came["tasks"] == "config.yaml:3:14" and came["broker"] == "config.yaml:1:9"


def test_several_processors_without_arcs_all_read_the_source(write):
    write(
        procs="- {id: 1, type: forward, to: 3}\n- {id: 2, type: forward, to: 3}\n- {id: 3, type: forward, to: sink}\n",
        config=CONFIG,
    )
    loaded = load("procs.yaml")
    assert found(loaded) == []
    assert reads(loaded) == {"1": ["source"], "2": ["source"], "3": [], "sink": []}


def test_the_short_form_takes_any_setting_and_a_name(write):
    write(
        procs=SHORT,
        config=CONFIG + "edges: topics\nname: numbers\ntopic_prefix: true\n",
        whorl="tasks: 9\nheartbeat: 2s\n",
    )
    loaded = load("procs.yaml", overrides=["tasks=4"])
    assert found(loaded) == [] and loaded.spec.name == "numbers"
    settings = loaded.settings
    assert (settings.edges, settings.tasks, settings.heartbeat, settings.topic_prefix) == ("topics", 4, 2.0, True)


@pytest.mark.parametrize(
    "config, expected",
    [
        (None, ["config.yaml:1:1 file"]),
        ("a: b: c\n", ["config.yaml:1:5 yaml"]),
        ("source_topic: in\n", ["config.yaml:1:1 missing-key"]),
        ("source_topic: in\nsink_topic: o p\n", ["config.yaml:2:13 value"]),
        (CONFIG + "paralelism: 3\n", ["config.yaml:6:1 unknown-key"]),
        ("source_topic: in\nsink_topic: out\nparallelism: 0\n", ["config.yaml:3:14 value"]),
        ("- x\n", ["config.yaml:1:1 value"]),
    ],
)
def test_what_is_wrong_in_config_yaml(write, config, expected):
    write(procs=SHORT, **({"config": config} if config else {}))
    assert found(load("procs.yaml")) == expected


def test_the_nearest_key_of_config_yaml_is_named(write):
    write(procs=SHORT, config=CONFIG + "paralelism: 3\n")
    assert load("procs.yaml").findings[0].hint == "did you mean 'parallelism'?"


def test_sources_without_a_broker():
    rows = ListSource(rows=[{"a": 1, "b": None}, {"a": 2, "b": "x", "c": datetime(2026, 1, 1)}, 7])
    assert rows.rows[2] == {"value": 7}
    assert rows.output() == Schema.of({"a": "long", "b": "string", "c": "timestamp", "value": "long"})
    assert ListSource(rows=[{"a": 1}, {"a": "x"}]).output() == Schema.of({"a": "unknown"})
    assert ListSource(rows=[]).output() is None
    assert RateSource(rows_per_second=5).output() == Schema.of({"value": "long", "timestamp": "timestamp"})


@pytest.mark.parametrize(
    "start, expected",
    [
        ("latest", ("latest", None, None)),
        ({"timestamp": "2026-01-31T12:00:00Z"}, ("earliest", 1769860800000, None)),
        ({"timestamp": "2026-01-31 12:00:00"}, ("earliest", 1769860800000, None)),
        ({"timestamp": 5}, ("earliest", 5, None)),
        ({"offsets": {"t": {0: 7}}}, ("earliest", None, {"t": {0: 7}})),
    ],
)
def test_where_a_source_starts(start, expected):
    begin = KafkaSource(topic="t", start=start).start
    assert (begin.position, begin.timestamp, begin.offsets) == expected


def test_topics_of_a_source():
    assert KafkaSource(topic="a").names == ("a",)
    assert KafkaSource(topics=["a", "b"]).names == ("a", "b")
    assert KafkaSource(pattern="a.*").names == ()


def test_every_option_is_described():
    models = [*SOURCES.values(), *SINKS.values(), OperatorSpec]
    named = [(m.__name__, n) for m in models for n, f in m.model_fields.items() if not f.description]
    assert [(m, n) for m, n in named if n not in ("type", "path", "at")] == []
