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

    def leaps(self, topic: str) -> bool:
        """Whether records of it that are gone before they were read are done without."""
        named = (input.source for input in self.component.inputs if topic in self.topics[input.id])
        own = next((source.on_gap for source in named if isinstance(source, KafkaSource)), "fail")
        return (own or self.settings.on_gap) == "earliest"

    @property
    def standbys(self) -> int:
        """Tasks beside those of the layout, numbered behind them."""
        return self.component.standbys(self.settings, self.layout.tasks)

    def is_standby(self, number: int) -> bool:
        return number >= self.layout.tasks

    def followed_by(self, number: int) -> range:
        """The lps of which this standby keeps copies: those of one task. Spark deals tasks out in turn, so it is not the task of the same
        place in the row: where machines are a divisor of tasks, both would be on one."""
        row, place = divmod(number, self.layout.tasks)
        return self.layout.lps_of((place + row) % self.layout.tasks)

    @property
    def title(self) -> str:
        """Of its Spark job, for people."""
        return f"{self.pipeline}/{self.component.id} layout {self.layout.number}"

    def transactional_id(self, task: int) -> str:
        return naming.task_id(self.uid, self.component.id, self.layout.number, task)


def is_generated(input: Input) -> bool:
    return input.source is not None and not isinstance(input.source, KafkaSource)


def generated_topic(input: Input) -> str:
    return GENERATED + input.id
