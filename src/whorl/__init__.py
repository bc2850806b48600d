"""Whorl: recursive, stateful stream processing on Spark. Pipelines are YAML; what they write to Kafka is exactly once.

The names here are what operators in Python need, and the errors. Importing them loads no Spark and no Kafka client: they are
imported on executors, in tests and in editors. `read_state`, which needs both, is loaded when it is first used.

To know the system, read in this order:

    errors, schema, units       the words that all the rest is said in
    config.loader, config.spec  a pipeline file and its settings, typed, every value with its place in the file
    state.partition             what is kept by key: tables, timers and clocks of a logical partition
    operators.operator, .chain  what an operator offers, and the one function that a component's operators become
    flow.graph, flow.check      the pipeline as data, and everything that can be wrong with it
    plan.planner, plan.naming   what is fused, what becomes a topic, and what everything is called
    jobs.runner                 the table of contents: load, check, plan, look, start, await
    tasks.driver, .task, .run   the protocol, its steps numbered as in docs/exactly-once.md
    reading.reader              what operators keep, read from outside
    cli.main                    the verbs

docs/life-of-a-record.md walks the same way with a record in its hand.
"""

from importlib import import_module
from typing import Any

from whorl.errors import (
    CheckFailed,
    Finding,
    OperatorFailed,
    PipelineError,
    Retry,
    UsageError,
    WhorlError,
    WorldError,
)
from whorl.operators.keyed import BatchOperator, Context, KeyedOperator
from whorl.operators.program import PartitionProgram
from whorl.operators.record import Metadata, Record, Row
from whorl.state.states import ListState, MapState, ValueState

__all__ = [
    "BatchOperator",
    "CheckFailed",
    "Context",
    "Finding",
    "KeyedOperator",
    "ListState",
    "MapState",
    "Metadata",
    "OperatorFailed",
    "PartitionProgram",
    "PipelineError",
    "Record",
    "Retry",
    "Row",
    "UsageError",
    "ValueState",
    "WhorlError",
    "WorldError",
    "read_state",
]
_LATER = {"read_state": "whorl.reading.frame"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'whorl' has no attribute '{name}'")
    return getattr(import_module(_LATER[name]), name)
