"""What is fused, what is cut, and what everything is called."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from whorl.plan.plan import OutputKind, Plan

MakePlan = Callable[..., Plan]
CHAIN = """
sources:
  in: {type: kafka, topic: orders, schema: {a: long}}
operators:
  - {id: one, type: filter, where: a > 0}
  - {id: two, type: filter, where: a < 9}
sinks:
  out: {type: kafka, topic: done}
"""
SHORT = "{source_topic: in, sink_topic: out}"


def components(plan: Plan) -> dict[str, list[str]]:
    return {component.id: [placed.node.id for placed in component.operators] for component in plan.components}


def cuts(plan: Plan) -> dict[tuple[str, str], tuple[str, str]]:
    return {(cut.source, cut.target): (cut.topic, cut.reason) for cut in plan.cuts}


def test_everything_that_may_be_is_fused(plan_of: MakePlan) -> None:
    plan = plan_of(CHAIN)
    assert components(plan) == {"one": ["one", "two"]}
    assert plan.cuts == ()
    (component,) = plan.components
    assert [input.id for input in component.inputs] == ["in"]
    assert [(output.id, output.topic, output.kind) for output in component.outputs] == [
        ("out", "done", OutputKind.SINK)
    ]
    assert [(wire.source, wire.target) for wire in component.wires] == [("in", "one"), ("one", "two"), ("two", "out")]
    assert component.group == "demo.one"
    assert plan.dead_letter == "demo.dead"


def test_an_edge_via_topic_is_cut(plan_of: MakePlan) -> None:
    plan = plan_of(CHAIN.replace("{id: two,", "{id: two, from: {id: one, via: topic},"))
    assert components(plan) == {"one": ["one"], "two": ["two"]}
    assert cuts(plan) == {("one", "two"): ("demo.one_two", "via: topic")}
    one, two = plan.components
    assert [output.topic for output in one.outputs] == ["demo.one_two"]
    assert [input.topic for input in two.inputs] == ["demo.one_two"]
    assert one.outputs[0].format == two.inputs[0].format
    assert plan.upstream(two) == [one]


def test_an_isolated_operator_is_alone(plan_of: MakePlan) -> None:
    three = CHAIN.replace("sinks:", "  - {id: three, type: forward}\nsinks:")
    plan = plan_of(three.replace("{id: two,", "{id: two, isolate: true,"))
    assert components(plan) == {"one": ["one"], "two": ["two"], "three": ["three"]}
    assert {reason for _, reason in cuts(plan).values()} == {"'two' has isolate: true"}


def test_edges_topics_makes_a_component_of_each_operator(plan_of: MakePlan) -> None:
    plan = plan_of("[{id: p1, type: forward, to: p2}, {id: p2, type: sum, to: sink}]", SHORT, edges="topics")
    assert components(plan) == {"p1": ["p1"], "p2": ["p2"]}
    assert cuts(plan) == {("p1", "p2"): ("p1_p2", "edges: topics")}


def test_edges_topics_separates_processors_that_share_a_source_or_sink(plan_of: MakePlan) -> None:
    short = "[{id: p1, type: sum, to: sink}, {id: p2, type: sum, to: sink}]"
    plan = plan_of(short, SHORT, edges="topics")
    assert components(plan) == {"p1": ["p1"], "p2": ["p2"]}
    assert [[input.id for input in component.inputs] for component in plan.components] == [["source"], ["source"]]
    assert [[output.id for output in component.outputs] for component in plan.components] == [["sink"], ["sink"]]
    assert plan.cuts == ()


def test_isolated_means_apart_from_those_that_share_its_source(plan_of: MakePlan) -> None:
    both = """
    sources: {in: {type: kafka, topic: orders}}
    operators:
      - {id: one, type: forward, from: in}
      - {id: two, type: forward, from: in, isolate: true}
    sinks: {out: {type: kafka, topic: done, from: [one, two]}}
    """
    assert components(plan_of(both)) == {"one": ["one"], "two": ["two"]}
    assert components(plan_of(both.replace(", isolate: true", ""))) == {"one": ["one", "two"]}


def test_each_edge_is_in_one_component(plan_of: MakePlan) -> None:
    """A sink that is read from a source and from operators of two components gets each record once."""
    plan = plan_of(
        """
        sources: {in: {type: kafka, topic: orders}}
        operators:
          - {id: one, type: forward, from: in}
          - {id: two, type: forward, from: {id: one, via: topic}}
        sinks: {out: {type: kafka, topic: done, from: [in, one, two]}}
        """
    )
    wires = [(wire.source, wire.target) for component in plan.components for wire in component.wires]
    assert len(wires) == len(set(wires))
    assert {("in", "one"), ("in", "out"), ("one", "out"), ("two", "out")} <= set(wires)


def test_a_component_never_waits_for_its_own_output(plan_of: MakePlan) -> None:
    plan = plan_of(
        """
        sources: {in: {type: kafka, topic: orders}}
        operators:
          - {id: one, type: forward, from: in, to: {id: two, via: topic}}
          - {id: two, type: forward}
          - {id: three, type: union, from: [one, two]}
        sinks: {out: {type: kafka, topic: done, from: three}}
        """
    )
    assert components(plan) == {"one": ["one"], "two": ["two", "three"]}
    assert cuts(plan)[("one", "three")] == ("demo.one_three", "fused, the component would wait for its own output")


def test_a_component_without_operator_is_named_after_its_sink(plan_of: MakePlan) -> None:
    plan = plan_of("{sources: {in: {type: kafka, topic: a}}, sinks: {out: {type: kafka, topic: b}}}")
    assert components(plan) == {"out": []}
    assert plan.components[0].group == "demo.out"


def test_names_follow_the_settings(plan_of: MakePlan) -> None:
    cut = CHAIN.replace("{id: two,", "{id: two, from: {id: one, via: topic},")
    plan = plan_of(cut, topic_prefix="own", group_id="team", dead_letter_topic="bad")
    assert plan.cuts[0].topic == "own.one_two"
    assert [component.group for component in plan.components] == ["team.one", "team.two"]
    assert plan.dead_letter == "bad"
    assert plan_of(cut, topic_prefix="false").cuts[0].topic == "one_two"


def test_a_named_output_has_a_topic_of_its_own(plan_of: MakePlan) -> None:
    plan = plan_of(
        """
        sources: {in: {type: kafka, topic: orders, schema: {a: long}}}
        operators:
          - {id: route, type: branch, outputs: [{name: big, where: a > 9}, {name: small, where: a < 3}]}
          - {id: last, type: union, from: [{id: route, output: big, via: topic}, {id: route, output: small, via: topic}]}
        sinks: {out: {type: kafka, topic: done}}
        """
    )
    assert [cut.topic for cut in plan.cuts] == ["demo.route.big_last", "demo.route.small_last"]


def test_a_console_sink_is_an_internal_topic(plan_of: MakePlan) -> None:
    (component,) = plan_of(CHAIN.replace("{type: kafka, topic: done}", "{type: console}")).components
    (output,) = component.outputs
    assert (output.kind, output.topic, output.format.type) == (OutputKind.VIEW, "whorl.demo.out.view", "rows")


@pytest.mark.parametrize(
    ("type", "format", "sink", "raw"),
    [
        ("forward", "text", "text", True),
        ("forward", "bytes", "bytes", True),
        ("forward", "json", "json", True),
        ("forward", "json", "text", False),
        ("add", "text", "text", False),
    ],
)
def test_values_pass_undecoded_only_where_nothing_looks_into_them(
    plan_of: MakePlan, type: str, format: str, sink: str, raw: bool
) -> None:
    plan = plan_of(
        f"""
        sources: {{in: {{type: kafka, topic: a, format: {format}}}}}
        operators: [{{id: one, type: {type}}}]
        sinks: {{out: {{type: kafka, topic: b, format: {sink}}}}}
        """
    )
    assert plan.components[0].inputs[0].raw is raw


def test_a_key_column_needs_the_row(plan_of: MakePlan) -> None:
    text = "{sources: {in: {type: kafka, topic: a}}, sinks: {out: {type: kafka, topic: b, key: account}}}"
    assert plan_of(text).components[0].inputs[0].raw is False


def test_avro_between_kafka_topics_can_be_planned(plan_of: MakePlan) -> None:
    avro = "{type: avro, schema: {type: record, name: r, fields: [{name: v, type: long}]}}"
    sources, sinks = (
        f"{{in: {{type: kafka, topic: a, format: {avro}}}}}",
        f"{{out: {{type: kafka, topic: b, format: {avro}}}}}",
    )
    plan = plan_of(f"sources: {sources}\noperators: [{{id: one, type: forward}}]\nsinks: {sinks}")
    assert components(plan) == {"one": ["one"]}


def test_edges_keep_the_partition_unless_the_key_changes(plan_of: MakePlan) -> None:
    cut = CHAIN.replace("{id: two,", "{id: two, from: {id: one, via: topic},")
    assert plan_of(cut).components[0].outputs[0].keyed is False
    changed = cut.replace("{id: one, type: filter, where: a > 0}", "{id: one, type: key_by, key: a}")
    assert plan_of(changed).components[0].outputs[0].keyed is True
