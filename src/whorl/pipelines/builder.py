"""What is said of a pipeline in Python, kept as the tree that its YAML file would be: one loader, one spec, the same findings.

Keys that Python keeps for itself are written with an underscore behind them: `from_`, `class_`, `as_`, `with_`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, Self, TypedDict

from whorl.config.objects import caller, tree_of
from whorl.config.tree import Tree
from whorl.errors import PipelineError

Edge = str | Mapping[str, Any]
Edges = Edge | Sequence[Edge]
Duration = str | timedelta
Size = str | int
Code = str | Callable[..., Any] | type
"""User code: a function or class of a module, or its import path."""
OnError = Literal["fail", "skip", "dead_letter", "retry"] | Mapping[str, Any]


class Common(TypedDict, total=False):
    """What every operator has."""

    from_: Edges
    to: Edges
    on_error: OnError
    isolate: bool
    host: Literal["tasks", "query"]
    publish: str
    max_rounds: int
    combine: Mapping[str, Literal["min", "max", "sum"]]
    supersteps: bool
    on_runaway: Literal["warn", "stop"]


class Builder:
    """Parts are added in the order of the calls; who says nothing reads what stands before, as in a file."""

    def __init__(self, root: Tree) -> None:
        self._root = root

    def operator(self, type: str, id: str = "", **options: Any) -> Self:
        """An operator of any type, also of one that another package brings."""
        return self._operator(type, id, options, {})

    def table(self, id: str, **options: Any) -> Self:
        """A topic of which operators with state look up the last row of their key."""
        return self._end("tables", id, options)

    def set(self, **settings: Any) -> Self:
        """Settings of this pipeline, over those of whorl.yaml; a map is merged into what was set before."""
        at = caller()
        before = self._root.child("settings")
        now = {**(before.plain() if before else {}), **settings}
        return self._put("settings", tree_of(now, at))

    def _operator(self, type: str, id: str, options: Mapping[str, Any], common: Mapping[str, Any]) -> Self:
        named = {"id": id or self._unused(type), "type": type, **_written(common), **_written(options)}
        listed = self._root.child("operators")
        at = caller()
        return self._put("operators", Tree([*(listed.value if listed else ()), tree_of(named, at)], at))

    def _end(self, part: str, id: str, options: Mapping[str, Any]) -> Self:
        at = caller()
        held = self._root.child(part) or Tree({}, at)
        kept = held.value
        if id in kept:
            what, hint = f"the id '{id}' is taken", f"it is first in line {held.keys[id].line}; rename one"
            raise PipelineError(what, hint=hint, where=str(at), code="duplicate-id")
        keys = {**held.keys, id: at}
        return self._put(part, Tree({**kept, id: tree_of(_written(options), at)}, at, keys))

    def _put(self, part: str, tree: Tree) -> Self:
        values, keys = {**self._root.value, part: tree}, {**self._root.keys, part: tree.at}
        self._root = Tree(values, self._root.at, keys)
        return self

    def _unused(self, type: str) -> str:
        """The type, or the type with a number where it has been used before."""
        listed = self._root.child("operators")
        used = {each.plain().get("id") for each in (listed.value if listed else ())}
        used |= {id for part in ("sources", "sinks", "tables") for id in self._ids(part)}
        names = (type if number == 1 else f"{type}_{number}" for number in range(1, len(used) + 2))
        return next(name for name in names if name not in used)

    def _ids(self, part: str) -> list[Any]:
        held = self._root.child(part)
        return list(held.value) if held else []


def _written(options: Mapping[str, Any]) -> dict[str, Any]:
    """As a file has them: without what was not given."""
    return {name.removesuffix("_"): value for name, value in options.items() if value is not None}
