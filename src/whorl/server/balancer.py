"""Which task manager gets which components: a function of what is free and what was measured, and of nothing else.

A component stays where it runs, and goes back to where it ran last if it can. Else it goes to where the most room is, and of equals to where
the least is done. A task manager serves one job, so none that serves another is ever looked at. One of them leads; queries are with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whorl.server.records import Part


@dataclass(frozen=True)
class Candidate:
    """A task manager that serves nobody, or the job itself."""

    id: str
    slots: int
    load: float = 0.0
    """Share of a core that its machine is busy with, as far as it told."""


Placement = dict[str, list[str]]
"""Components by task manager; the first of them leads, and may have none."""


@dataclass(frozen=True)
class Waits:
    """Why a job cannot be placed now."""

    reason: str
    missing: int = 1
    """Task managers that it lacks."""
    reserved: tuple[str, ...] = ()
    """Those that it has found, and takes with the others."""


def place(
    parts: Sequence[Part],
    candidates: Sequence[Candidate],
    kept: Mapping[str, Sequence[str]] | None = None,
    last_on: Mapping[str, str] | None = None,
    spread: int = 1,
    more_may_come: bool = False,
    leader: str = "",
) -> Placement | Waits:
    """`kept`: components that run, where they do. `spread`: how many task managers the job would like to have. `leader`: who leads already;
    one that is a member never does."""
    kept, last_on = kept or {}, last_on or {}
    by_id = {candidate.id: candidate for candidate in candidates}
    wanted = max(min(spread, len(parts)), len(kept) + (not leader), 1)
    chosen = _chosen(candidates, kept, last_on, wanted)
    if len(chosen) < wanted and more_may_come:
        missing = wanted - len(chosen)
        return Waits(f"waits for {_managers(missing)} to start", missing, tuple(chosen))
    lead = leader or next((id for id in chosen if id not in kept), "")
    if not lead:
        return Waits(_too_small(parts, []))
    size = {part.id: part.slots for part in parts}
    placed: Placement = {id: list(kept.get(id, ())) for id in chosen}
    room = {id: by_id[id].slots - sum(size.get(each, 0) for each in placed[id]) for id in chosen}
    at_home = {id for ids in placed.values() for id in ids}
    for part in sorted(parts, key=lambda part: (-part.slots, part.id)):
        if part.id in at_home:
            continue
        fitting = [id for id in chosen if room[id] >= part.slots and (part.host != "query" or id == lead)]
        if not fitting:
            return Waits(_too_small(parts, candidates))
        home = last_on.get(part.id, "")
        goes_home = home in fitting and len(placed[home]) * len(chosen) < len(parts)
        target = home if goes_home else _best(fitting, placed, room, by_id)
        placed[target].append(part.id)
        room[target] -= part.slots
    order = {part.id: index for index, part in enumerate(parts)}
    leading = {lead: placed.pop(lead), **placed}
    return {id: sorted(ids, key=lambda each: order.get(each, 0)) for id, ids in leading.items() if ids or id == lead}


def _chosen(
    candidates: Sequence[Candidate], kept: Mapping[str, Sequence[str]], last_on: Mapping[str, str], wanted: int
) -> list[str]:
    """Those that run some of it, then those that ran some of it, then the least busy with the most room."""
    known = {candidate.id for candidate in candidates}
    staying = [id for id in kept if id in known]
    before = set(last_on.values())
    others = [candidate for candidate in candidates if candidate.id not in kept]
    others.sort(key=lambda each: (each.id not in before, -each.slots, each.load, each.id))
    return [*staying, *(each.id for each in others)][:wanted]


def _best(fitting: Sequence[str], placed: Placement, room: Mapping[str, int], by_id: Mapping[str, Candidate]) -> str:
    return min(fitting, key=lambda id: (len(placed[id]), -room[id], by_id[id].load, id))


def _too_small(parts: Sequence[Part], candidates: Sequence[Candidate]) -> str:
    needed = sum(part.slots for part in parts)
    if not candidates:
        return "waits for a task manager: none is free"
    most = max(candidate.slots for candidate in candidates)
    return f"needs {needed} slots; {_managers(len(candidates))} free, the largest with {most}"


def _managers(count: int) -> str:
    return "1 task manager" if count == 1 else f"{count} task managers"
