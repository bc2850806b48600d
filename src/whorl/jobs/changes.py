"""What a pipeline file changes of the pipeline that has run under its name, and what becomes of state and positions by it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from whorl.errors import Finding
from whorl.plan.plan import Component, Host, Plan
from whorl.query.pins import fingerprint
from whorl.savepoints.loss import Loss
from whorl.state.scope import MIGRATE
from whorl.tasks.register import ComponentEntry, QueryEntry, Registration

Read = Mapping[str, Collection[str]]
"""By component: the topics that it reads now."""


class Label(Enum):
    SAFE = "safe"
    SAVEPOINT = "needs savepoint"
    MIGRATION = "needs migration"
    LOSES = "loses state"
    UNFIT = "cannot read its state"
    SPARK = "for Spark to judge"


@dataclass(frozen=True)
class Change:
    label: Label
    what: str
    hint: str = ""
    operator: str = ""
    """Whom it is about. A component has the name of its first operator."""
    code: str = ""
    """What a run refuses it with; none where it takes it."""
    loss: Loss | None = None
    """What a run leaves behind where that is accepted."""


def changes(plan: Plan, registration: Registration | None, read: Read | None = None) -> Iterator[Change]:
    """Of a registration None: it has never run. Of `read` None: no broker was asked."""
    if registration is None:
        return
    planned = {component.id: component for component in plan.components}
    for id, entry in registration.components.items():
        if id not in planned:
            yield from _gone(plan, id, entry)
        elif planned[id].is_query:
            yield _moved(plan.pipeline, id, "tasks", "a query")
        else:
            yield from _of_component(plan, planned[id], entry)
            yield from _of_topics(id, entry, read or {})
    for id, query in registration.queries.items():
        yield from _of_query(plan.pipeline, id, planned.get(id), query)
    for id in planned:
        if id not in registration.components and id not in registration.queries:
            yield Change(Label.SAFE, f"component '{id}' is new, and starts as its sources say")


def refused(
    plan: Plan, registration: Registration | None, accept_loss: Collection[str], read: Read | None = None
) -> Iterator[Finding]:
    """What a run does not start with; what operators in `accept_loss` have kept may be left behind."""
    for change in changes(plan, registration, read):
        if change.code and not (change.loss and change.operator in accept_loss):
            yield Finding(change.code, change.what, change.hint)


def accepted(
    plan: Plan, registration: Registration | None, accept_loss: Collection[str], read: Read | None = None
) -> list[Loss]:
    """What is left behind, once nothing is refused."""
    found = changes(plan, registration, read)
    return [change.loss for change in found if change.loss is not None and change.operator in accept_loss]


def _losing(what: str, operator: str, loss: Loss, instead: str = "undo that") -> Change:
    hint = f"{instead}, or leave it behind: whorl run --accept-loss {operator}"
    return Change(Label.LOSES, what, hint, operator, code="state-lost", loss=loss)


def _losing_positions(what: str, component: str, topics: tuple[str, ...] = ()) -> Change:
    hint = f"undo that, or leave it behind: whorl run --accept-loss {component}"
    return Change(Label.LOSES, what, hint, component, code="manifest", loss=Loss(component, topics=topics))


def _moved(pipeline: str, id: str, before: str, now: str) -> Change:
    """A savepoint takes along what a run does not."""
    hint = f"take a savepoint, and resume it with this file: 'whorl savepoint {pipeline}', 'whorl resume'"
    what = f"component '{id}' has run in {before}, and is in {now} now"
    return Change(Label.SAVEPOINT, what, hint, code="manifest")


# -- components of tasks --------------------------------------------------------------------------------------------------------------


def _gone(plan: Plan, id: str, entry: ComponentEntry) -> Iterator[Change]:
    what = f"component '{id}' is no more"
    if not entry.kept:
        yield _losing_positions(f"{what}: what it had not read is left out", id)
    for operator, key in entry.kept.items():
        yield _losing(
            f"{what}, in which operator '{operator}' keeps state by {_by(key)}{_elsewhere(plan, operator)}",
            operator,
            Loss(id),
        )


def _elsewhere(plan: Plan, operator: str) -> str:
    other = next((each.id for each in plan.on(Host.TASKS) if operator in each.kept), "")
    return f"; it is in component '{other}' now, to which that does not go" if other else ""


def _of_component(plan: Plan, component: Component, entry: ComponentEntry) -> Iterator[Change]:
    for operator, key in entry.kept.items():
        loss = Loss(component.id, operator)
        by, now = f"operator '{operator}' keeps state by {_by(key)}", component.kept.get(operator)
        if now is None:
            gone = _elsewhere(plan, operator) or f", and '{component.id}' does not have it any more"
            yield _losing(f"{by}{gone}", operator, loss)
        elif now != key:
            yield _losing(f"{by}, and now by {_by(now)}", operator, loss, "give the operator another id")
        else:
            yield from _of_kept(component, entry, operator)
    for operator in component.kept:
        if operator not in entry.kept:
            yield Change(Label.SAFE, f"operator '{operator}' of '{component.id}' begins to keep state, from nothing")


def _of_kept(component: Component, entry: ComponentEntry, operator: str) -> Iterator[Change]:
    """What earlier versions of Whorl have not registered cannot be compared."""
    type, states = component.types[operator], component.states[operator]
    before, had = entry.types.get(operator, type), entry.states.get(operator, states)
    if before != type:
        what = f"operator '{operator}' keeps state as '{before}', and is '{type}' now"
        yield _losing(what, operator, Loss(component.id, operator), "give the operator another id")
        return
    if gone := tuple(state for state in had if state not in states):
        named = ", ".join(f"'{state}'" for state in gone)
        loss = Loss(component.id, operator, gone)
        yield _losing(f"operator '{operator}' has kept {named}, and does not have that state any more", operator, loss)
    yield from _of_version(component, entry, operator)


def _of_version(component: Component, entry: ComponentEntry, operator: str) -> Iterator[Change]:
    before, now = entry.versions.get(operator, 1), component.versions.get(operator, 1)
    what = f"operator '{operator}' has kept state of version {before}, and is of version {now}"
    if now < before:
        yield Change(Label.UNFIT, what, "use the newer code, which can read it", operator, code="state-version")
    elif now > before and component.migrates(operator):
        yield Change(Label.MIGRATION, f"{what}: its method 'migrate' is called for what is read", operator=operator)
    elif now > before:
        hint = f"give its class a method {MIGRATE}, or give the operator another id, and leave its state behind"
        yield Change(Label.UNFIT, f"{what}, with no method 'migrate'", hint, operator, code="state-version")


def _of_topics(id: str, entry: ComponentEntry, read: Read) -> Iterator[Change]:
    if gone := tuple(sorted(set(entry.topics) - set(read.get(id, entry.topics)))):
        topics = ", ".join(f"'{topic}'" for topic in gone)
        what = f"component '{id}' has read {topics} and does not now: what it had not read is left out"
        yield _losing_positions(what, id, gone)


# -- queries --------------------------------------------------------------------------------------------------------------------------


def _of_query(pipeline: str, id: str, component: Component | None, entry: QueryEntry) -> Iterator[Change]:
    if component is None:
        what = f"component '{id}' is no more, a query, whose checkpoint holds what it keeps and how far it has read"
        yield _losing_positions(what, id)
    elif not component.is_query:
        yield _moved(pipeline, id, "a query", "tasks")
    elif entry.fingerprint and entry.fingerprint != fingerprint(component):
        what = f"query '{id}' is another than has run: Spark says at its start whether it can go on from its checkpoint"
        yield Change(Label.SPARK, what, f"a savepoint first: whorl savepoint {pipeline}")


def _by(key: tuple[str, ...]) -> str:
    return ", ".join(key) or "the key of records"
