"""What is done with a record in a loop beside what is done with any: its rounds are counted, and what a program was given of it is known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from whorl.errors import RoundsExceeded
from whorl.operators.chain import StepFailed
from whorl.operators.keyed_step import KeyedStep
from whorl.operators.program_step import ProgramStep
from whorl.operators.record import Message, round_of
from whorl.plan.plan import Component, Input
from whorl.sinks.kafka import Entry
from whorl.tasks.combining import Combiner, by_columns

Handle = Callable[[Message], None]


def bounded(component: Component, input: Input, handle: Handle) -> Handle:
    """`handle` so that a record which has gone round too often fails, where there is a bound."""
    readers = {wire.target for wire in component.wires if wire.source == input.id}
    read = [placed.node for placed in component.operators if input.feedback and placed.node.id in readers]
    if not read or read[0].loop.max_rounds is None:
        return handle
    id, most = read[0].id, read[0].loop.max_rounds

    def handle_within(message: Message) -> None:
        round = round_of(message)
        if round > most:
            raise StepFailed(id, RoundsExceeded(f"round {round} is beyond max_rounds {most} of '{id}'"))
        handle(message)

    return handle_within


def combiners(component: Component, keyed: Mapping[str, KeyedStep]) -> dict[str, Combiner]:
    """By topic: how what leads back is merged, where it is. A method `combine(self, key, one, other)` of its reader says it too."""
    readers = {wire.source: wire.target for wire in component.wires}
    found: dict[str, Combiner] = {}
    for output in component.outputs:
        reader = keyed.get(readers.get(output.id, ""))
        own = getattr(reader.operator, "combine", None) if reader else None
        if output.rounds == "next" and own is not None:
            found[output.topic] = Combiner(output, own)
        elif output.rounds == "next" and output.combine:
            found[output.topic] = Combiner(output, by_columns(output.combine))
    return found


def marked(
    attempt: Callable[[Any], None], journal: list[Entry], drop: Callable[[], None], programs: Collection[ProgramStep]
) -> Callable[[Any], None]:
    """`attempt` so that a record which fails leaves neither entries nor anything that waits for a bulk step or a program."""

    def all_or_nothing(record: Any) -> None:
        entries, marks = len(journal), [program.mark for program in programs]
        try:
            attempt(record)
        except BaseException:
            del journal[entries:]
            drop()
            for program, mark in zip(programs, marks, strict=True):
                program.drop_to(mark)
            raise

    return all_or_nothing
