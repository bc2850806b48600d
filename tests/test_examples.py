"""Every example does what its page says: those of tasks alone on the broker in memory, and all for real with Spark and Kafka."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from examples.graphstream.generate import links
from examples.graphstream.rings import batch

from whorl.broker import Broker
from whorl.cli.shown import as_data
from whorl.config.loader import load
from whorl.flow.check import check
from whorl.testing import Given, PipelineHarness

EXAMPLES = Path(__file__).parent.parent / "examples"
PIPELINES = (
    EXAMPLES / "alerts" / "pipeline.yaml",
    EXAMPLES / "assembly" / "pipeline.yaml",
    EXAMPLES / "cards" / "pipeline.yaml",
    EXAMPLES / "dashboard" / "pipeline.yaml",
    EXAMPLES / "graphstream" / "pipeline.yaml",
    EXAMPLES / "greenhouse" / "pipeline.yaml",
    EXAMPLES / "orders" / "pipeline.yaml",
    EXAMPLES / "payments" / "pipeline.yaml",
    EXAMPLES / "short" / "processors.yaml",
    EXAMPLES / "tramway" / "pipeline.yaml",
)
READINGS = [json.loads(line) for line in (EXAMPLES / "greenhouse" / "readings.jsonl").read_text().splitlines()]
ADVICE = {"basil": ["open the roof", "nothing"], "fern": ["nothing", "open the roof"]}
NUMBERS = [("a", "1"), ("b", "41"), ("a", "3"), ("a", "0.5")]
FIGURES = {
    "count of a": ["1", "2", "3"],
    "average of a": ["11.0", "12.0", "11.5"],
    "count of b": ["1"],
    "average of b": ["51.0"],
}


def named(file: Path) -> str:
    return file.parent.name


@pytest.fixture
def whorl(broker: Broker) -> Iterator[object]:
    """`whorl(file, *words, given="")` as a user types it, in the example's folder; gives back what it printed."""

    def call(folder: Path, *words: str, given: str = "") -> str:
        command = [sys.executable, "-m", "whorl", *words, "--broker", broker.address]
        done = subprocess.run(command, cwd=folder, input=given, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    yield call


def shown_in(page: str, command: str) -> str:
    """What a page says that a command prints."""
    text = (EXAMPLES.parent / "docs" / page).read_text("utf-8").partition(f"$ {command}\n")[2]
    return re.split(r"^(?:\$ |```)", text, maxsplit=1, flags=re.MULTILINE)[0]


def alike(printed: str) -> list[list[str]]:
    """Cells of what was printed, whatever the numbers: the page's pipeline has read more."""
    return [[re.sub(r"\d+", "#", cell) for cell in line.split()] for line in printed.strip().splitlines()]


@pytest.mark.parametrize("file", PIPELINES, ids=named)
def test_an_example_checks(file: Path) -> None:
    assert check(load(file)) == []


def test_all_examples_are_here() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {named(file) for file in PIPELINES} | {"processor", "grafana"}  # tests/processor runs the one


def by_sensor(rows: list[dict[str, object]]) -> dict[object, list[object]]:
    return {
        sensor: [row["do"] for row in rows if row["sensor"] == sensor] for sensor in {row["sensor"] for row in rows}
    }


def test_greenhouse_in_memory() -> None:
    harness = PipelineHarness(EXAMPLES / "greenhouse" / "pipeline.yaml")
    harness.send("readings", READINGS)
    harness.run()
    assert by_sensor(harness.sink("advice")) == ADVICE
    assert harness.sink("screen") == harness.sink("advice")


def test_the_cases_of_greenhouse_pass() -> None:
    command = [sys.executable, "-m", "whorl", "test", "pipeline.yaml"]
    done = subprocess.run(command, cwd=EXAMPLES / "greenhouse", capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "3 passed, 0 failed", done.stdout + done.stderr


def by_way(lines: Iterable[str]) -> dict[str, list[str]]:
    """What left the short form for each key, in order, under the way that it came: averages have a point, counts have none."""
    found: dict[str, list[str]] = {}
    for key, figure in (line.split("\t") for line in lines):
        found.setdefault(f"{'average' if '.' in figure else 'count'} of {key}", []).append(figure)
    return found


def _rows_of(example: str, file: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (EXAMPLES / example / file).read_text().splitlines()]


@pytest.mark.parametrize("tasks", [1, 2])
def test_assembly_takes_orders_apart_to_the_last_part(tasks: int) -> None:
    harness = PipelineHarness(EXAMPLES / "assembly" / "pipeline.yaml", partitions=2, tasks=tasks)
    for source in ("recipes", "orders"):
        harness.send(source, _rows_of("assembly", f"{source}.jsonl"))
    harness.run()
    bought = {(row["order"], row["part"]): row["count"] for row in harness.sink("shopping")}
    wheels = {"rim": 4, "spoke": 128, "tyre": 4, "axle": 4, "ball": 72}
    assert {part: count for (order, part), count in bought.items() if order == "o1"} == {
        **wheels, "frame": 2, "bolt": 32
    }  # fmt: skip
    assert bought["o2", "spoke"] == 96 and bought["o2", "bolt"] == 26
    assert bought["o3", "bolt"] == 20
    endless = harness.dead()
    assert sorted(as_data(letter.value)["part"] for letter in endless) == ["bolt", "paradox"]
    assert all("max_rounds" in letter.error for letter in endless)


def test_graphstream_finds_the_rings_that_a_batch_finds() -> None:
    harness = PipelineHarness(EXAMPLES / "graphstream" / "pipeline.yaml", partitions=4, tasks=2)
    given = list(links(2_000))
    for part in (given[:500], given[500:]):
        harness.send("links", part)
        harness.run()
    rings = {entry.key.decode(): json.loads(entry.value)["component"] for entry in harness.broker.records("rings")}
    assert rings == batch(given)


def test_short_form_in_memory() -> None:
    harness = PipelineHarness(EXAMPLES / "short" / "processors.yaml")
    harness.send("source", [Given(number, key=key) for key, number in NUMBERS])
    harness.run()
    lines = [f"{record.key.decode()}\t{record.value.decode()}" for record in harness.records("sink")]
    assert lines == ["a\t1", "a\t11.0", "b\t1", "b\t51.0", "a\t2", "a\t12.0", "a\t3", "a\t11.5"]
    assert by_way(lines) == FIGURES


@pytest.mark.kafka
@pytest.mark.spark
def test_greenhouse_for_real(whorl) -> None:
    folder = EXAMPLES / "greenhouse"
    whorl(folder, "topics", "create", "readings", "--partitions", "2")
    whorl(folder, "produce", "readings", "readings.jsonl", "--key", "sensor")
    assert "read 6, written 9, 1 to 'greenhouse.dead'" in whorl(folder, "run", "pipeline.yaml", "--until-caught-up")
    records = [json.loads(line) for line in whorl(folder, "consume", "advice", "--json").splitlines()]
    assert by_sensor([record["value"] for record in records]) == ADVICE
    assert all(record["headers"][0][1].startswith("readings/") for record in records)
    assert "KeyError: 'moss'" in whorl(folder, "dead", "list", "pipeline.yaml")


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.parametrize("edges", ["fused", "topics"])
def test_short_form_for_real(whorl, edges: str, tmp_path: Path) -> None:
    folder = _renamed(EXAMPLES / "short", tmp_path, edges)
    whorl(folder, "topics", "create", f"numbers-{edges}", "--partitions", "2")
    given = "".join(f"{key}:{number}\n" for key, number in NUMBERS)
    whorl(folder, "produce", f"numbers-{edges}", "-", "--key-separator", ":", "--format", "text", given=given)
    whorl(folder, "run", "processors.yaml", "--until-caught-up", "--set", f"edges={edges}")
    assert by_way(whorl(folder, "consume", f"figures-{edges}", "--keys").splitlines()) == FIGURES
    if edges == "topics":
        assert {"p1_p2", "p1_p3", "p2_p5", "p3_p4", "p4_p5"} <= set(whorl(folder, "topics", "list").split())


def _renamed(example: Path, into: Path, edges: str) -> Path:
    """The example with topics and a name of its own, since all tests share one broker."""
    config = (
        (example / "config.yaml")
        .read_text()
        .replace(": numbers", f": numbers-{edges}")
        .replace(": figures", f": figures-{edges}")
    )
    (into / "config.yaml").write_text(f"name: short-{edges}\n{config}")
    (into / "processors.yaml").write_text((example / "processors.yaml").read_text())
    return into


@pytest.fixture
def example(tmp_path: Path) -> Iterator[object]:
    """`example(name)` is a copy of the example's folder, since what runs leaves checkpoints and files there."""

    def copy(name: str) -> Path:
        left_out = shutil.ignore_patterns(".whorl", "archive", "__pycache__")
        return Path(shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=left_out))

    yield copy


def dead_letters(whorl, folder: Path) -> list[tuple[str, str, object]]:
    """Operator, error and value of each, sorted."""
    records = [json.loads(line) for line in whorl(folder, "consume", f"{folder.name}.dead", "--json").splitlines()]
    told = [(dict(record["headers"]), record["value"]) for record in records]
    return sorted((headers["whorl-operator"], headers["whorl-error"], value) for headers, value in told)


@pytest.mark.kafka
@pytest.mark.spark
def test_sql_alone_with_a_late_row_for_real(whorl, example) -> None:
    folder = example("tramway")
    whorl(folder, "topics", "create", "doors", "--partitions", "2")
    whorl(folder, "produce", "doors", "morning.jsonl", "--key", "line")
    whorl(folder, "run", "pipeline.yaml", "--until-caught-up")
    first = [
        'M1\t{"line":"M1","minute":"2026-01-05T08:00:00.000000Z","boarded":15,"doors":2}',
        'M4\t{"line":"M4","minute":"2026-01-05T08:00:00.000000Z","boarded":8,"doors":2}',
    ]
    assert sorted(whorl(folder, "consume", "load", "--keys").splitlines()) == first

    whorl(folder, "produce", "doors", "later.jsonl", "--key", "line")
    whorl(folder, "run", "pipeline.yaml", "--until-caught-up")
    second = [
        'M1\t{"line":"M1","minute":"2026-01-05T08:01:00.000000Z","boarded":5,"doors":1}',
        'M4\t{"line":"M4","minute":"2026-01-05T08:01:00.000000Z","boarded":11,"doors":2}',
    ]
    lines = whorl(folder, "consume", "load", "--keys").splitlines()
    assert sorted(lines) == sorted(first + second)  # the 100 who came too late are in neither
    assert [line for line in lines if line.startswith("M1")] == [first[0], second[0]]


@pytest.mark.kafka
@pytest.mark.spark
def test_sql_around_python_for_real(whorl, example) -> None:
    folder = example("payments")
    whorl(folder, "topics", "create", "payments", "--partitions", "2")
    whorl(folder, "produce", "payments", "payments.jsonl", "--key", "account")
    whorl(folder, "run", "pipeline.yaml", "--until-caught-up")
    assert sorted(whorl(folder, "consume", "accounts", "--keys").splitlines()) == [
        'acc-1\t{"account":"acc-1","payments":3,"euros":895.50,"blocked":1,"latest":"2026-01-01T09:05:00.000000Z"}',
        'acc-2\t{"account":"acc-2","payments":2,"euros":2417.96,"blocked":1,"latest":"2026-01-01T09:04:00.000000Z"}',
        'acc-3\t{"account":"acc-3","payments":1,"euros":7.50,"blocked":0,"latest":"2026-01-01T09:06:00.000000Z"}',
    ]
    assert sorted(whorl(folder, "consume", "blocked", "--keys").splitlines()) == [
        'acc-1\t{"account":"acc-1","at":"2026-01-01T09:01:30Z","euros":855.45,"score":82,"verdict":"block"}',
        'acc-2\t{"account":"acc-2","at":"2026-01-01T09:04:00Z","euros":2400.00,"score":100,"verdict":"block"}',
    ]
    without_account, without_amount = dead_letters(whorl, folder)
    assert without_account[:2] == ("judge", "ValueError: payment has no account")
    assert without_amount[:2] == ("payments", "ValueError: column 'amount': 'ten' is not a decimal(12,2)")
    assert without_amount[2] == json.loads((folder / "payments.jsonl").read_text().splitlines()[5])  # as it came
    whorl(folder, "produce", "payments", "payments.jsonl", "--key", "account")
    show, reset = "offsets show pipeline.yaml", "offsets reset pipeline.yaml --to earliest --dry-run"
    shown, rehearsed = whorl(folder, *show.split()), whorl(folder, *reset.split())
    assert alike(shown) == alike(shown_in("offsets.md", f"whorl {show}")) and "lag 9 in all" in shown
    assert alike(rehearsed) == alike(shown_in("offsets.md", f"whorl {reset}")) and "7 again" in rehearsed


@pytest.mark.kafka
@pytest.mark.spark
def test_files_to_kafka_to_files_for_real(whorl, example) -> None:
    folder = example("orders")
    whorl(folder, "run", "pipeline.yaml", "--until-caught-up")
    first = [
        'ada\t{"number":1001,"customer":"ada","country":"NL","amount":12.50,"at":"2026-01-05T09:00:00.000000Z"}',
        'grace\t{"number":1002,"customer":"grace","country":"US","amount":99.99,"at":"2026-01-05T09:10:00.000000Z"}',
    ]
    assert sorted(whorl(folder, "consume", "orders", "--keys").splitlines()) == first

    shutil.copy(folder / "later" / "tuesday.csv", folder / "incoming")
    whorl(folder, "run", "pipeline.yaml", "--until-caught-up")
    lines = whorl(folder, "consume", "orders", "--keys").splitlines()
    assert [line for line in lines if line.startswith("ada")] == [
        first[0],
        'ada\t{"number":1006,"customer":"ada","country":"NL","amount":-12.50,"at":"2026-01-06T09:05:00.000000Z"}',
    ]
    assert len(lines) == 4
    monday, tuesday = datetime(2026, 1, 5, 9, 10), datetime(2026, 1, 6, 9)  # in UTC
    assert archived(folder / "archive", "US") == [
        {"number": 1002, "customer": "grace", "amount": Decimal("99.99"), "at": monday},
        {"number": 1005, "customer": "grace", "amount": Decimal("5.00"), "at": tuesday},
    ]
    assert [row["number"] for row in archived(folder / "archive", "NL")] == [1001, 1006]
    error, line = "ValueError: the line does not fit the columns", "1004,linus,fi,many,2026-01-05T09:30:00Z"
    assert dead_letters(whorl, folder) == [("incoming", error, line)]


def archived(folder: Path, country: str) -> list[dict[str, object]]:
    """The rows of one country's files; no partition but theirs has the others."""
    assert {path.name for path in folder.glob("country=*")} == {"country=NL", "country=US"}
    files = (folder / f"country={country}").glob("*.parquet")
    rows = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    return sorted(rows, key=lambda row: row["number"])


def test_the_readme_shows_the_plan_as_it_is() -> None:
    command = [sys.executable, "-m", "whorl", "plan", "examples/payments/pipeline.yaml"]
    done = subprocess.run(command, cwd=EXAMPLES.parent, capture_output=True, text=True)
    shown = (EXAMPLES.parent / "README.md").read_text("utf-8").partition(f"$ {' '.join(['whorl', *command[3:]])}\n")[2]
    assert shown.partition("```")[0] == done.stdout, done.stderr


@pytest.mark.kafka
@pytest.mark.spark
def test_the_demo_ends_well() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py")],
        capture_output=True,
        text=True,
        timeout=420,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = "demo ok: 20000 payments in, 40 of nothing left out + 19940 judged + 20 dead letters = 20000; "
    last = done.stdout.rstrip().splitlines()[-1]
    assert last.startswith(said)
    assert last.endswith("3000 links in, 99 rings, as a batch computation has them")
