"""kill -9 at random moments under load, of a pipeline that keeps values and timers; then rows, state and timers are compared with a model.

Once the folder of the local copies is gone too, as on another machine, and once the pipeline comes back with another number of tasks.
State is read from outside, as `whorl state` reads it; rows and the source by a consumer that shares nothing with Whorl.
"""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from bench.cluster import cluster
from bench.failures import FeederFailed
from bench.killing import (
    DISK,
    TASKS,
    Killer,
    Supervised,
    add_kill_options,
    change_tasks,
    lose_disk,
    thrown,
    with_changes,
)
from bench.peers import Work
from bench.processes import temporary_folder
from bench.sequences import KEYS, Feeder, Verdict, judge, numbers
from bench.topics import Topics
from bench.watched import Kept, Model, time_of
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster
from whorl.operators.keyed import milliseconds
from whorl.reading.reader import StateReader

OPERATORS = ("watch", "counted")
SHOWN = 5
# A ring by event time carries that time, which Kafka would take for the age of the record.
KEPT_FOR_EVER = {"retention.ms": "-1"}


def add_options(parser: ArgumentParser) -> None:
    add_kill_options(parser, records=100_000, rate=1_000)


def main(options: Namespace) -> int:
    name, dice = f"recovery-{uuid4().hex[:8]}", thrown("recovery", options)
    with cluster() as broker, ExitStack() as stack:
        topics = Topics(broker.address)
        work = Work(broker.address, name, f"{name}-in", f"{name}-out")
        topics.create(work.source, work.sink, *_further(work), config=KEPT_FOR_EVER)
        folder = temporary_folder(stack)
        copies = folder / "copies"
        pipeline = stack.enter_context(Supervised("recovery.yaml", work, folder, {"state.dir": copies}))
        feeder = Feeder(broker.address, work.source, options.rate, _record)
        stack.callback(feeder.stop)
        others = {DISK: partial(lose_disk, pipeline, copies), TASKS: partial(change_tasks, pipeline, dice)}
        Killer(pipeline, topics, dice, others).run(with_changes(options.kills, dice))
        sent = feeder.finish(options.records, pipeline.keep_running)
        pipeline.catch_up()
        outcome = _outcome(topics, work, sent)
    for line in outcome.wrong:
        print(f"recovery wrong: {line}")
    print(
        f"recovery kills={options.kills} lost={outcome.lost} doubled={outcome.doubled}"
        f" state={_equal(outcome.state)} timers={_equal(outcome.timers)}"
    )
    return 0 if outcome.clean else 1


# -- the verdict ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    lost: int
    doubled: int
    state: bool
    timers: bool
    wrong: list[str]

    @property
    def clean(self) -> bool:
        return not (self.lost or self.doubled or self.wrong) and self.state and self.timers


def _outcome(topics: Topics, work: Work, sent: Mapping[int, int]) -> Outcome:
    rings, counts = _further(work)
    model = Model(sent, _watermarks(topics, work.source, sent))
    verdicts = [_followed(topics, work.sink, model, sent), _counted(topics, counts, model, sent)]
    now = time.time_ns() // 1_000_000
    kept = _kept(work, now)
    rung = list(_rows(topics, rings))
    lost, doubled = model.judge_rings(rung, kept.timers)
    expected, timers = model.values(now), model.timers({(ring["k"], ring["time"]) for ring in rung})
    wrong = [*model.wrong, *_differences("state", kept.values, expected)]
    wrong += [f"timer {timer} is kept and set by {timer in timers}" for timer in sorted(kept.timers ^ timers)]
    wrong += [f"{verdict.out_of_order} rows out of order" for verdict in verdicts if verdict.out_of_order]
    print(f"recovery records={sum(sent.values())} rings={len(rung)} values={len(expected)} timers={len(timers)}")
    return Outcome(
        lost + sum(verdict.lost for verdict in verdicts),
        doubled + sum(verdict.doubled for verdict in verdicts),
        kept.values == expected and not model.wrong,
        kept.timers == timers,
        wrong[:SHOWN],
    )


def _watermarks(topics: Topics, source: str, sent: Mapping[int, int]) -> dict[int, int]:
    """By key; the source itself is judged too, so that a fault of the feeder is never taken for one of Whorl."""
    partitions, highest, seen = dict[int, int](), dict[int, int](), list[tuple[int, int]]()
    for message in topics.read(source):
        ((key, number),) = numbers([message])
        partitions[key] = message.partition()
        highest[message.partition()] = max(time_of(key, number), highest.get(message.partition(), 0))
        seen.append((key, number))
    if not judge(sent, seen).clean:
        raise FeederFailed("the source topic itself is not what was sent")
    return {key: highest[partition] for key, partition in partitions.items()}


def _followed(topics: Topics, sink: str, model: Model, sent: Mapping[int, int]) -> Verdict:
    def seen() -> Iterator[tuple[int, int]]:
        for row in _rows(topics, sink):
            model.follow(row)
            yield row["k"], row["n"]

    return judge(sent, seen())


def _counted(topics: Topics, counts: str, model: Model, sent: Mapping[int, int]) -> Verdict:
    def seen() -> Iterator[tuple[int, int]]:
        for row in _rows(topics, counts):
            if row["count"] != row["n"] + 1:
                model.wrong.append(f"count {row}")
            yield row["k"], row["n"]

    return judge(sent, seen())


def _kept(work: Work, now: int) -> Kept:
    cluster = Cluster(KafkaClients(work.broker))
    reader = StateReader(cluster.clients, StateReader.on(cluster, work.name).stores, lambda: now)
    kept = Kept()
    for entry in (entry for operator in OPERATORS for entry in reader.scan(operator)):
        key = int(entry.key)
        if entry.is_timer:
            kept.timers.add((key, milliseconds(entry.value["time"])))
        else:
            kept.values[key, entry.state] = entry.value, milliseconds(entry.expires) if entry.expires else None
    return kept


def _differences(what: str, found: Mapping[Any, Any], expected: Mapping[Any, Any]) -> Iterator[str]:
    for place in sorted(found.keys() | expected.keys()):
        if found.get(place) != expected.get(place):
            yield f"{what} {place} is {found.get(place)}, not {expected.get(place)}"


def _rows(topics: Topics, topic: str) -> Iterator[dict[str, Any]]:
    return (json.loads(message.value()) for message in topics.read(topic, timeout=300))


def _further(work: Work) -> tuple[str, str]:
    """The topics of rings and counts."""
    return f"{work.sink}.rings", f"{work.sink}.counts"


def _record(sent: int) -> tuple[bytes, bytes]:
    number, key = divmod(sent, KEYS)
    return b"%d" % key, b'{"k": %d, "n": %d, "at": %.3f}' % (key, number, time_of(key, number) / 1000)


def _equal(same: bool) -> str:
    return "equal" if same else "different"
