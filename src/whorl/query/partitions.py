"""Names for the partitions of a batch that stay the same when Spark repeats it.

Spark numbers what it reads from Kafka as the broker happened to list it, and otherwise when it repeats the batch from its log. So a partition
is known by the topic and partition that it reads; behind a shuffle, by its number, which is the key's hash. This reads Spark's
physical plan, which is no public interface: it is looked at here and nowhere else.
"""

from __future__ import annotations

from typing import Any

from whorl.errors import PipelineError

_SCAN = ("MicroBatchScan", "BatchScan", "RealTimeStreamScan")
_ROUND_ROBIN = "RoundRobinPartitioning"


def writer_names(plan: Any) -> tuple[str, ...]:
    """Of the partitions of an executed plan, in their order."""
    return tuple(_names(plan, ""))


def _names(node: Any, branch: str) -> list[str]:
    name = str(node.nodeName())
    children = [node.children().apply(index) for index in range(node.children().size())]
    if name == "Union":
        return [each for index, child in enumerate(children) for each in _names(child, f"{branch}{index}.")]
    if name.startswith(_SCAN):
        return _read(node, branch)
    moved = "Exchange" in name and "Broadcast" not in name
    if moved and str(node.outputPartitioning()).startswith(_ROUND_ROBIN):
        raise PipelineError(
            "the query deals its rows out in turn, so a repeated batch would have them elsewhere",
            hint="take the REPARTITION hint away, or name columns in it",
            code="replay",
        )
    streamed = [child for child in children if "BroadcastExchange" not in str(child.nodeName())]
    if moved or len(streamed) != 1:
        return [f"{branch}{number}" for number in range(node.outputPartitioning().numPartitions())]
    return _names(streamed[0], branch)


def _read(scan: Any, branch: str) -> list[str]:
    """Of a source that is a topic, the place; of another, the number: its log says the same each time."""
    partitions = scan.inputPartitions()
    names = []
    for number in range(partitions.size()):
        partition = partitions.apply(number)
        is_kafka = str(partition.getClass().getSimpleName()).startswith("Kafka")
        names.append(f"{branch}{partition.offsetRange().topicPartition().toString() if is_kafka else number}")
    return names
