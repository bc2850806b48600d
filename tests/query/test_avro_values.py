"""Avro in Kafka values, by Spark's own functions, as fastavro reads and writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hosts import Both

from whorl.jvm.jars import CONNECTOR, resolve
from whorl.testing import Given

pytestmark = pytest.mark.spark
AVRO = """{type: avro, schema: {type: record, name: r, fields: [
  {name: id, type: long}, {name: who, type: ["null", string]}, {name: x, type: double}, {name: on, type: boolean},
  {name: at, type: {type: long, logicalType: timestamp-micros}}, {name: tags, type: {type: array, items: string}}]}}"""


def test_in_and_out(both: Callable[..., Both]) -> None:
    text = f"""
name: demo
sources: {{s: {{type: kafka, topic: s, format: {AVRO}}}}}
operators: [{{id: f, type: filter, from: s, where: id > 1}}]
sinks: {{out: {{type: kafka, topic: out, from: f, format: {AVRO}}}}}
"""
    rows: list[Any] = [
        {
            "id": id,
            "who": who,
            "x": 0.1 * id,
            "on": id % 2 == 0,
            "at": "2024-01-01T00:00:00.000001Z",
            "tags": ["a", "ü"],
        }
        for id, who in enumerate(["a", None, "c", "d"])
    ]
    pair = both(text, s=[*rows, Given(b"\x00"), Given(None)])
    for jar in resolve(CONNECTOR):
        pair.session.sql(f"ADD JAR '{jar}'")
    written = pair.same()
    assert len(written["out"]) == 2 and len(written["demo.dead"]) == 2
