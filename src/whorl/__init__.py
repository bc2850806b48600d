"""Whorl: recursive, stateful stream processing on Spark. Pipelines are YAML; what they write to Kafka is exactly once.

The names here are what operators in Python need, and the errors. Importing them loads no Spark and no Kafka client: they are
imported on executors, in tests and in editors. `Pipeline`, `StreamProcessor`, `read_state` and `read_table` are loaded when they are first used.

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
    processor.processor         the loop in the user's own hands: fetch, process, commit
    cli.main                    the verbs

docs/life-of-a-record.md walks the same way with a record in its hand.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from whorl.pipelines.pipeline import Pipeline
    from whorl.processor.processor import StreamProcessor
    from whorl.reading.frame import read_state
    from whorl.reading.table import read_table

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
    "Pipeline",
    "PipelineError",
    "Record",
    "Retry",
    "Row",
    "StreamProcessor",
    "UsageError",
    "ValueState",
    "WhorlError",
    "WorldError",
    "read_state",
    "read_table",
]
_LATER = {
    "Pipeline": "whorl.pipelines.pipeline",
    "StreamProcessor": "whorl.processor.processor",
    "read_state": "whorl.reading.frame",
    "read_table": "whorl.reading.table",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'whorl' has no attribute '{name}'")
    return getattr(import_module(_LATER[name]), name)
