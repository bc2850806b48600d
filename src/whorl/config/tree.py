"""Values of a file with the place of each key and value. A merge keeps every place, whichever file it is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from whorl.errors import Location

Key = str | int
Path = tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """A scalar, a dict of trees or a list of trees."""

    value: Any
    at: Location
    keys: Mapping[Key, Location] = field(default_factory=dict)
    """Of a map: where each key stands."""
    lines: tuple[tuple[int, Location], ...] = ()
    """Of a scalar that the file spells as it reads: which of its characters stand at the beginning of lines, and where."""

    def child(self, key: Key) -> Tree | None:
        if isinstance(self.value, dict):
            found: Tree | None = self.value.get(key)
            return found
        if isinstance(self.value, list) and isinstance(key, int) and 0 <= key < len(self.value):
            item: Tree = self.value[key]
            return item
        return None

    def find(self, path: Sequence[Key]) -> Tree | None:
        tree: Tree | None = self
        for key in path:
            tree = tree.child(key) if tree else None
        return tree

    def value_at(self, path: Sequence[Key]) -> Location:
        """Where the value stands; of one that is not written: the innermost value around it that is."""
        return self._deepest(path)[0].at

    def key_at(self, path: Sequence[Key]) -> Location:
        """Where the key stands that leads to the value; list items and the whole file stand where their value does."""
        tree, parent, last = self._deepest(path)
        return parent.keys.get(last, tree.at) if parent and last is not None else tree.at

    def inside(self, path: Sequence[Key], offset: int) -> Location:
        """Where a character of a scalar stands, if the file spells the scalar as it reads, else the scalar."""
        tree = self._deepest(path)[0]
        before = [(first, at) for first, at in tree.lines if first <= offset]
        if not before:
            return tree.at
        first, at = before[-1]
        return replace(at, column=at.column + offset - first)

    def plain(self) -> Any:
        if isinstance(self.value, dict):
            return {key: tree.plain() for key, tree in self.value.items()}
        if isinstance(self.value, list):
            return [tree.plain() for tree in self.value]
        return self.value

    def without(self, *keys: Key) -> Tree:
        """A map less some of its keys."""
        return replace(self, value={key: tree for key, tree in self.value.items() if key not in keys})

    def only(self, *keys: Key) -> Tree:
        return replace(self, value={key: tree for key, tree in self.value.items() if key in keys})

    def _deepest(self, path: Sequence[Key]) -> tuple[Tree, Tree | None, Key | None]:
        tree, parent, last = self, None, None
        for key in path:
            child = tree.child(key)
            if child is None:
                break
            tree, parent, last = child, tree, key
        return tree, parent, last


def empty(file: str) -> Tree:
    return Tree({}, Location(file))


def merge(base: Tree, over: Tree, append: Path = ()) -> Tree:
    """Maps are merged, anything else is replaced; the list at the path `append` is added to the one of `base`."""
    if isinstance(base.value, dict) and isinstance(over.value, dict):
        merged = dict(base.value)
        for key, tree in over.value.items():
            below = append[1:] if append[:1] == (key,) else ()
            listed = append == (key,) and key in merged and _are_lists(merged[key], tree)
            if listed:
                merged[key] = replace(tree, value=[*merged[key].value, *tree.value])
            else:
                merged[key] = merge(merged[key], tree, below) if key in merged else tree
        return Tree(merged, over.at, {**base.keys, **over.keys})
    return over


def _are_lists(*trees: Tree) -> bool:
    return all(isinstance(tree.value, list) for tree in trees)
