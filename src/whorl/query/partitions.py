"""Names for the partitions of a batch that stay the same when Spark repeats it.

Spark numbers what it reads from Kafka as the broker happened to list it, and otherwise when it repeats the batch from its log. So a partition
is known by the topic and partition that it reads; behind a shuffle, by its number, which is the key's hash. This reads Spark's
physical plan, which is no public interface: it is looked at here and nowhere else, in as few calls as possible, since each goes to the JVM
and back.
"""

from __future__ import annotations

from typing import Any

from whorl.errors import PipelineError

_MOVES = ("RoundRobinPartitioning", "rangepartitioning")
_HINT = "take hints such as REPARTITION or COALESCE away; or split the SQL with `via: topic`"


def writer_names(execution: Any) -> tuple[str, ...]:
    """Of the partitions of a planned query, in their order."""
    names = tuple(_names(execution.executedPlan(), ""))
    if len(names) != execution.toRdd().getNumPartitions():
        raise PipelineError("the partitions of this query cannot be told apart", hint=_HINT, code="replay")
    return names


def _names(node: Any, branch: str) -> list[str]:
    below = node.children()
    children = [below.apply(index) for index in range(below.size())]
    if not children:
        return _read(node, branch)
    name = str(node.nodeName())
    if name == "Union":
        return [each for index, child in enumerate(children) for each in _names(child, f"{branch}{index}.")]
    if name.startswith("TransformWithState"):
        return _names(children[0], branch)  # beside it stands the state to begin with, which is none
    streamed = children if len(children) == 1 else [child for child in children if not _is_broadcast(child)]
    if "Exchange" in name or len(streamed) != 1:
        return _shuffled(node, branch)
    return [] if name == "Coalesce" else _names(streamed[0], branch)


def _is_broadcast(node: Any) -> bool:
    return str(node.outputPartitioning()).startswith("BroadcastPartitioning")


def _shuffled(node: Any, branch: str) -> list[str]:
    partitioning = node.outputPartitioning()
    if str(partitioning).startswith(_MOVES):
        raise PipelineError("a repeated batch would have its rows in other partitions", hint=_HINT, code="replay")
    return [f"{branch}{number}" for number in range(partitioning.numPartitions())]


def _read(leaf: Any, branch: str) -> list[str]:
    """Of a source that is a topic, the place; of another, the number: its log says the same each time."""
    if not str(leaf.nodeName()).startswith(("MicroBatchScan", "BatchScan")):
        return [f"{branch}{number}" for number in range(leaf.execute().getNumPartitions())]
    listed = leaf.inputPartitions()
    partitions = [listed.apply(number) for number in range(listed.size())]
    if not partitions or not str(partitions[0].getClass().getSimpleName()).startswith("Kafka"):
        return [f"{branch}{number}" for number in range(len(partitions))]
    return [f"{branch}{partition.offsetRange().topicPartition().toString()}" for partition in partitions]
