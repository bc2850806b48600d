"""Each rule is provoked, and silent where there is nothing to say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from whorl.config.loader import load
from whorl.feedback.evidence import ComponentEvidence, Evidence, Files, Sample
from whorl.feedback.gather import evidence_of, samples_of
from whorl.feedback.rules import OF_ALL, OF_COMPONENTS, advice
from whorl.flow.check import checked
from whorl.jobs.history import HEAP
from whorl.plan.planner import make_plan
from whorl.tasks.control import Status


def series(count: int = 10, every: float = 5.0, **grow: float) -> tuple[Sample, ...]:
    """Samples of which each figure grows by so much from one to the next."""
    whole = ("commit_seconds", "batch_seconds")
    return tuple(
        Sample(at=n * every, **{name: value * n if name in whole else int(value * n) for name, value in grow.items()})  # type: ignore[arg-type]
        for n in range(count)
    )


def query(**fields: object) -> ComponentEvidence:
    return replace(ComponentEvidence("q", "query"), **fields)  # type: ignore[arg-type]


def tasks(**fields: object) -> ComponentEvidence:
    return replace(ComponentEvidence("t", "tasks"), **fields)  # type: ignore[arg-type]


def batches(seconds: float, rows: int = 1000, count: int = 12, lag: int = 0) -> tuple[Sample, ...]:
    return tuple(Sample(n, read=rows * n, batch=n, batch_seconds=seconds, lag=lag) for n in range(count))


STEADY = series(read=1000, written=1000, commits=50, commit_seconds=0.2)
PROVOKED = {
    "lag-grows": Evidence("p", (tasks(samples=series(lag=500, read=100)),)),
    "lag-grows of a query": Evidence("p", (query(samples=series(lag=500, read=100)),)),
    "trigger-too-short": Evidence("p", (query(samples=batches(3.0)),), trigger=1.0),
    "trigger-too-short by tiny batches": Evidence("p", (query(samples=batches(0.5, rows=3)),)),
    "trigger-too-long": Evidence("p", (query(samples=batches(0.2, lag=40)),), trigger=30.0),
    "skew": Evidence("p", (tasks(samples=STEADY, places={"in/0": 9000, "in/1": 100, "in/2": 200, "in/3": 100}),)),
    "state-partitions too few": Evidence("p", (query(samples=(Sample(0, state_rows=9_000_000),), state_partitions=4),)),
    "state-partitions too many": Evidence(
        "p", (query(samples=(Sample(0, state_rows=500),), state_partitions=200),), cores=2
    ),
    "state-grows": Evidence("p", (query(samples=series(state_rows=100, read=100), keeps_state=True, bounded=False),)),
    "state-grows in tasks": Evidence("p", (tasks(samples=STEADY, keeps_state=True, bounded=False),)),
    "late-rows": Evidence("p", (query(samples=series(read=1000, late=5)),)),
    "dead-letters": Evidence("p", (tasks(samples=series(read=1000, dead=5)),), dead_letter="p.dead"),
    "slow-sink": Evidence("p", (tasks(samples=series(read=1000, commits=4, commit_seconds=3.0)),)),
    "memory": Evidence("p", heap=(0.5, 0.9, 0.93, 0.95, 0.91, 0.92)),
    "small-files written": Evidence("p", files=(Files("f", "out", 5000, 5000 * 2000, True),)),
    "small-files read": Evidence("p", files=(Files("f", "in", 10_000, 10_000 * 500, False),)),
}
CALM = {
    "steady": Evidence("p", (tasks(samples=STEADY, places={"in/0": 5000, "in/1": 4800}, keeps_state=True, bounded=True),)),
    "one partition": Evidence("p", (tasks(samples=STEADY, places={"in/0": 50_000}),)),
    "lag that falls": Evidence("p", (tasks(samples=tuple(Sample(n * 5.0, lag=9000 - 900 * n) for n in range(10))),)),
    "batches in time": Evidence("p", (query(samples=batches(0.8)),), trigger=1.0),
    "nothing waits": Evidence("p", (query(samples=batches(0.2)),), trigger=30.0),
    "state of python": Evidence("p", (tasks(samples=STEADY, keeps_state=True, bounded=None),)),
    "state that comes and goes": Evidence("p", (query(samples=(Sample(0, state_rows=5), Sample(20, state_rows=9), Sample(40, state_rows=4), Sample(60, state_rows=7)), keeps_state=True, bounded=False),)),
    "much memory for a moment": Evidence("p", heap=(0.4, 0.95, 0.5, 0.5, 0.5)),
    "large files": Evidence("p", files=(Files("f", "out", 500, 500 << 27, True),)),
    "nothing": Evidence("p", (tasks(), query())),
}  # fmt: skip


@pytest.mark.parametrize("case", PROVOKED)
def test_each_rule_is_provoked(case: str) -> None:
    (found,) = advice(PROVOKED[case])
    assert found.rule == case.split(" ")[0]
    assert found.finding and found.evidence and found.setting and found.change
    assert any(character.isdigit() for character in found.evidence)


@pytest.mark.parametrize("case", CALM)
def test_where_nothing_is_wrong_nothing_is_said(case: str) -> None:
    assert advice(CALM[case]) == []


def test_every_rule_has_its_case() -> None:
    provoked = {advice(evidence)[0].rule for evidence in PROVOKED.values()}
    assert len(provoked) == len(OF_COMPONENTS) + len(OF_ALL)


def status(component: str, task: int = 0, at: float = 0.0, uid: str = "u", **figures: object) -> Status:
    return Status(uid, component, 1, task, 0, "h", 1, "running", at, figures)


def test_tasks_are_summed_and_a_restart_loses_nothing() -> None:
    said = [
        status("t", 0, 1.0, read=10),
        status("t", 1, 2.0, read=5),
        status("t", 0, 3.0, read=2),
        status("t", 0, 4.0, read=4),
    ]
    assert [sample.read for sample in samples_of(said)] == [10, 15, 17, 19]


def test_evidence_is_of_the_last_life_and_knows_what_is_bounded(folder: Path) -> None:
    Path("p.yaml").write_text(
        "name: p\nsources: {in: {type: kafka, topic: in, schema: {k: string, n: long}}, f: {type: file, path: data, schema: {a: long}}}\n"
        "operators:\n- {id: c, type: count, from: in, key: k, host: tasks}\n- {id: d, type: count, from: in, key: k, ttl: 1d, host: tasks, isolate: true}\n"
        "- {id: s, type: sql, query: 'SELECT a, count(*) AS n FROM f GROUP BY a'}\n"
        "sinks: {x: {type: kafka, topic: x, from: [c, d]}, y: {type: kafka, topic: y, from: s, key: a}}\n"
    )
    Path("data").mkdir()
    Path("data/a.json").write_text('{"a": 1}\n')
    loaded = load("p.yaml")
    plan = make_plan(checked(loaded), loaded.settings)
    ids = {component.id for component in plan.components}
    said = [
        *(status(id, at=1.0, uid="old", read=99, positions={"in": {"0": 5}}) for id in ids),
        *(status(id, at=2.0, read=1, positions={"in": {"0": 5}}) for id in ids),
        *(status(id, at=9.0, read=7, positions={"in": {"0": 11}}) for id in ids),
        status(HEAP, at=9.0, share=0.4),
    ]
    found = evidence_of(plan, said)
    by_id = {component.id: component for component in found.components}
    assert {component.grown("read") for component in found.components} == {6}
    assert by_id["d"].bounded is True and found.heap == (0.4,)
    assert (by_id["c"].keeps_state, by_id["c"].bounded, by_id["c"].places) == (True, False, {"in/0": 6})
    assert (by_id["s"].keeps_state, by_id["s"].bounded, by_id["s"].state_partitions) == (True, False, 4)
    assert [(files.id, files.count, files.written) for files in found.files] == [("f", 1, False)]
