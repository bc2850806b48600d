"""A sink of Python: for each record, or once for each id; with a crash at every step of Kafka, and of the store of ids."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers_crashes import after_each_crash

from whorl.config.loader import load
from whorl.errors import CheckFailed
from whorl.flow.check import check, checked
from whorl.operators.builtin import effect
from whorl.operators.builtin.effect import InDoubt, once
from whorl.testing import Crash, PipelineHarness

PIPELINE = """
name: mails
sources:
  orders: {type: kafka, topic: orders, key: customer, schema: {id: string, customer: string}}
operators:
  - {id: real, type: filter, from: orders, where: customer <> 'nobody'}
sinks:
  mail: {type: python, from: real, %s}
settings: {state: {backend: memory}, commit_records: 3, bulk_records: 2}
"""
SENT: list[str] = []
IDS = ["a", "b", "a", "c", "b", "d", "e", "a"]


def send(row: dict[str, Any]) -> None:
    if row["id"] == "bad":
        raise ValueError("no such address")
    SENT.append(row["id"])


class Mailer:
    def __init__(self, greeting: str) -> None:
        self.greeting = greeting

    def open(self) -> None:
        SENT.append("open")

    def process(self, row: dict[str, Any], metadata: Any) -> str:
        SENT.append(f"{self.greeting} {row['customer']} {metadata.topic}")
        return "goes nowhere"

    def close(self) -> None:
        SENT.append("close")


class Notes:
    """A store of ids that dies before or after the step of this number."""

    def __init__(self, dies_at: int = 0) -> None:
        self.kept: dict[str, str] = {}
        self.dies_at, self.step = dies_at, 0

    def _reached(self) -> None:
        self.step += 1
        if self.step == self.dies_at:
            raise Crash("the store")

    def claim(self, id: str) -> str:
        self._reached()
        found = self.kept.setdefault(id, "claimed-now")
        if found == "claimed-now":
            self.kept[id] = "claimed"
            found = "new"
        self._reached()
        return found

    def done(self, id: str) -> None:
        self._reached()
        self.kept[id] = "done"
        self._reached()

    def release(self, id: str) -> None:
        self._reached()
        del self.kept[id]
        self._reached()


def prepared(folder: Path, options: str) -> PipelineHarness:
    file = folder / "mails.yaml"
    file.write_text(PIPELINE % options)
    harness = PipelineHarness(file, partitions=2)
    harness.send("orders", [{"id": id, "customer": f"c{n}"} for n, id in enumerate(IDS)])
    SENT.clear()
    return harness


def test_for_each_record_opened_and_closed(tmp_path: Path) -> None:
    harness = prepared(tmp_path, "class: test_python_sink.Mailer, args: {greeting: hello}")
    harness.send("orders", [{"id": "x", "customer": "nobody"}])
    harness.run()
    opened = SENT.count("open")
    assert opened == SENT.count("close") > 0
    assert sorted(said for said in SENT if said.startswith("hello")) == [f"hello c{n} orders" for n in range(8)]


def test_once_for_each_id_by_state_also_in_the_next_life(tmp_path: Path) -> None:
    harness = prepared(tmp_path, "function: test_python_sink.send, idempotent_by: id")
    harness.run()
    harness.send("orders", [{"id": "c", "customer": "c1"}, {"id": "bad", "customer": "c2"}])
    harness.run()
    assert sorted(SENT) == ["a", "b", "c", "d", "e"]
    assert [(letter.operator, letter.error) for letter in harness.dead()] == [("mail", "ValueError: no such address")]


def test_with_state_a_crash_repeats_what_was_not_committed_and_no_more(tmp_path: Path) -> None:
    calm = prepared(tmp_path, "function: test_python_sink.send, idempotent_by: id")
    calm.run()
    points, doubled = calm.faults.points, 0
    for _, _ in after_each_crash(
        points, lambda number: prepared(tmp_path, "function: test_python_sink.send, idempotent_by: id")
    ):
        counts = Counter(SENT)
        assert set(counts) == set("abcde") and max(counts.values()) <= 2
        assert (
            sum(count - 1 for count in counts.values()) <= 3 + 2
        )  # of one transaction, and the bulk that it ended with
        doubled += max(counts.values()) == 2
    assert doubled, "no crash fell into the window of doubt"


@pytest.mark.parametrize("in_doubt", ["tell", "repeat", "skip"])
def test_with_a_store_outside_only_the_call_under_way_is_in_doubt(in_doubt: str) -> None:
    """Lives that read the same records again from the start, as after a crash before any commit."""
    calm = Notes()
    SENT.clear()
    _lives(calm, in_doubt)
    assert sorted(SENT) == ["a", "b", "c", "d", "e"]
    for dies_at in range(1, calm.step + 1):
        SENT.clear()
        notes = Notes(dies_at)
        told = _lives(notes, in_doubt)
        counts = Counter(SENT)
        # Dead between the claim and the note of it, at odd and even steps: begun is known, done is not.
        claimed = [id for id in "abcde" if counts[id] != 1 or id in told]
        assert len(claimed) <= 1, (dies_at, counts)
        if in_doubt == "repeat":
            assert all(counts[id] >= 1 for id in "abcde") and not told
        if in_doubt == "skip":
            assert all(counts[id] <= 1 for id in "abcde") and not told
        if in_doubt == "tell":
            assert all(counts[id] <= 1 for id in "abcde")
            assert all(counts[id] == 1 or id in told for id in "abcde")


def _lives(notes: Notes, in_doubt: str) -> set[str]:
    """Until one gets through; the ids of which it was told that they are in doubt."""
    told: set[str] = set()
    for _ in range(2):
        try:
            for id in IDS:
                try:
                    once(lambda row, metadata: send(row), notes, ["id"], in_doubt)({"id": id}, None)  # type: ignore[arg-type]
                except InDoubt:
                    told.add(id)
            return told
        except Crash:
            continue
    return told


def test_what_raised_was_not_done_and_may_be_tried_again() -> None:
    notes, SENT[:] = Notes(), []
    guarded = once(lambda row, metadata: send(row), notes, ["id"], "tell")
    with pytest.raises(ValueError, match="no such address"):
        guarded({"id": "bad"}, None)  # type: ignore[arg-type]
    assert notes.kept == {}
    with pytest.raises(ValueError, match="no id: 'id' is null"):
        guarded({"id": None}, None)  # type: ignore[arg-type]


def test_several_columns_make_an_id() -> None:
    assert effect.id_of({"a": 1, "b": "x"}, ("a", "b")) == '[1,"x"]'
    assert effect.id_of({"a": 1}, ("a",)) == "1"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("idempotent_by: id", "needs either 'function' or 'class'"),
        ("function: test_python_sink.send, store: state", "has 'store' and no 'idempotent_by'"),
        ("function: test_python_sink.send, idempotent_by: id, store: mongo", "'mongo' is no store of ids"),
        ("function: test_python_sink.send, idempotent_by: id, in_doubt: skip", "which state cannot tell"),
        ("function: test_python_sink.send, idempotent_by: number", "the column 'number' does not exist"),
        ("function: test_python_sink.sent", "has no 'sent'"),
    ],
)
def test_what_is_wrong_is_found(tmp_path: Path, options: str, said: str) -> None:
    (tmp_path / "p.yaml").write_text(PIPELINE % options)
    with pytest.raises(CheckFailed) as failed:
        checked(load(tmp_path / "p.yaml"))
    assert said in str(failed.value) and "p.yaml:8" in str(failed.value)


def test_it_checks_in_every_form(tmp_path: Path) -> None:
    for options in (
        "function: test_python_sink.send",
        "function: test_python_sink.send, idempotent_by: [id, customer], store: 'redis://127.0.0.1/0', ttl: 1d, in_doubt: skip",
    ):
        (tmp_path / "p.yaml").write_text(PIPELINE % options)
        assert check(load(tmp_path / "p.yaml")) == []
