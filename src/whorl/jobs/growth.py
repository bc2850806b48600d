"""Partitions that are added to a topic under a running job.

A component without state takes them up at once. One that keeps state by key first reads the old partitions to where they ended when the new
ones were noticed: what a key has there came before what it has in a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from whorl.kafka.topics import Place
from whorl.plan.plan import Component

Ends = Callable[[Mapping[str, int]], Mapping[Place, int]]
"""Where these topics, of so many partitions, end now."""


@dataclass
class Growth:
    stopping: set[str] = field(default_factory=set)
    """Components that stop to be laid out anew."""
    _awaited: dict[str, Mapping[Place, int]] = field(default_factory=dict)
    """Of components with state: how far they have to be first."""

    def notice(self, component: Component, before: Mapping[str, int], ends: Ends) -> None:
        """`before`: the topics that have grown, and how many partitions they had."""
        if component.keeps_state:
            self._awaited[component.id] = {**ends(before), **self._awaited.get(component.id, {})}
        else:
            self.stopping.add(component.id)

    def look(self, positions: Callable[[str], Mapping[Place, int]]) -> None:
        for id, ends in list(self._awaited.items()):
            at = positions(id)
            if all(at.get(place, -1) >= end for place, end in ends.items()):
                del self._awaited[id]
                self.stopping.add(id)

    def forget(self, component: str) -> None:
        """It was laid out anew for another reason, and has them now."""
        self.stopping.discard(component)
        self._awaited.pop(component, None)
