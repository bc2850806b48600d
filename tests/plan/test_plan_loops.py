"""Loops: which edges lead back, what becomes of them, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from whorl.errors import CheckFailed
from whorl.plan.explain import explain
from whorl.plan.plan import Component, Input, Output, Plan

MakePlan = Callable[..., Plan]
SELF = """
sources:
  in: {type: kafka, topic: pairs, key: a, schema: {a: string, b: string}}
operators:
  - {id: spread, type: count, key: a, from: [in, spread], max_rounds: 9}
sinks:
  out: {type: kafka, topic: done}
"""
RING = """
sources:
  in: {type: kafka, topic: pairs, schema: {a: string, b: string}}
operators:
  - {id: one, type: count, key: a, from: [in, back]}
  - {id: two, type: count, key: count, as: n}
  - {id: back, type: map, columns: {a: CAST(n AS string)}}
sinks:
  out: {type: kafka, topic: done}
"""


def feedback(plan: Plan) -> list[tuple[Component, Input, Component, Output]]:
    """(reader, its input, writer, its output) of each."""
    read = [(each, input) for each in plan.components for input in each.feedback]
    written = {output.topic: (each, output) for each in plan.components for output in each.outputs}
    return [(each, input, *written[input.topic]) for each, input in read]


def test_an_operator_that_reads_itself(plan_of: MakePlan) -> None:
    plan = plan_of(SELF)
    ((reader, input, writer, output),) = feedback(plan)
    assert reader is writer is plan.components[0] and reader.in_loop
    assert (input.topic, input.watermark) == ("demo.spread_spread", None)
    assert (output.key, output.sorted, output.keyed, output.rounds) == (("a",), True, True, "next")
    assert [output.rounds for output in reader.outputs] == ["none", "next"]
    assert plan.upstream(reader) == [] and plan.loop_of(reader) == [reader]
    assert [cut.reason for cut in plan.cuts] == ["it leads back to 'spread': one round of a loop"]


def test_a_ring_of_two_components(plan_of: MakePlan) -> None:
    """The source has no key, so it is dealt out first; within the ring the round is carried, out of it it is not."""
    plan = plan_of(RING)
    dealt, one, two = plan.components
    ((reader, input, writer, _),) = feedback(plan)
    assert (reader, writer, input.topic) == (one, two, "demo.back_one")
    assert [[output.rounds for output in each.outputs] for each in plan.components] == [
        ["none"],
        ["same"],
        ["none", "next"],
    ]
    assert plan.loop_of(one) == plan.loop_of(two) == [one, two] and plan.loop_of(dealt) == [dealt]
    assert plan.upstream(one) == [dealt] and plan.upstream(two) == [one]


def test_the_edge_may_say_so_itself(plan_of: MakePlan) -> None:
    marked = RING.replace("from: [in, back]", "from: in").replace("CAST(n AS string)}", "CAST(n AS string)}, to: [{id: one, feedback: true}, out]")  # fmt: skip
    assert set(plan_of(marked).cuts) == set(plan_of(RING).cuts)


def test_two_loops(plan_of: MakePlan) -> None:
    plan = plan_of(RING.replace("type: count, key: count, as: n", "type: count, key: count, as: n, from: [one, two]"))
    assert [input.topic for _, input, _, _ in feedback(plan)] == ["demo.back_one", "demo.two_two"]


@pytest.mark.parametrize("host", ["sql, query: SELECT a FROM input", "filter, where: a > '', host: query"])
def test_nothing_in_a_loop_runs_in_a_query(plan_of: MakePlan, host: str) -> None:
    text = SELF.replace("from: [in, spread]", "from: [in, back]").replace(
        "sinks:", f"  - {{id: back, type: {host}}}\nsinks:"
    )
    with pytest.raises(CheckFailed) as failed:
        plan_of(text)
    assert [finding.code for finding in failed.value.findings] == ["loop"]
    assert "'back' is in a loop, which runs in tasks alone" in str(failed.value.findings[0])


def test_the_line_that_leads_back(plan_of: MakePlan) -> None:
    assert explain(plan_of(SELF)).split("\n\n")[1] == (
        "┌─────────────┐    ┌────────┐    ┌────────────┐\n"
        "│ in          ├───▶│ spread ├───▶│ out        │\n"
        "│ kafka pairs │    │ count  │    │ kafka done │\n"
        "└─────────────┘    └──────┬─┘    └────────────┘\n"
        "                     ▲    │\n"
        "                     └────┘ ↺ demo.spread_spread"
    )
    assert "leads back to spread: read before all else" in explain(plan_of(SELF))


def test_where_a_box_is_in_the_way_another_says_where_it_leads(plan_of: MakePlan) -> None:
    beside = "  - {id: more, type: count, key: a, from: in}\nsinks:"
    both = SELF.replace("sinks:", beside).replace("topic: done", "topic: done, from: [spread, more]")
    drawn = explain(plan_of(both))
    assert "↺ back to spread" in drawn
