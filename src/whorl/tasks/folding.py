"""Records that are folded and leave, many at once.

The law: the same entries and the same state as one after the other. Only where all of them go well: one that fails, or must be looked at
alone, raises before anything is kept, and then each is tried by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from whorl.operators.chain import StepFailed
from whorl.operators.fold import FoldStep
from whorl.operators.fold_source import FoldMany
from whorl.operators.keyed_step import KeyedStep
from whorl.operators.record import Message
from whorl.plan.plan import Component, Input, Output
from whorl.sinks.kafka import Entries, Entry


def only_fold(component: Component, input: Input, keyed: Mapping[str, KeyedStep]) -> tuple[FoldStep, Output] | None:
    """The fold that this input leads to, and the output that the fold does, where there is no other way."""
    after: dict[str, list[str]] = {}
    for wire in component.wires:
        after.setdefault(wire.source, []).append(wire.target)
    fold = _only(after, input.id)
    step, end = keyed.get(fold), _only(after, fold)
    if input.raw or component.in_loop or not isinstance(step, FoldStep) or not step.lasts:
        return None
    output = next((each for each in component.outputs if each.id == end and not each.key), None)
    return (step, output) if output else None


def _only(after: Mapping[str, list[str]], id: str) -> str:
    targets = after.get(id, [])
    return targets[0] if len(targets) == 1 else ""


def folder(
    step: FoldStep, fold_many: FoldMany, entries_of: Entries, extend: Callable[[Iterable[Entry]], None]
) -> Callable[[list[Message]], None]:
    def fold_all(messages: list[Message]) -> None:
        keys, values = [message.key() for message in messages], [message.value() for message in messages]
        try:
            leaving, kept = step.fold_all(fold_many, keys, values)
        except Exception as error:
            raise StepFailed(step.id, error) from error
        entries = entries_of(leaving, keys, messages)
        step.keep(kept)
        extend(entries)

    return fold_all
