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

from typing import Any, Generic, Literal, Self, TypeVar, overload

from whorl.errors import PipelineError
from whorl.state.bound import BoundList, BoundMap, BoundValue

T = TypeVar("T")
K = TypeVar("K")
TtlTime = Literal["processing", "event"]


class State:
    """What all declarations have in common."""

    suffix = ""
    """Of the table's name: it tells maps from other states in the changelog."""
    bound: type[BoundValue[Any]] | type[BoundList[Any]] | type[BoundMap[Any, Any]]

    def __init__(self, type: Any, ttl: str | float | None, ttl_time: TtlTime, refresh_on_read: bool) -> None:
        self.name = ""
        self.type = type
        self.ttl = ttl
        """Like "1h", or seconds: how long after it was last written (or read, with `refresh_on_read`) a value is there."""
        self.ttl_time = ttl_time
        self.refresh_on_read = refresh_on_read

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def _unbound(self, instance: object) -> PipelineError:
        return PipelineError(
            f"the state '{self.name}' of '{type(instance).__qualname__}' was used before a host opened the operator",
            hint="use it in process or on_timer",
            code="state-outside",
        )


class ValueState(State, Generic[T]):
    """One value for each key."""

    bound = BoundValue

    def __init__(
        self,
        type: type[T],
        *,
        ttl: str | float | None = None,
        ttl_time: TtlTime = "processing",
        refresh_on_read: bool = False,
    ) -> None:
        super().__init__(type, ttl, ttl_time, refresh_on_read)

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> BoundValue[T]: ...
    def __get__(self, instance: object | None, owner: type) -> Self | BoundValue[T]:
        if instance is None:
            return self
        raise self._unbound(instance)


class ListState(State, Generic[T]):
    """A list for each key; `type` is that of its elements."""

    bound = BoundList

    def __init__(
        self,
        type: type[T],
        *,
        ttl: str | float | None = None,
        ttl_time: TtlTime = "processing",
        refresh_on_read: bool = False,
    ) -> None:
        super().__init__(type, ttl, ttl_time, refresh_on_read)

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> BoundList[T]: ...
    def __get__(self, instance: object | None, owner: type) -> Self | BoundList[T]:
        if instance is None:
            return self
        raise self._unbound(instance)


class MapState(State, Generic[K, T]):
    """A map for each key. `ttl` is that of each entry."""

    suffix = "{}"
    bound = BoundMap

    def __init__(
        self,
        key_type: type[K],
        type: type[T],
        *,
        ttl: str | float | None = None,
        ttl_time: TtlTime = "processing",
        refresh_on_read: bool = False,
    ) -> None:
        super().__init__(type, ttl, ttl_time, refresh_on_read)
        self.key_type = key_type

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> BoundMap[K, T]: ...
    def __get__(self, instance: object | None, owner: type) -> Self | BoundMap[K, T]:
        if instance is None:
            return self
        raise self._unbound(instance)
