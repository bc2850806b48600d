"""The tasks host: each component is one Spark job of long-running tasks, started through PySpark's RDD API.

A task ends by an order, by an error that a retry would not help (it comes back as the task's result), or by failing: then Spark starts it
again. Numbers behind those of the layout are standbys, which end by an order alone.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark import Broadcast, InheritableThread, SparkContext, TaskContext

from whorl.config.settings import Restart
from whorl.errors import WhorlError
from whorl.kafka.clients import KafkaClients
from whorl.spark.failures import ENOUGH, failed_again_and_again
from whorl.tasks.assignment import Assignment
from whorl.tasks.clients import TaskClients
from whorl.tasks.reporter import Reporter
from whorl.tasks.standby import Standby
from whorl.tasks.task import Task


@dataclass(frozen=True)
class TaskEnd:
    """How a task ended for good; an error here is one that a retry would not help."""

    task: int
    figures: dict[str, Any]
    error: WhorlError | None = None


class ComponentJob:
    """A component's Spark job in a thread of the driver."""

    seat: str | None = None
    """It is nobody's but the driver's own."""

    def __init__(self, context: SparkContext, assignment: Assignment, clients: KafkaClients) -> None:
        self.assignment = assignment
        self.ends: list[TaskEnd] = []
        self.error: Exception | None = None
        self._context = context
        self._clients = clients
        self._group = f"{assignment.uid}/{assignment.component.id}/{assignment.layout.number}"
        self._thread = InheritableThread(target=self._run, name=self._group, daemon=True)

    @property
    def description(self) -> str:
        return self.assignment.title

    @property
    def errors(self) -> list[WhorlError]:
        """Of tasks that ended for good with one."""
        return [end.error for end in self.ends if end.error is not None]

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        self._context.cancelJobGroup(self._group)

    def why_not_started(self) -> str:
        """Why Spark cannot start its tasks, though it tries again and again; asked while none of them has said anything."""
        with suppress(Exception):  # the session may be gone
            return failed_again_and_again(self._context, self._group, ENOUGH * self.assignment.layout.tasks)
        return ""

    def wait(self, timeout: float | None = None) -> bool:
        """Whether the job has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        context, tasks = self._context, self.assignment.layout.tasks + self.assignment.standbys
        context.setJobGroup(self._group, self.description, interruptOnCancel=True)
        context.setJobDescription(self.description)
        shared = context.broadcast((self.assignment, self._clients.address, dict(self._clients.extra)))
        try:
            self.ends = (
                context.parallelize(range(tasks), tasks).mapPartitionsWithIndex(partial(run_task, shared)).collect()
            )
        except Exception as error:
            self.error = error
        finally:
            with suppress(Exception):  # the session may be gone already
                shared.destroy()


def run_task(shared: Broadcast[Any], number: int, _: Iterator[int]) -> Iterator[TaskEnd]:
    """The body of a Spark task: runs until told to stop. What a retry may help is raised, so that Spark starts it again."""
    assignment, address, extra = shared.value
    attempt = TaskContext.get().attemptNumber()
    relax_garbage_collection()
    clients = TaskClients(address, extra)
    reporter = Reporter(assignment, number, attempt, clients)
    reporter.start()
    if assignment.is_standby(number):
        Standby(assignment, number, clients, reporter.orders, reporter.figures).run()
        reporter.end("ended")
        yield TaskEnd(number, reporter.figures.snapshot())
        return
    try:
        Task(assignment, number, clients, reporter.orders, reporter.figures).run()
    except WhorlError as error:
        if error.retryable:
            _fail(reporter, assignment, attempt, str(error))
            raise
        reporter.end("failed", str(error))
        yield TaskEnd(number, reporter.figures.snapshot(), error)
    except Exception as error:
        _fail(reporter, assignment, attempt, f"{type(error).__name__}: {error}")
        raise
    else:
        reporter.end("ended")
        yield TaskEnd(number, reporter.figures.snapshot())


def relax_garbage_collection() -> None:
    """A bulk is tens of thousands of objects that live shortly; the default would walk over them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)


def _fail(reporter: Reporter, assignment: Assignment, attempt: int, error: str) -> None:
    """Says so and waits as the restart strategy wants: Spark itself starts the next attempt at once."""
    reporter.end("retrying", error)
    failures_in_a_row = 0 if reporter.figures.commits else attempt
    time.sleep(delay(assignment.settings.restart, failures_in_a_row))


def delay(restart: Restart, failures: int) -> float:
    if restart.strategy == "none":
        return 0.0
    if restart.strategy == "fixed":
        return restart.delay
    return float(min(restart.delay * 2 ** min(failures, 20), restart.max_delay))
