"""Everything a task must know, as data: made by the driver, broadcast to the executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whorl.config.settings import Settings
from whorl.config.spec import KafkaSource
from whorl.plan import naming
from whorl.plan.plan import Component, Input
from whorl.tasks.layout import Layout

GENERATED = "@"
"""Marks the positions of a source that is no topic."""


@dataclass(frozen=True)
class Assignment:
    pipeline: str
    uid: str
    component: Component
    layout: Layout
    topics: Mapping[str, tuple[str, ...]]
    """Input id to the topics it reads."""
    partitions: Mapping[str, int]
    """Partition counts of all topics read and written."""
    limits: Mapping[str, int]
    """The largest message that each topic written takes."""
    dead_letter: str
    settings: Settings

    @property
    def changelog(self) -> str:
        return naming.changelog_topic(self.pipeline, self.uid, self.component.id)

    @property
    def read(self) -> dict[str, int]:
        """Topics read, with their partition counts."""
        return {topic: self.partitions[topic] for topics in self.topics.values() for topic in topics}

    def transactional_id(self, task: int) -> str:
        return naming.task_id(self.uid, self.component.id, self.layout.number, task)


def is_generated(input: Input) -> bool:
    return input.source is not None and not isinstance(input.source, KafkaSource)


def generated_topic(input: Input) -> str:
    return GENERATED + input.id
