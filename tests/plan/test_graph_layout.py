"""Where nodes stand when a plan is drawn."""

from __future__ import annotations

from typing import Any

from whorl.plan.layout import placed


def _plan(nodes: str, *edges: str) -> dict[str, Any]:
    """Nodes by one letter, capitals are sinks; edges such as `ab`, `ba*` leads back."""
    return {
        "nodes": [{"id": id, "kind": "sink" if id.isupper() else "operator"} for id in nodes],
        "edges": [{"from": edge[0], "to": edge[1], "feedback": edge.endswith("*")} for edge in edges],
    }


def _places(plan: dict[str, Any]) -> dict[str, tuple[float, float]]:
    return {node["id"]: (node["column"], node["row"]) for node in placed(plan)["nodes"]}


def test_a_chain_is_one_row() -> None:
    assert _places(_plan("abC", "ab", "bC")) == {"a": (0, 0), "b": (1, 0), "C": (2, 0)}


def test_branches_stand_below_each_other() -> None:
    places = _places(_plan("abcD", "ab", "ac", "bD", "cD"))
    assert places["b"][0] == places["c"][0] == 1
    assert abs(places["b"][1] - places["c"][1]) >= 1


def test_an_edge_that_leads_back_moves_nothing() -> None:
    assert _places(_plan("abC", "ab", "bC", "ba*")) == _places(_plan("abC", "ab", "bC"))
    assert _places(_plan("aC", "aC", "aa*")) == {"a": (0, 0), "C": (1, 0)}


def test_a_long_edge_passes_points_beside_what_is_between() -> None:
    drawn = placed(_plan("abcD", "ab", "bc", "cD", "aD"))
    (points,) = (edge["points"] for edge in drawn["edges"] if (edge["from"], edge["to"]) == ("a", "D"))
    stand = {(node["column"], node["row"]) for node in drawn["nodes"]}
    assert [point["column"] for point in points] == [1, 2]
    assert not stand & {(point["column"], point["row"]) for point in points}
    assert drawn["columns"] == 4
    assert drawn["rows"] >= 1


def test_two_places_are_never_the_same() -> None:
    plan = _plan("abcdefGH", "ac", "bc", "cd", "ce", "cf", "dG", "eG", "fH", "aH", "fa*")
    assert len(set(_places(plan).values())) == 8


def test_nothing_to_draw() -> None:
    assert placed({"nodes": [], "edges": []})["columns"] == 0
