"""Crashes and failures on purpose.

Every call of a client is a numbered *crash point* with a name, and so are the two moments inside a call that changes a
transaction: before the coordinator takes the request (`…/request`), and after it but before the answer (`…/answer`).
Run once undisturbed, read `faults.points`, then crash at each number from 1 to `len(faults.points)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError


class Crash(BaseException):
    """The process died. No `except Exception` holds it, and its clients do nothing more, not even in `finally`."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that a call meets instead of its result.

    At `producer.produce` it is the record's failed delivery (`QUEUE_FULL`: a BufferError at once), at `consumer.poll`
    and `consumer.consume` a message with an error, everywhere else a KafkaException. At an `…/answer` the broker
    has done its work, so that only TIMED_OUT is true to life there.
    """

    code: int
    reason: str = "injected"
    fatal: bool = False
    retriable: bool = False
    requires_abort: bool = False

    def error(self) -> KafkaError:
        return KafkaError(self.code, self.reason, self.fatal, self.retriable, self.requires_abort)


TIMED_OUT = Failure(
    KafkaError._TIMED_OUT, "Timed out waiting for operation to finish, retry call to resume", retriable=True
)
ABORTABLE = Failure(
    KafkaError.INVALID_TXN_STATE, "The server encountered an error with the transaction", requires_abort=True
)
FENCED = Failure(KafkaError._FENCED, "Local: This instance has been fenced by a newer instance", fatal=True)
QUEUE_FULL = Failure(KafkaError._QUEUE_FULL, "Local: Queue full", retriable=True)
BROKER_DOWN = Failure(KafkaError._ALL_BROKERS_DOWN, "Local: All broker connections are down", retriable=True)


class Faults:
    """What goes wrong in one process; give the same object to all clients of that process.

    `crash_at` is the number of a point, from 1. `fail` maps points to what fails there: by number, or by name for the
    first time that name is passed. `hold` keeps produced records in the client until a flush or a commit, the other
    extreme of what librdkafka's own thread may do; without it they are sent at once.
    """

    def __init__(
        self, crash_at: int | None = None, fail: Mapping[int | str, Failure] | None = None, hold: bool = False
    ) -> None:
        self.points: list[str] = []
        self.crashed = False
        self.hold = hold
        self._crash_at = crash_at
        self._fail = dict(fail or {})

    def reach(self, point: str) -> Failure | None:
        """Pass a point: crash here, or say what fails here."""
        if self.crashed:
            raise Crash(f"{point} after the crash")
        self.points.append(point)
        number = len(self.points)
        if number == self._crash_at:
            self.crashed = True
            raise Crash(f"{point} (point {number})")
        by_name = self._fail.pop(point, None)
        return self._fail.pop(number, by_name)
