"""What `list_topics` answers, in the client library's own classes."""

from __future__ import annotations

from confluent_kafka import KafkaError
from confluent_kafka.admin import BrokerMetadata, ClusterMetadata, PartitionMetadata, TopicMetadata

from whorl.testing.memory.broker import MemoryBroker


def cluster_metadata(broker: MemoryBroker, topic: str | None) -> ClusterMetadata:
    """Of all topics, or of one: a topic that does not exist is there with an error, as from a real broker."""
    cluster = ClusterMetadata()
    cluster.cluster_id = "memory"
    node = BrokerMetadata()
    node.id, node.host, node.port = 1, "memory", 0
    cluster.brokers = {1: node}
    topics = broker.topics()
    names = topics if topic is None else [topic]
    cluster.topics = {name: _topic(name, len(topics[name].logs) if name in topics else None) for name in names}
    return cluster


def _topic(name: str, partitions: int | None) -> TopicMetadata:
    metadata = TopicMetadata()
    metadata.topic = name
    if partitions is None:
        metadata.error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    metadata.partitions = {number: _partition(number) for number in range(partitions or 0)}
    return metadata


def _partition(number: int) -> PartitionMetadata:
    metadata = PartitionMetadata()
    metadata.id = number
    metadata.leader = 1
    metadata.replicas = metadata.isrs = [1]
    return metadata
