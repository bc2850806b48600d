"""kill -9 at random moments under load, of driver, JVM, daemon, worker and broker; then every record is accounted for.

The judge is a `read_committed` consumer that shares nothing with Whorl. The source topic is judged too, so that a fault
of the feeder is never taken for one of Whorl. `--host query` lets the records pass through SQL instead of long tasks.
"""

from __future__ import annotations

import random
import time
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from functools import partial
from uuid import uuid4

from bench.cluster import Cluster, cluster
from bench.failures import FeederFailed
from bench.killing import VICTIMS, Killer, Supervised, add_kill_options, in_turns, thrown
from bench.peers import Work
from bench.processes import temporary_folder
from bench.sequences import Feeder, judge, numbered, numbers
from bench.topics import Topics

BROKER = "broker"
PIPELINES = {"tasks": "forward.yaml", "query": "query_copy.yaml"}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--host", choices=PIPELINES, default="tasks", help="what runs the pipeline on Spark")
    add_kill_options(parser, records=200_000, rate=5_000)


def main(options: Namespace) -> int:
    name, dice = f"kills-{uuid4().hex[:8]}", thrown("exactly_once", options)
    with cluster() as broker, ExitStack() as stack:
        topics = Topics(broker.address)
        work = Work(broker.address, name, f"{name}-in", f"{name}-out")
        topics.create(work.source, work.sink)
        folder = temporary_folder(stack)
        settings = {"checkpoints": folder / "checkpoints"}
        pipeline = stack.enter_context(Supervised(PIPELINES[options.host], work, folder, settings))
        feeder = Feeder(broker.address, work.source, options.rate, numbered)
        stack.callback(feeder.stop)
        killer = Killer(pipeline, topics, dice, {BROKER: partial(_away, broker, topics, dice)})
        killer.run(in_turns((*VICTIMS, BROKER), options.kills, dice))
        sent = feeder.finish(options.records, pipeline.keep_running)
        pipeline.catch_up()
        if not judge(sent, numbers(topics.read(work.source))).clean:
            raise FeederFailed("the source topic itself is not what was sent")
        verdict = judge(sent, numbers(topics.read(work.sink, timeout=300)))
    print(
        f"exactly_once kills={options.kills} records={verdict.records} lost={verdict.lost} doubled={verdict.doubled}"
        f" out_of_order={verdict.out_of_order}"
    )
    return 0 if verdict.clean else 1


def _away(broker: Cluster, topics: Topics, dice: random.Random) -> str:
    broker.kill()
    away = dice.uniform(0.2, 4)
    time.sleep(away)
    broker.restart()
    topics.reconnect()
    return f"away for {away:.1f} s"
