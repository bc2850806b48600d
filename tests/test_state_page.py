"""docs/state.md: its code is that of the example, its tests pass, and what it shows is what comes out."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import orjson
import pytest

from whorl import Context, KeyedOperator, Row, ValueState
from whorl.config.loader import load
from whorl.flow.check import check
from whorl.plan.explain import explain
from whorl.testing import Given, OperatorHarness, PipelineHarness

ROOT = Path(__file__).parent.parent
CARDS = ROOT / "examples" / "cards"
PAGE = (ROOT / "docs" / "state.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
BUILT_IN = re.findall(r"^\| `\w+`.*`(\{id: .*\})` \|$", PAGE, re.MULTILINE)
LINES = re.findall(r"^    - (\{id: .*\})$", PAGE, re.MULTILINE)
IN_README, OF_GRAPHS = re.findall(r"^    - (\{id: .*\})$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
SOURCE = """
sources:
  payments:
    type: kafka
    topic: payments
    key: account
    schema: {account: string, id: string, amount: double, country: string, at: timestamp}
sinks: {out: {type: list}}
"""


def test_it_shows_the_example_as_it_is() -> None:
    for file in ("cards.py", "pipeline.yaml", "test_cards.py"):
        assert (CARDS / file).read_text() in [text for _, text in BLOCKS], file


def test_the_tests_of_the_example_pass() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_cards.py"]
    done = subprocess.run(command, cwd=CARDS, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_it_shows_is_what_comes_out() -> None:
    harness = PipelineHarness(CARDS / "pipeline.yaml")
    harness.send(
        "payments", [Given(line, key=line[10:12]) for line in (CARDS / "payments.jsonl").read_bytes().splitlines()]
    )
    harness.run()
    for sink in ("alerts", "bills"):
        shown = PAGE.partition(f"$ whorl consume {sink} --keys\n")[2].partition("$ ")[0]
        came = [f"{record.key.decode()}\t{record.value.decode()}\n" for record in harness.records(sink)]
        assert came and sorted(came) == sorted(shown.splitlines(keepends=True))
    (dead,) = harness.dead()
    assert dead.error in PAGE
    assert "watch by card; in LMDB and a changelog" in explain(harness.plan)


@pytest.mark.parametrize("operator", [*BUILT_IN, IN_README, LINES[1]])
def test_the_line_of_a_built_in_operator_checks(tmp_path: Path, operator: str) -> None:
    (tmp_path / "p.yaml").write_text(f"{SOURCE}operators:\n  - {operator}\n")
    assert check(load(tmp_path / "p.yaml")) == []


def test_every_built_in_operator_has_a_line() -> None:
    types = ["count", "sum", "max", "average", "reduce", "latest", "deduplicate", "sessionize"]
    assert [re.search(r"type: (\w+)", line)[1] for line in BUILT_IN] == types  # type: ignore[index]


def test_the_readme_has_the_line_of_the_example_of_graphs() -> None:
    assert f"  - {OF_GRAPHS}\n" in (ROOT / "examples" / "graphstream" / "pipeline.yaml").read_text()


def prepared(folder: Path, name: str, line: str = "") -> PipelineHarness:
    """The pipeline of this name in the page, with its Python beside it; `line` in place of its operator."""
    python = next(text for _, text in BLOCKS if text.startswith(f"# {name}.py\n"))
    yaml = next(text for _, text in BLOCKS if text.startswith(f"name: {name}\n"))
    (folder / f"{name}.py").write_text(python)
    (folder / "p.yaml").write_text(re.sub(r"- {id: .*", f"- {line}", yaml) if line else yaml)
    return PipelineHarness(folder / "p.yaml")


@pytest.mark.parametrize("line", ["", LINES[0]], ids=["class", "join"])
def test_a_table_is_looked_up(tmp_path: Path, line: str) -> None:
    harness = prepared(tmp_path, "lookups", line)
    harness.send("orders", [{"id": "1", "customer": "ann"}, {"id": "2", "customer": "bob"}])
    harness.send("customers", [{"customer": "ann", "city": "Ulm"}])
    harness.run()
    rows = [{"id": "1", "customer": "ann", "city": "Ulm"}, {"id": "2", "customer": "bob", "city": None}]
    assert harness.sink("out") == rows


def test_two_streams_meet(tmp_path: Path) -> None:
    harness = prepared(tmp_path, "meetings")
    for source, users in (("clicks", ["ann", "ann", "bob"]), ("orders", ["ann"])):
        harness.send(source, [{"user": user} for user in users])
        harness.run()
    assert harness.sink("out") == [{"user": "ann", "clicks": 2}]
    assert len(harness.plan.components) == 1
    apart = (tmp_path / "p.yaml").read_text().replace("cogroup: true", "cogroup: false")
    (tmp_path / "p.yaml").write_text(apart)
    assert len(PipelineHarness(tmp_path / "p.yaml").plan.components) == 3


def test_two_streams_are_joined(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(next(text for _, text in BLOCKS if text.startswith("name: settling\n")))
    harness = PipelineHarness(tmp_path / "p.yaml")
    section = PAGE.partition("## Joining streams\n")[2].partition("\n## ")[0]
    for source, record in re.findall(r"^    (orders|payments) +({.*})$", section, re.MULTILINE):
        harness.send(source, [orjson.loads(record)])
        harness.run()
    shown = re.findall(r"^    ({.*})$", section, re.MULTILINE)
    assert shown and [record.value.decode() for record in harness.records("out")] == shown


def test_what_is_kept_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Before(KeyedOperator):
        points = ValueState(int)

        def process(self, key: str, record: Row, context: Context) -> None:
            self.points.set(record["won"])

    (tmp_path / "points.py").write_text(next(text for _, text in BLOCKS if text.startswith("# points.py\n")))
    monkeypatch.syspath_prepend(tmp_path)
    lives = [Before, import_module("points").Points]
    harness = OperatorHarness(lambda: lives[0]())
    harness.send("ann", {"won": 7})
    harness.commit()
    del lives[0]
    harness.crash()
    (row,) = harness.send("ann", {"game": "chess", "won": 3})
    assert f"has `{orjson.dumps(row['points']).decode()}` then" in PAGE
