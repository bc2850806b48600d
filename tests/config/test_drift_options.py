from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from whorl.config.loader import load
from whorl.flow.check import check, checked


def _pipeline(source: str) -> None:
    Path("p.yaml").write_text(
        f"sources: {{in: {{type: kafka, topic: t, {source}}}}}\nsinks: {{out: {{type: kafka, topic: o}}}}\n"
    )


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("drift: fail, on_error: skip", "'drift' is fail and 'on_error' skip"),
        ("drift: dead_letter, format: text", "is of json alone, not of text"),
        ("drift: sometimes", "drift"),
        ("schema: guess", "schema"),
    ],
)
def test_what_contradicts_itself_is_told(folder: Path, source: str, told: str) -> None:
    _pipeline(source)
    assert any(told in str(finding) for finding in check(load("p.yaml")))


def test_drift_decides_what_becomes_of_a_record(folder: Path) -> None:
    _pipeline("drift: fail, schema: {a: long}")
    node = checked(load("p.yaml")).nodes["in"]
    assert node.on_error.action == "fail" and node.what.format.strict  # type: ignore[union-attr]


def test_columns_that_are_to_be_inferred_are_no_finding(folder: Path, write: Callable[..., None]) -> None:
    _pipeline("schema: infer, key: a, watermark: {column: at, delay: 1s}")
    text = Path("p.yaml").read_text()
    Path("p.yaml").write_text(
        f"{text}operators: [{{id: s, type: sql, query: 'SELECT a, count(*) AS n FROM in GROUP BY a'}}]\n".replace(
            "topic: o", "topic: o, key: a"
        )
    )
    assert check(load("p.yaml")) == []
