"""A topic, or records of one, that a pipeline reads and that are there no more: what is said of it, whoever finds it out."""

from __future__ import annotations

from whorl.errors import Finding, WorldError
from whorl.plan.plan import Component
from whorl.tasks.layout import Place

WITHOUT = "go on without them: whorl run --accept-gap, or set 'on_gap: earliest'; and raise the topic's retention"


def topic_gone(component: Component, topic: str) -> Finding:
    """Of a topic that the component reads. What Whorl makes itself it would make again, but empty."""
    inner = {
        input.topic: "a loop" if input.feedback else "the pipeline itself"
        for input in component.inputs
        if input.source is None
    }
    if topic in inner:
        hint = "what was in it is lost: start over with 'whorl run --fresh', or resume a savepoint with 'whorl resume'"
        return Finding("topic-gone", f"topic '{topic}' of {inner[topic]} does not exist any more", hint)
    hint = "it was deleted under the job; make it again and start over with 'whorl run --fresh'"
    return Finding("topic-gone", f"topic '{topic}' does not exist any more", hint)


def gone_error(component: Component, topic: str) -> WorldError:
    found = topic_gone(component, topic)
    return WorldError(found.message, hint=found.hint, code=found.code)


def lost(place: Place, at: int, first: int) -> str:
    """`first`: the offset of the first record that is left."""
    return f"{first - at} records of {place[0]}/{place[1]} from offset {at} on are gone from Kafka"
