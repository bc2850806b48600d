"""Names of a batch's partitions, on plans as Spark draws them. That they hold on a real repeated batch is in tests/jobs/test_query_kills.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from whorl.errors import PipelineError
from whorl.query.partitions import writer_names


class Seq(list[Any]):
    def size(self) -> int:
        return len(self)

    def apply(self, index: int) -> Any:
        return self[index]


@dataclass
class Partitioning:
    told: str
    numbers: int = 0

    def __str__(self) -> str:
        return self.told

    def numPartitions(self) -> int:
        return self.numbers


class Node:
    """Of a physical plan; what the JVM's objects answer, and no more."""

    def __init__(self, name: str, *below: Node, partitioning: Partitioning | None = None, places: Any = ()) -> None:
        self._name, self._below, self._places = name, below, places
        self._partitioning = partitioning or Partitioning("UnknownPartitioning(0)")

    def nodeName(self) -> str:
        return self._name

    def children(self) -> Seq:
        return Seq(self._below)

    def outputPartitioning(self) -> Partitioning:
        return self._partitioning

    def inputPartitions(self) -> Seq:
        return Seq(Kafka(place) for place in self._places)

    def execute(self) -> Node:
        return self

    def getNumPartitions(self) -> int:
        return len(self._places)


class Kafka:
    def __init__(self, place: str) -> None:
        self._place = place

    def getClass(self) -> Kafka:
        return self

    def getSimpleName(self) -> str:
        return "KafkaBatchInputPartition"

    def offsetRange(self) -> Kafka:
        return self

    def topicPartition(self) -> Kafka:
        return self

    def toString(self) -> str:
        return self._place


class Planned:
    def __init__(self, plan: Node, partitions: int) -> None:
        self._plan, self._partitions = plan, partitions

    def executedPlan(self) -> Node:
        return self._plan

    def toRdd(self) -> Planned:
        return self

    def getNumPartitions(self) -> int:
        return self._partitions


def scan(*places: str) -> Node:
    return Node("MicroBatchScan kafka", places=places)


def shuffled(below: Node, how: str, number: int) -> Node:
    return Node("Exchange", below, partitioning=Partitioning(how, number))


def test_what_reads_a_topic_is_known_by_the_place_in_whatever_order_spark_has_it():
    assert writer_names(Planned(Node("Project", Node("Filter", scan("t-1", "t-0"))), 2)) == ("t-1", "t-0")


def test_branches_of_a_union_are_told_apart():
    plan = Node("Union", Node("Project", scan("t-0")), Node("Project", scan("t-0", "t-1")))
    assert writer_names(Planned(plan, 3)) == ("0.t-0", "1.t-0", "1.t-1")


def test_behind_a_shuffle_the_number_is_the_name():
    plan = Node("StateStoreSave", shuffled(scan("t-0"), "hashpartitioning(account#1, 3)", 3))
    assert writer_names(Planned(plan, 3)) == ("0", "1", "2")


def test_a_table_that_is_sent_to_everybody_does_not_count():
    """With code generation an adapter stands before it."""
    table = Node("InputAdapter", Node("BroadcastExchange"), partitioning=Partitioning("BroadcastPartitioning(Hashed)"))
    assert writer_names(Planned(Node("BroadcastHashJoin", scan("t-2"), table), 1)) == ("t-2",)


def test_other_sources_are_numbered():
    files = Node("FileSourceScan", places=("a", "b"))
    assert writer_names(Planned(Node("Union", files, scan("t-0")), 3)) == ("0.0", "0.1", "1.t-0")


@pytest.mark.parametrize(
    "plan",
    [
        shuffled(scan("t-0"), "RoundRobinPartitioning(2)", 2),
        shuffled(scan("t-0"), "rangepartitioning(a#1 ASC, 2)", 2),
        Node("Coalesce", scan("t-0", "t-1", "t-2")),
        Node("CartesianProduct", scan("t-0"), scan("u-0")),
    ],
)
def test_what_moves_rows_when_a_batch_is_repeated_is_refused(plan):
    with pytest.raises(PipelineError) as refused:
        writer_names(Planned(plan, 2))
    assert refused.value.code == "replay" and refused.value.hint
