"""What an operator declares to keep by key, as attributes of its class:

    class Alert:
        total = ValueState(float, ttl="1h")
        seen = MapState(str, int)

        def process(self, row):
            self.total.update(lambda total: (total or 0.0) + row["amount"])

Types: numbers, text, bytes, dates, dict, list, and dataclasses or pydantic models, which are kept by their fields. A state that is not
bound to a host yet refuses to be used.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Generic, Literal, Self, TypedDict, TypeVar, Unpack, overload

from whorl.errors import PipelineError
from whorl.state.bound import BoundList, BoundMap, BoundValue
from whorl.state.codec import MAP
from whorl.state.scope import Bound

T = TypeVar("T")
K = TypeVar("K")
B = TypeVar("B", bound=Bound)
TtlTime = Literal["processing", "event"]


class Lifetime(TypedDict, total=False):
    """How long a value is there; without any of it, for ever."""

    ttl: str | float | None
    """Like "1h", or seconds: after it was last written (or read, with `refresh_on_read`)."""
    ttl_time: TtlTime
    refresh_on_read: bool


class State(Generic[B]):
    """What all declarations have in common. `B` is what it is in the hands of an operator."""

    suffix = ""
    """Of the table's name: it tells maps from other states in the changelog."""
    bound: type[Bound]

    def __init__(self, type: Any, **lifetime: Unpack[Lifetime]) -> None:
        self.name = ""
        self.type = type
        self.ttl = lifetime.get("ttl")
        self.ttl_time: TtlTime = lifetime.get("ttl_time", "processing")
        self.refresh_on_read = lifetime.get("refresh_on_read", False)

    def or_lasting(self, lifetime: Lifetime) -> Self:
        """Itself, or, where it declares no time to live, one that lasts so long."""
        if self.ttl is not None:
            return self
        lasting = copy(self)
        lasting.ttl, lasting.ttl_time = lifetime.get("ttl"), lifetime.get("ttl_time", self.ttl_time)
        return lasting

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> B: ...
    def __get__(self, instance: object | None, owner: type) -> Self | B:
        if instance is None:
            return self
        raise PipelineError(
            f"the state '{self.name}' of '{type(instance).__qualname__}' was used before a host opened the operator",
            hint="use it in process or on_timer",
            code="state-outside",
        )


class ValueState(State[BoundValue[T]], Generic[T]):
    """One value for each key."""

    bound = BoundValue

    def __init__(self, type: type[T], **lifetime: Unpack[Lifetime]) -> None:
        super().__init__(type, **lifetime)


class ListState(State[BoundList[T]], Generic[T]):
    """A list for each key; `type` is that of its elements."""

    bound = BoundList

    def __init__(self, type: type[T], **lifetime: Unpack[Lifetime]) -> None:
        super().__init__(type, **lifetime)


class MapState(State[BoundMap[K, T]], Generic[K, T]):
    """A map for each key. `ttl` is that of each entry."""

    suffix = MAP
    bound = BoundMap

    def __init__(self, key_type: type[K], type: type[T], **lifetime: Unpack[Lifetime]) -> None:
        super().__init__(type, **lifetime)
        self.key_type = key_type
