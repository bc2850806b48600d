"""What a pipeline file changes of the pipeline that has run under its name, and what becomes of state and positions by it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from whorl.errors import Finding
from whorl.plan.plan import Component, Host, Plan
from whorl.state.scope import MIGRATE
from whorl.tasks.register import ComponentEntry, Registration


class Label(Enum):
    SAFE = "safe"
    MIGRATION = "needs migration"
    LOSES = "loses state"
    UNFIT = "cannot read its state"


@dataclass(frozen=True)
class Change:
    label: Label
    what: str
    hint: str = ""
    operator: str = ""
    """Whose state it is about, where its component goes on."""


def changes(plan: Plan, registration: Registration | None) -> Iterator[Change]:
    """None where it has never run."""
    if registration is None:
        return
    planned = {component.id: component for component in plan.on(Host.TASKS)}
    for id, entry in registration.components.items():
        if id in planned:
            yield from _of_component(planned, planned[id], entry)
        else:
            yield _gone(id, entry)
    for id in planned:
        if id not in registration.components:
            yield Change(Label.SAFE, f"component '{id}' is new, and starts as its sources say")


def refused(plan: Plan, registration: Registration | None, accept_loss: Collection[str]) -> Iterator[Finding]:
    """What a run does not start with; state of operators in `accept_loss` may be left behind."""
    for change in changes(plan, registration):
        if change.label is Label.UNFIT:
            yield Finding("state-version", change.what, change.hint)
        elif change.operator and change.label is Label.LOSES and change.operator not in accept_loss:
            yield Finding("state-lost", change.what, change.hint)


def _gone(id: str, entry: ComponentEntry) -> Change:
    hint = "give the pipeline another 'name', or start over with 'whorl run --fresh'"
    if entry.kept:
        return Change(Label.LOSES, f"component '{id}' is no more, which kept state of {', '.join(entry.kept)}", hint)
    return Change(Label.MIGRATION, f"component '{id}' is no more: what it had not read would be left out", hint)


def _of_component(planned: dict[str, Component], component: Component, entry: ComponentEntry) -> Iterator[Change]:
    id = component.id
    for operator, key in entry.kept.items():
        by, now = _by(key), component.kept.get(operator)
        if now is None:
            elsewhere = next((other for other, each in planned.items() if operator in each.kept), "")
            what = f"is in component '{elsewhere}' now, to which it does not go" if elsewhere else "is no more"
            hint = f"undo that, or leave the state behind: whorl run --accept-loss {operator}"
            yield Change(
                Label.LOSES, f"operator '{operator}' of '{id}' keeps state by {by}, and {what}", hint, operator
            )
        elif now != key:
            hint = f"give the operator another id, and leave this state behind: whorl run --accept-loss {operator}"
            yield Change(
                Label.LOSES, f"operator '{operator}' keeps state by {by}, and now by {_by(now)}", hint, operator
            )
        else:
            yield from _of_version(component, entry, operator)
    for operator in component.kept:
        if operator not in entry.kept:
            yield Change(Label.SAFE, f"operator '{operator}' of '{id}' begins to keep state, from nothing")


def _of_version(component: Component, entry: ComponentEntry, operator: str) -> Iterator[Change]:
    before, now = entry.versions.get(operator, 1), component.versions.get(operator, 1)
    what = f"operator '{operator}' has kept state of version {before}, and is of version {now}"
    if now < before:
        yield Change(Label.UNFIT, what, "use the newer code, which can read it", operator)
    elif now > before and component.migrates(operator):
        yield Change(Label.MIGRATION, f"{what}: its method 'migrate' is called for what is read", operator=operator)
    elif now > before:
        hint = f"give its class a method {MIGRATE}, or give the operator another id, and leave its state behind"
        yield Change(Label.UNFIT, f"{what}, with no method 'migrate'", hint, operator)


def _by(key: tuple[str, ...]) -> str:
    return ", ".join(key) or "the key of records"
