"""What users test their pipelines with: no Spark, no broker, no waiting.

`OperatorHarness` runs one operator with state; `PipelineHarness` runs a whole pipeline in memory; `whorl test` runs the cases written beside one. `whorl.testing.memory` is the
Kafka underneath, for tests that crash a pipeline at a point of their choice.
"""

from whorl.testing.clock import ManualClock
from whorl.testing.harness import PipelineHarness
from whorl.testing.memory import Crash, Faults, MemoryBroker
from whorl.testing.operator import OperatorHarness
from whorl.testing.records import DeadLetter, Given

__all__ = [
    "Crash",
    "DeadLetter",
    "Faults",
    "Given",
    "ManualClock",
    "MemoryBroker",
    "OperatorHarness",
    "PipelineHarness",
]
