"""The components of a graph, kept by many who each know a share of the vertices.

Every vertex has one owner. An owner keeps the label of its vertices: the smallest vertex that each is known to hang together with.
What it hears it takes into account for all of its labels at once, and passes on only what follows from it for others:

    equal   x ~ y, to the owner of y, the larger one, which is no label any more
    holds   some of my vertices have the label x: to the owner of x, who tells me when x is no label any more
    told    y is no label any more, x is: to all who said that they hold y

So nobody knows the whole graph, and each fact crosses once. The law: labels only ever become smaller, and only to a vertex that hangs
together; when no message is under way, all vertices that hang together have the same label, the smallest among them. Neither the order
of edges and messages nor doubles of either make a difference to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from whorl.operators.graphs.owners import Vertex

Pairs = list[Vertex]
"""The two of each pair one after the other: no object for a pair, and none to be made when they come from a topic."""


class OwnersOf(Protocol):
    def parted(self, vertices: list[Vertex]) -> Mapping[int, list[Vertex]]: ...


@dataclass(slots=True)
class Heard:
    """What one step starts from."""

    equal: Pairs = field(default_factory=list)
    told: Pairs = field(default_factory=list)
    """What it is now, and the label of before."""
    holds: list[tuple[int, list[Vertex]]] = field(default_factory=list)
    """Who, and which labels."""


@dataclass(slots=True)
class Said:
    """What a step says to one other owner."""

    equal: Pairs = field(default_factory=list)
    told: Pairs = field(default_factory=list)
    holds: list[Vertex] = field(default_factory=list)


class Forest:
    """The share of one owner."""

    def __init__(self, here: int, owners: OwnersOf, others: int = 0) -> None:
        """`others`: a bit for each owner but this one."""
        self._here, self._owners, self._others = here, owners, others
        self.labels: dict[Vertex, Vertex] = {}
        """Of the vertices owned."""
        self.members: dict[Vertex, list[Vertex]] = {}
        """By label: the vertices owned that have it."""
        self.holders: dict[Vertex, int] = {}
        """By label that is owned: a bit for each other owner who holds it."""
        self.relabelled: dict[Vertex, Vertex] = {}
        """Vertices that have another label since this was last emptied, with it."""
        self._out: dict[int, Said] = {}

    def add(self, vertex: Vertex, label: Vertex) -> None:
        """As it was kept. Who held a label is not kept, so all who might are told once, when it is none any more."""
        self.labels[vertex] = label
        if vertex == label:
            self.holders[label] = self._others
        self.members.setdefault(label, []).append(vertex)

    def step(self, heard: Heard) -> dict[int, Said]:
        """Takes in what was heard; what is to be said to whom."""
        self._out = {}
        told = self._concerning(heard.told)
        up = self._merged(told, heard.equal)
        self._hook(up, set(told[1::2]))
        self._meet(heard.equal)
        for who, labels in heard.holds:
            self._register(who, labels)
        return self._out

    def _concerning(self, told: Pairs) -> Pairs:
        """Of a label that is not held any more, its owner knows all that was known here."""
        return [each for top, label in _two_by_two(told) if label in self.members for each in (top, label)]

    def _merged(self, *heard: Pairs) -> dict[Vertex, Vertex]:
        """From each label that is none any more, or vertex not known here, to the smallest that it hangs together with."""
        up: dict[Vertex, Vertex] = {}
        label_of, above = self.labels.get, up.get
        for pairs in heard:
            for a, b in _two_by_two(pairs):
                a, b = label_of(a, a), label_of(b, b)
                # Each look halves the way to the top for the next one.
                while (higher := above(a)) is not None:
                    if (top := above(higher)) is None:
                        a = higher
                        break
                    up[a] = a = top
                while (higher := above(b)) is not None:
                    if (top := above(higher)) is None:
                        b = higher
                        break
                    up[b] = b = top
                if a < b:
                    up[b] = a
                elif b < a:
                    up[a] = b
        for label in sorted(up):
            up[label] = above(up[label], up[label])
        return up

    def _hook(self, up: dict[Vertex, Vertex], told: set[Vertex]) -> None:
        labels, members = self.labels, self.members
        moved: dict[Vertex, list[Vertex]] = {}
        for label in up.keys() & members.keys():
            moved.setdefault(up[label], []).extend(members.pop(label))
            if label in labels:
                self._tell(label, up[label])
        unknown = [label for label in up if label not in labels and label not in told]
        for owner, those in self._owners.parted(unknown).items():
            if owner == self._here:
                for vertex in those:
                    moved.setdefault(up[vertex], []).append(vertex)
            else:
                self._said(owner).equal += _pairs([up[vertex] for vertex in those], those)
        tops = [top for top in set(up.values()) if top not in labels and top not in members]
        for owner, those in self._owners.parted(tops).items():
            if owner == self._here:
                for top in those:
                    moved.setdefault(top, []).append(top)
            else:
                self._said(owner).holds += [top for top in those if top in moved]
        self._relabel(moved)

    def _tell(self, label: Vertex, top: Vertex) -> None:
        """All who hold a label of ours that it is none any more."""
        holders, who = self.holders.pop(label, 0), 0
        while holders:
            if holders & 1:
                self._said(who).told += (top, label)
            holders, who = holders >> 1, who + 1

    def _relabel(self, moved: dict[Vertex, list[Vertex]]) -> None:
        """`moved`: vertices by the label that they have from now on."""
        changed = {vertex: label for label, vertices in moved.items() for vertex in vertices}
        self.labels.update(changed)
        self.relabelled.update(changed)
        members = self.members
        for label, vertices in moved.items():
            before = members.setdefault(label, vertices)
            # The shorter list goes into the longer one, so that a large component does not move whenever a small one joins.
            if before is not vertices and len(before) >= len(vertices):
                before.extend(vertices)
            elif before is not vertices:
                vertices.extend(before)
                members[label] = vertices

    def _meet(self, equal: Pairs) -> None:
        """Vertices that were said to hang together with themselves: they are there, if nothing more."""
        alone = dict.fromkeys(x for x, y in _two_by_two(equal) if x == y)
        for owner, those in self._owners.parted([vertex for vertex in alone if vertex not in self.labels]).items():
            if owner == self._here:
                self._relabel({vertex: [vertex] for vertex in those})
            else:
                self._said(owner).equal += _pairs(those, those)

    def _register(self, who: int, held: list[Vertex]) -> None:
        labels, holders, bit = self.labels, self.holders, 1 << who
        self._relabel({vertex: [vertex] for vertex in held if vertex not in labels})
        for vertex in held:
            label = labels[vertex]
            if label == vertex:
                holders[vertex] = holders.get(vertex, 0) | bit
            else:
                self._said(who).told += (label, vertex)

    def _said(self, owner: int) -> Said:
        said = self._out.get(owner)
        if said is None:
            said = self._out[owner] = Said()
        return said


def _two_by_two(pairs: Pairs) -> zip[tuple[Vertex, Vertex]]:
    each = iter(pairs)
    return zip(each, each, strict=True)


def _pairs(first: list[Vertex], second: list[Vertex]) -> Pairs:
    both = [*first, *second]
    both[0::2], both[1::2] = first, second
    return both
