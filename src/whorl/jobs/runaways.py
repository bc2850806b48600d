"""Loops in which there is ever more to do: each message leads to more than one, and none of them to an end.

What is looked at is the feedback that was sent and not yet processed. If it grows without a pause, while next to nothing comes from outside,
it will not end by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whorl.plan.plan import Component, Plan
from whorl.tasks.watch import Watch

_EVERY = 2.0
_TIMES = 8
"""So often in a row must it have grown."""
_LEAST = 10_000
"""Messages that wait."""
_FEW = 0.1
"""Records from outside for each message, at most."""


@dataclass(frozen=True)
class Runaway:
    component: str
    message: str
    hint: str
    stops: bool


@dataclass
class _Seen:
    """What was counted when a loop was looked at last."""

    sent: float = 0.0
    done: float = 0.0
    outside: float = 0.0
    grown: int = 0
    """How often in a row more was left than before."""


class Runaways:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._seen: dict[str, _Seen] = {}
        self._told: set[str] = set()
        self._at = 0.0

    def found(self, watch: Watch, now: float) -> Iterator[Runaway]:
        """Those that are new."""
        if now < self._at + _EVERY:
            return
        self._at = now
        for component in self._plan.components:
            if component.feedback and component.id in watch.components and component.id not in self._told:
                loop = self._plan.loop_of(component)
                seen = self._look(component.id, loop, watch)
                if seen.grown >= _TIMES and seen.sent - seen.done >= _LEAST:
                    self._told.add(component.id)
                    yield self._runaway(component, seen)

    def _look(self, id: str, loop: list[Component], watch: Watch) -> _Seen:
        sent, read, messages = (
            sum(watch.components[each.id].total(name) for each in loop if each.id in watch.components)
            for name in ("sent", "read", "messages")
        )
        done = watch.components[id].total("messages")
        old, new = self._seen.get(id, _Seen()), _Seen(sent, done, read - messages)
        begun_anew = new.sent < old.sent or new.done < old.done
        fed = new.outside - old.outside > _FEW * (new.done - old.done)
        grows = new.sent - new.done > old.sent - old.done and not fed and not begun_anew
        new.grown = old.grown + 1 if grows else 0
        self._seen[id] = new
        return new

    def _runaway(self, component: Component, seen: _Seen) -> Runaway:
        topics = {input.topic for input in component.feedback}
        ids = [cut.target for cut in self._plan.cuts if cut.topic in topics]
        nodes = [self._plan.graph.nodes[id] for id in ids]
        message = (
            f"the loop at '{ids[0]}' runs away: {seen.sent - seen.done:,.0f} messages wait, and there are ever more"
        )
        hint = "bound it with 'max_rounds', merge messages with 'combine', or let it send fewer"
        return Runaway(component.id, message, hint, any(node.loop.on_runaway == "stop" for node in nodes))
