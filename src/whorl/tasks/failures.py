"""What becomes of a record that fails: its operator's policy decides. Counts attempts in memory; a restart counts anew."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from whorl.errors import OperatorFailed, Retry, RoundsExceeded, StateUnfit
from whorl.operators.chain import StepFailed, user_place
from whorl.operators.operator import ErrorPolicy
from whorl.operators.record import Message
from whorl.sinks.kafka import Entry, dead_letter
from whorl.tasks.assignment import Assignment
from whorl.tasks.signals import Figures

_LONGEST_WAIT = 60.0


@dataclass(frozen=True)
class Verdict:
    """Hold the partition for so long, or write this dead letter, or (neither) go on without the record."""

    hold: float | None = None
    letter: Entry | None = None


class Failures:
    def __init__(self, assignment: Assignment, policies: dict[str, ErrorPolicy], figures: Figures) -> None:
        self._dead_letter = assignment.dead_letter
        self._limit = assignment.limits[assignment.dead_letter]
        self._policies = policies
        self._figures = figures
        self._attempts: dict[tuple[str | None, int | None], tuple[int | None, int]] = {}
        """By place: the record tried last, and how often."""

    def judge(self, message: Message, failed: StepFailed) -> Verdict:
        if isinstance(failed.cause, Retry):
            self._figures.retried += 1
            return Verdict(hold=max(failed.cause.after, 0.0))
        policy = self._policies[failed.operator]
        if policy.action == "retry" and not isinstance(failed.cause, StateUnfit | RoundsExceeded):
            attempt = self._count(message)
            if attempt < policy.attempts:
                self._figures.retried += 1
                return Verdict(hold=min(policy.backoff * 2 ** (attempt - 1), _LONGEST_WAIT))
            return self._finally(policy.then, message, failed)
        return self._finally(policy.action, message, failed)

    def of_timer(self, timer: Message, failed: StepFailed) -> Entry | None:
        """The dead letter of a timer: its key and its time, and no value. It has gone off: nothing of it can be tried again."""
        policy = self._policies[failed.operator]
        return self._finally(policy.then if policy.action == "retry" else policy.action, timer, failed).letter

    def _count(self, message: Message) -> int:
        place = (message.topic(), message.partition())
        offset, attempts = self._attempts.get(place, (None, 0))
        self._attempts[place] = (message.offset(), attempts + 1 if offset == message.offset() else 1)
        return self._attempts[place][1]

    def _finally(self, action: str, message: Message, failed: StepFailed) -> Verdict:
        self._attempts.pop((message.topic(), message.partition()), None)
        if action == "fail" or isinstance(failed.cause, StateUnfit):
            raise as_error(failed, message) from None
        if action == "skip":
            self._figures.skipped += 1
            return Verdict()
        self._figures.dead += 1
        error = f"{type(failed.cause).__name__}: {failed.cause}"
        return Verdict(letter=dead_letter(self._dead_letter, message, failed.operator, error, self._limit))


def as_error(failed: StepFailed, message: Message | None = None) -> OperatorFailed:
    """The user's own line and the record's position first; the whole trace rides along for `--verbose`."""
    cause = failed.cause
    return OperatorFailed(
        failed.operator,
        f"{type(cause).__name__}: {cause}",
        place=user_place(cause),
        position=f"{message.topic()}/{message.partition()}/{message.offset()}" if message is not None else "",
        trace="".join(traceback.format_exception(cause)),
    )
