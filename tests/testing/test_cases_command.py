"""`whorl test`: what it says of cases that pass, that fail, and that are written wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from whorl.cli.main import main

PIPELINE = """
name: shop
sources:
  orders: {type: kafka, topic: orders, key: who, schema: {id: long, who: string, amount: double, at: timestamp}}
  notes: {type: kafka, topic: notes, format: text}
operators:
  - {id: large, type: filter, from: orders, where: amount > 10}
  - {id: tax, type: python, function: steps.tax, from: large}
sinks:
  out: {type: kafka, topic: out, from: tax}
  kept: {type: list, from: large}
  words: {type: list, from: notes}
"""
STEPS = """
def tax(row):
    if row["id"] == 13:
        raise ValueError("unlucky")
    return {"id": row["id"], "tax": row["amount"] * 0.1}
"""
ROW = "{id: 1, who: ada, amount: 20, at: '2026-01-01T00:00:00Z'}"


@pytest.fixture
def whorl_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.yaml").write_text(PIPELINE)
    (tmp_path / "steps.py").write_text(STEPS)

    def run(cases: str | None, *arguments: str, file: str = "shop.test.yaml") -> tuple[int, str]:
        if cases is not None:
            Path(file).parent.mkdir(exist_ok=True)
            Path(file).write_text(cases)
        with pytest.raises(SystemExit) as ended:
            main(["test", *(arguments or ("shop.yaml",))])
        out, err = capsys.readouterr()
        return ended.value.code or 0, out + err

    return run


@pytest.mark.parametrize(
    "case",
    [
        f"{{input: {{orders: [{ROW}]}}, expect: {{out: [{{id: 1, tax: 2}}]}}}}",
        f"{{input: {{orders: [{ROW}]}}, expect: {{kept: [{ROW}]}}}}",
        f"{{input: {{orders: [{{key: bob, value: {ROW}}}]}}, expect: {{kept: [{ROW}]}}}}",
        "{input: {orders: []}, expect: {out: [], kept: []}}",
        "{input: {orders: [{id: 1, amount: 30}]}, expect: {kept: [{id: 1, amount: 30.0}]}}",
        "{input: {notes: [hello, {value: world}]}, expect: {words: [hello, {value: world}]}}",
        "{input: {orders: [{id: 13, amount: 20}]}, expect: {out: []}, expect_dead: [{operator: tax, error: unlucky}]}",
        "{input: {orders: [{id: x, amount: 20}, {value: 'no json', key: a}]}, expect_dead: [{error: id}, {operator: orders}]}",
        "{input: {orders: [{id: 1, amount: 20}, {id: 2, amount: 30}]}, expect: {out: [{id: 2, tax: 3}, {id: 1, tax: 2}]}, unordered: true}",
    ],
)
def test_a_case_that_holds(whorl_test, case):
    code, said = whorl_test(f"cases:\n  - {case}\n")
    assert (code, said) == (0, "pass  shop.yaml: line 2\n1 passed, 0 failed\n")


def test_a_case_that_fails_shows_the_rows_side_by_side(whorl_test):
    cases = """
cases:
  - name: fine
    input: {orders: [{id: 1, amount: 20}]}
    expect: {out: [{id: 1, tax: 2}]}
  - name: taxed too little
    input: {orders: [{id: 1, amount: 20}, {id: 2, amount: 30}, {id: 3, amount: 40}]}
    expect: {out: [{id: 1, tax: 2}, {id: 2, tax: 2.5}]}
"""
    code, said = whorl_test(cases)
    assert code == 1
    assert said.splitlines() == [
        "pass  shop.yaml: fine",
        "FAIL  shop.yaml: taxed too little  (shop.test.yaml:6:5)",
        "      sink 'out' (- expected, + got)",
        '          {"id":1,"tax":2}',
        '        - {"id":2,"tax":2.5}',
        '        + {"id":2,"tax":3.0}',
        '        + {"id":3,"tax":4.0}',
        "1 passed, 1 failed",
    ]


def test_a_dead_letter_that_nobody_expected_fails_the_case(whorl_test):
    code, said = whorl_test("cases: [{name: a, input: {orders: [{id: 13, amount: 20}]}}]")
    assert code == 1
    assert "+ tax: ValueError: unlucky" in said


def test_a_dead_letter_that_did_not_come_fails_the_case(whorl_test):
    code, said = whorl_test("cases: [{input: {orders: [{id: 1, amount: 20}]}, expect_dead: [{operator: tax}]}]")
    assert code == 1
    assert "- tax: any error" in said


def test_order_counts_unless_it_is_said_not_to(whorl_test):
    case = "{input: {orders: [{id: 1, amount: 20}, {id: 2, amount: 30}]}, expect: {out: [{id: 2, tax: 3}, {id: 1, tax: 2}]}}"
    assert whorl_test(f"cases: [{case}]")[0] == 1


@pytest.mark.parametrize(
    ("cases", "finding"),
    [
        ("cases:\n  - input: {order: []}\n", "shop.test.yaml:2:13: [dangling-edge] the pipeline has no source 'order'"),
        ("cases:\n  - expect: {oout: []}\n", "shop.test.yaml:2:14: [dangling-edge] the pipeline has no sink 'oout'"),
        ("cases:\n  - inputs: {}\n", "shop.test.yaml:2:5: [unknown-key] unknown key 'inputs'"),
        ("cases:\n  - input: {orders: 3}\n", "shop.test.yaml:2:21: [value]"),
        ("cases: [\n", "shop.test.yaml:2:1: [yaml]"),
        ("- a\n", "shop.test.yaml:1:1: [value]"),
        ("case: []\n", "shop.test.yaml:1:1: [unknown-key]"),
    ],
)
def test_what_is_written_wrongly_is_found_with_its_place(whorl_test, cases, finding):
    code, said = whorl_test(cases)
    assert code == 1
    assert finding in said
    assert said.splitlines()[-1] == "0 passed, 0 failed"


def test_a_pipeline_that_is_wrong_or_has_no_cases_is_told(whorl_test):
    code, said = whorl_test(None)
    assert code == 1
    assert "shop.yaml:1:1: [file] there are no cases beside 'shop.yaml' (write them to shop.test.yaml" in said
    Path("shop.yaml").write_text(PIPELINE.replace("amount > 10", "amout > 10"))
    code, said = whorl_test("cases: []")
    assert code == 1
    assert "[column]" in said


def test_cases_in_the_tests_folder_and_several_pipelines(whorl_test):
    Path("other.yaml").write_text("sources: {in: {type: list, rows: [1]}}\nsinks: {out: {type: list}}")
    Path("other.test.yaml").write_text("cases: [{name: own rows, expect: {out: [1]}}]")
    named = "pipeline: ../shop.yaml\ncases: [{name: in the folder, input: {orders: []}}]"
    code, said = whorl_test(named, "shop.yaml", "other.test.yaml", file="tests/more.yaml")
    assert code == 0
    assert said.splitlines() == ["pass  shop.yaml: in the folder", "pass  other.yaml: own rows", "2 passed, 0 failed"]


def test_a_row_that_cannot_be_written_fails_its_case(whorl_test):
    code, said = whorl_test("cases: [{input: {notes: [{text: x}]}}]")
    assert code == 1
    assert "source 'notes' cannot be written as text" in said
