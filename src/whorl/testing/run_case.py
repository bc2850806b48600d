"""One case against its pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from whorl.errors import WhorlError
from whorl.flow.user_code import user_modules
from whorl.operators.record import Row
from whorl.plan.plan import Plan
from whorl.schema import Schema
from whorl.testing.cases import Case, ExpectedDead
from whorl.testing.compare import differences
from whorl.testing.harness import PipelineHarness
from whorl.testing.records import DeadLetter, Given

_RECORD = {"key", "value", "headers", "timestamp"}


def run_case(plan: Plan, file: Path, case: Case) -> tuple[str, ...]:
    """What is wrong, as lines to show; none where the case passed. User code is imported anew, so that no case sees another's."""
    harness = PipelineHarness(plan)
    try:
        for source, items in case.input.items():
            schema = harness.schema(source)
            harness.send(source, [as_record(item, schema) for item in items])
        with user_modules(str(file)):
            harness.run()
    except WhorlError as error:
        return tuple(str(error).splitlines())
    return (*_sinks(harness, case), *_dead(harness.dead(), case.expect_dead))


def as_record(item: Any, schema: Schema | None) -> Row | Given:
    """A row or a whole record, which may look alike: where all its keys are columns it is a row. Anything else is a record's value."""
    if not isinstance(item, Mapping):
        return Given(item if item is None or isinstance(item, str) else str(item))
    if not is_record(item, schema):
        return dict(item)
    value = item["value"]
    plain = value if value is None or isinstance(value, dict | str) else str(value)
    extra = {"key": item["key"]} if "key" in item else {}
    return Given(plain, headers=item.get("headers"), timestamp=item.get("timestamp"), **extra)


def is_record(item: Mapping[str, Any], schema: Schema | None) -> bool:
    if "value" not in item or not item.keys() <= _RECORD:
        return False
    if schema is not None:
        return not all(name in schema for name in item)
    return len(item) > 1 or isinstance(item["value"], dict) or item["value"] is None


def _sinks(harness: PipelineHarness, case: Case) -> Iterator[str]:
    for sink, expected in case.expect.items():
        schema = harness.output(sink).schema
        rows = [item if isinstance(item, dict) else {"value": item} for item in expected]
        if lines := differences(rows, harness.sink(sink), schema, case.unordered):
            yield f"sink '{sink}' (- expected, + got)"
            yield from (f"  {line}" for line in lines)


def _dead(letters: list[DeadLetter], expected: list[ExpectedDead]) -> Iterator[str]:
    lines = []
    for index in range(max(len(letters), len(expected))):
        want, letter = expected[index : index + 1], letters[index : index + 1]
        if want and letter and _fits(want[0], letter[0]):
            continue
        lines += [f"- {each.operator or 'any operator'}: {each.error or 'any error'}" for each in want]
        lines += [f"+ {each.operator}: {each.error} (value {_shortly(each.value)})" for each in letter]
    if lines:
        yield "dead letters (- expected, + got)"
        yield from (f"  {line}" for line in lines)


def _fits(expected: ExpectedDead, letter: DeadLetter) -> bool:
    return expected.operator in (None, letter.operator) and expected.error in letter.error


def _shortly(value: bytes | None) -> str:
    text = "null" if value is None else value.decode(errors="replace")
    return text if len(text) <= 80 else f"{text[:77]}..."
