"""The embedded Kafka: a real cluster in a folder."""

from whorl.broker.broker import DEFAULT_FOLDER, DEFAULT_HEAP, Broker, BrokerStatus, NodeStatus

__all__ = ["DEFAULT_FOLDER", "DEFAULT_HEAP", "Broker", "BrokerStatus", "NodeStatus"]
