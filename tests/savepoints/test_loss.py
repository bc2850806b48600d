"""What is accepted as lost is gone for good, or, where the driver dies meanwhile, still there whole: in memory, with a crash at every call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers_life import SESSION, Board

from whorl import Context, KeyedOperator, Row, ValueState
from whorl.jobs.changes import accepted
from whorl.jobs.interlude import Interlude
from whorl.savepoints.loss import Loss, left_of, left_of_own
from whorl.state.codec import ORDER, map_group, pack, table_prefix
from whorl.state.partition import LP_KEY
from whorl.state.timers import _entry as timer_entry
from whorl.tasks.changelog import decode_positions, encode_lp
from whorl.tasks.driver import Driver
from whorl.tasks.layout import Layout
from whorl.tasks.register import ComponentEntry, read_registration
from whorl.testing import Crash, PipelineHarness
from whorl.testing.memory import Faults, MemoryBroker, MemoryClients

pytestmark = pytest.mark.usefixtures("no_checkpoints")
PIPELINE = """
name: losing
sources: {in: {type: kafka, topic: in, key: KEY, schema: {k: string, j: string}}}
operators:
  - {id: total, type: count, key: KEY, from: in, as: n}
  - {id: kept, type: python, class: test_loss.Kept, key: KEY, from: in}
sinks:
  totals: {type: kafka, topic: totals, from: total}
  out: {type: kafka, topic: out, from: kept}
settings: {state: {backend: memory}}
"""


class Kept(KeyedOperator):
    seen = ValueState(int)
    other = ValueState(int)

    def process(self, key: str, record: Row, context: Context) -> None:
        seen = self.seen.update(lambda before: (before or 0) + 1)
        other = self.other.update(lambda before: (before or 0) + 1)
        if seen == 1:
            context.timers.after("1h")
        context.emit({"key": key, "seen": seen, "other": other})

    def on_timer(self, key: str, time: object, context: Context) -> None:
        context.emit({"key": key, "seen": -1, "other": 0})


class Less(Kept):
    other = None  # type: ignore[assignment]

    def process(self, key: str, record: Row, context: Context) -> None:
        context.emit({"key": key, "seen": self.seen.update(lambda before: (before or 0) + 1), "other": 0})


def harness_of(folder: Path, text: str, broker: MemoryBroker | None = None) -> PipelineHarness:
    (folder / "losing.yaml").write_text(text)
    return PipelineHarness(folder / "losing.yaml", broker, partitions=2)


def prepared(folder: Path, text: str) -> PipelineHarness:
    """It has run by the column `k`, and is to go on with another file."""
    first = harness_of(folder, PIPELINE.replace("KEY", "k"))
    first.send("in", [{"k": key, "j": "x"} for key in "aab"])
    first.run()
    harness = harness_of(folder, text, first.broker)
    harness.clock = first.clock
    return harness


def leave_behind(harness: PipelineHarness, accept: set[str], faults: Faults | None = None) -> list[Loss]:
    """As `whorl run --accept-loss` does, before anything runs."""
    board: Any = Board(harness.broker, faults or Faults())
    driver = Driver(board.clients, "losing")
    losses = accepted(harness.plan, driver.registration, accept)
    if losses:
        Interlude(SESSION, board, driver, harness.plan.settings).leave_behind(losses)
    return losses


def gone_on(harness: PipelineHarness) -> tuple[list[Any], list[Any]]:
    """What it writes from here on, of the same bytes as keys; an hour later timers would go off."""
    before = len(harness.sink("out")), len(harness.sink("totals"))
    harness.send("in", [{"k": "z", "j": "a"}])
    harness.run()
    harness.clock.wait(7200)
    harness.run()
    rows = sorted((row["key"], row["seen"]) for row in harness.sink("out")[before[0] :] if row)
    return rows, [row["n"] for row in harness.sink("totals")[before[1] :] if row]


def test_state_by_another_key_is_gone_with_its_timers(tmp_path: Path) -> None:
    """The record's new key has the bytes of an old one. Its own timer goes off, those of before do not."""
    harness = prepared(tmp_path, PIPELINE.replace("KEY", "j"))
    assert leave_behind(harness, {"kept", "total"}) == [Loss("total", "total"), Loss("total", "kept")]
    assert gone_on(harness) == ([("a", -1), ("a", 1)], [1])


def test_without_it_that_would_be_found(tmp_path: Path) -> None:
    assert gone_on(prepared(tmp_path, PIPELINE.replace("KEY", "j"))) == ([("a", -1), ("a", 3), ("b", -1)], [3])


def test_a_crash_at_any_call_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    text, accept = PIPELINE.replace("KEY", "j"), {"kept", "total"}
    undisturbed = Faults()
    leave_behind(prepared(tmp_path, text), accept, undisturbed)
    for number, point in enumerate(undisturbed.points, 1):
        harness = prepared(tmp_path, text)
        with pytest.raises(Crash):
            leave_behind(harness, accept, Faults(crash_at=number))
        leave_behind(harness, accept)
        assert gone_on(harness) == ([("a", -1), ("a", 1)], [1]), f"{number} {point}"


def test_an_operator_that_comes_back_begins_from_nothing(tmp_path: Path) -> None:
    """The others of its component keep what they have."""
    text = PIPELINE.replace("KEY", "k")
    without = text[: text.index("  - {id: kept")] + text[text.index("sinks:") : text.index("  out:")]
    harness = prepared(tmp_path, without + "settings: {state: {backend: memory}}\n")
    assert leave_behind(harness, {"kept"}) == [Loss("total", "kept")]
    harness.run()
    back = harness_of(tmp_path, text, harness.broker)
    back.clock = harness.clock
    assert leave_behind(back, set()) == []
    back.send("in", [{"k": "a", "j": "x"}])
    back.run()
    assert [row["seen"] for row in back.sink("out") if row][-1] == 1
    assert [row["n"] for row in back.sink("totals") if row][-1] == 3


def test_a_state_that_is_not_declared_any_more_goes_alone(tmp_path: Path) -> None:
    harness = prepared(tmp_path, PIPELINE.replace("KEY", "k").replace("test_loss.Kept", "test_loss.Less"))
    assert leave_behind(harness, {"kept"}) == [Loss("total", "kept", ("other",))]
    back = harness_of(tmp_path, PIPELINE.replace("KEY", "k"), harness.broker)
    back.send("in", [{"k": "a", "j": "x"}])
    back.run()
    rows = [(row["seen"], row["other"]) for row in back.sink("out") if row]
    assert rows[-1] == (3, 1)


def test_a_component_that_is_no_more_leaves_nothing(tmp_path: Path) -> None:
    renamed = PIPELINE.replace("KEY", "k").replace("id: total", "id: number").replace("from: total", "from: number")
    harness = prepared(tmp_path, renamed)
    assert set(leave_behind(harness, {"kept", "total"})) == {Loss("total")}
    registration = read_registration(MemoryClients(harness.broker), "losing")
    assert registration is not None and registration.components == {}
    assert [name for name in harness.broker.topics() if "changelog" in name] == []


def test_which_entries_go() -> None:
    map_of_key = table_prefix("op", "by{}") + map_group(b"key") + pack("x")
    timer, order = timer_entry("event", 5, "op", b"key"), f"{ORDER}\0op\0t".encode()
    entries = [
        table_prefix("op", "one") + b"key",
        map_of_key,
        timer,
        order,
        table_prefix("opera", "one") + b"k",
        LP_KEY,
    ]
    assert [Loss("c", "op").takes(entry) for entry in entries] == [True] * 4 + [False] * 2
    assert [Loss("c", "op", ("by{}",)).takes(entry) for entry in entries] == [False, True, False, True, False, False]
    assert not any(Loss("c", topics=("in",)).takes(entry) for entry in entries)


def test_what_the_register_and_the_positions_are_without_it() -> None:
    kept = {"a": ("k",), "b": ()}
    entry = ComponentEntry(
        Layout(1, 1, 2), (), ("in", "old"), kept, {"a": 2}, types={"a": "count"}, states={"a": ("x",), "b": ("y", "z")}
    )
    losses = (Loss("c", "a"), Loss("c", "b", ("y",)), Loss("c", topics=("old",)))
    left = left_of(losses, entry)
    assert (left.topics, left.kept, left.versions, left.types) == (("in",), {"b": ()}, {}, {})
    assert left.states == {"b": ("z",)}
    own = {0: encode_lp({("in", 0): 1, ("old", 0): 2}, {"clock": 3})}
    assert decode_positions(left_of_own(losses, own)[0]) == {("in", 0): 1}
