"""What a record costs a task, in time of CPU: one task of the count benchmark, in this process, without Spark, on a real broker.

Wall time on a machine that others use says little; the time of CPU that the task's own thread and all threads of its process take is steadier.
The task gets as many records over as many keys as one of two gets of `bench count`. Then the copy on disk is removed, and the state is read
back from the changelog.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from uuid import uuid4

from bench import records
from bench.cluster import add_broker_option, address
from bench.places import PIPELINES
from bench.processes import temporary_folder
from bench.topics import Topics
from whorl.config.loader import load
from whorl.flow.check import checked
from whorl.jobs.begin import first_positions
from whorl.jobs.gaps import Terms
from whorl.jobs.ground import make_own_topics, survey
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster
from whorl.plan import naming
from whorl.plan.planner import make_plan
from whorl.tasks.assignment import Assignment
from whorl.tasks.changelog import wanted_changelog
from whorl.tasks.driver import Driver, Wanted
from whorl.tasks.host import relax_garbage_collection
from whorl.tasks.signals import Figures, Orders
from whorl.tasks.task import Task

PARTITIONS = 2
LIMIT = 1_048_588


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--keys", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--source", help="a topic that was loaded before, of two partitions")
    add_broker_option(parser)


def main(options: Namespace) -> int:
    relax_garbage_collection()
    with address(options.broker) as broker, ExitStack() as stack:
        topics = Topics(broker, PARTITIONS)
        source = options.source or f"cost-{uuid4().hex[:8]}"
        if not options.source:
            topics.create(source)
            topics.load(source, records.amounts(options.records, options.keys, records.TEXT))
            print(f"cost loaded {source}", flush=True)
        runs = [_run(topics, source, options.records, temporary_folder(stack)) for _ in range(options.runs)]
    work, restore = (_median([run[place] for run in runs]) for place in (0, 1))
    print(
        f"cost keys={options.keys} us_per_record thread={work.thread:.2f} process={work.process:.2f} "
        f"restore thread={restore.thread:.2f} process={restore.process:.2f}"
    )
    return 0


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of a record."""

    thread: float
    process: float
    wall: float

    def __str__(self) -> str:
        return f"thread {self.thread:.2f} process {self.process:.2f} wall {self.wall:.2f} us"


def _median(costs: list[Cost]) -> Cost:
    return Cost(*(median(getattr(cost, name) for cost in costs) for name in ("thread", "process", "wall")))


class Meter:
    def __init__(self) -> None:
        self._started = self._now()

    def cost(self, count: int) -> Cost:
        return Cost(*(1e6 * (now - then) / count for now, then in zip(self._now(), self._started, strict=True)))

    @staticmethod
    def _now() -> tuple[float, float, float]:
        return time.thread_time(), time.process_time(), time.monotonic()


def _run(topics: Topics, source: str, count: int, folder: Path) -> tuple[Cost, Cost]:
    name = f"cost-{uuid4().hex[:8]}"
    topics.create(f"{name}-out")
    environment = {"BENCH_NAME": name, "BENCH_SOURCE": source, "BENCH_SINK": f"{name}-out"}
    os.environ.update(environment)
    try:
        assignment, clients = _laid_out(topics.address, folder)
        work = _worked(assignment, clients, count)
        shutil.rmtree(folder / "copies")
        restore = _restored(assignment, clients, count)
    finally:
        topics.delete_of(name)
    print(f"cost work {work} | restore {restore}", flush=True)
    return work, restore


def _worked(assignment: Assignment, clients: KafkaClients, count: int) -> Cost:
    orders, figures = Orders(), Figures()
    figures_read = threading.Thread(target=_stop_after, args=(orders, figures, count), daemon=True)
    task = Task(assignment, 0, clients, orders, figures)
    meter = Meter()
    figures_read.start()
    task.run()
    return meter.cost(count)


def _restored(assignment: Assignment, clients: KafkaClients, count: int) -> Cost:
    orders, figures = Orders(), Figures()
    stopping = threading.Thread(target=_stop_when_running, args=(orders, figures), daemon=True)
    task = Task(assignment, 0, clients, orders, figures)
    meter = Meter()
    stopping.start()
    task.run()
    return meter.cost(figures.readings["state"].records)


def _stop_after(orders: Orders, figures: Figures, count: int) -> None:
    while sum(figures.committed.values()) < count:
        time.sleep(0.02)
    orders.stopping = True


def _stop_when_running(orders: Orders, figures: Figures) -> None:
    while figures.step != "running":
        time.sleep(0.02)
    orders.stopping = True


def _laid_out(broker: str, folder: Path) -> tuple[Assignment, KafkaClients]:
    loaded = load(PIPELINES / "count.yaml")
    state = loaded.settings.state.model_copy(update={"dir": str(folder / "copies")})
    settings = loaded.settings.model_copy(update={"state": state})
    plan = make_plan(checked(loaded), settings)
    clients = KafkaClients(broker)
    cluster = Cluster(clients)
    make_own_topics(plan.pipeline, cluster, settings)
    driver = Driver(clients, plan.pipeline)
    uid, (component,) = driver.registration.uid, plan.components
    ground = survey(plan, cluster, None)
    lps = ground.lps[component.id]
    changelog = naming.changelog_topic(plan.pipeline, uid, component.id)
    cluster.create([*ground.missing, wanted_changelog(changelog, lps, True)], 1)
    places = tuple((topic, p) for topic, count in ground.read_by(component).items() for p in range(count))
    first = partial(first_positions, cluster, component, ground, Terms(settings))
    layout = driver.lay_out([Wanted(component.id, component.group, 1, lps, places, first)])
    written = [changelog, plan.dead_letter, *(output.topic for output in component.outputs)]
    assignment = Assignment(
        pipeline=plan.pipeline, uid=uid, component=component, layout=layout[component.id], topics=ground.topics[component.id],
        partitions=ground.partitions, limits=dict.fromkeys(written, LIMIT), dead_letter=plan.dead_letter, settings=settings,
    )  # fmt: skip
    return assignment, clients
