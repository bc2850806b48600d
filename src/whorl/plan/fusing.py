"""What is fused, what becomes a topic, and why.

Two operators are fused unless their hosts differ, the edge between them asks for a topic or leads back, one of them asks to be alone, one leaves rows
once and the other each time they change, one keeps state by key in a query and the other does too or makes rows of no record, or
fusing would make a component wait for its own output. Components that read one source or write one sink are fused too, where nothing speaks against it. A folder of files, a table or a database is the only output of its query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import UnionType

from whorl.config.settings import Settings
from whorl.config.spec import KafkaSource, SourceOptions
from whorl.flow.graph import Edge, Kind, Node, StreamGraph, is_table, keyed_by
from whorl.operators.native import Keyed, Native, Query, Unique
from whorl.operators.operator import OperatorType
from whorl.plan.ends import is_sorted_before
from whorl.plan.hosts import Hosted, is_of_queries, reader_of, why_there
from whorl.plan.plan import Host, Mode

Spot = tuple[str, Host]
"""A node on a host. An operator has one, a source or sink may be used on both."""


@dataclass(frozen=True)
class Share:
    """What one component has of the graph. Sources and sinks may be in several, an edge in memory is in one."""

    host: Host
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    arriving: tuple[Edge, ...]
    leaving: tuple[Edge, ...]


@dataclass
class Fusing:
    graph: StreamGraph
    hosted: Mapping[str, Hosted]
    modes: Mapping[str, Mode]
    """Of the operators whose rows may change: whether they leave once, or each time."""
    settings: Settings
    home: dict[Spot, Spot] = field(default_factory=dict)
    """Which nodes are together, by a name for each group."""
    groups: dict[Spot, list[Spot]] = field(default_factory=dict)
    """The same from the other side: those of each group, in the order in which they were first met."""
    reasons: dict[Edge, str] = field(default_factory=dict)
    """Of every edge that is cut."""

    def shares(self) -> list[Share]:
        self.home = {spot: spot for spots in self.ends.values() for spot in spots}
        self.home |= {(id, hosted.host): (id, hosted.host) for id, hosted in self.hosted.items()}
        self.groups = {spot: [spot] for spot in self.home}
        self.reasons = {edge: reason for edge in self.graph.edges if (reason := self._forced(edge))}
        self._fuse_operators()
        apart = self._place_files()
        self._fuse_at_ends(apart)
        return self._shares()

    @cached_property
    def ends(self) -> dict[Edge, tuple[Spot, Spot]]:
        return {edge: self._spots(edge) for edge in self.graph.edges}

    def _spots(self, edge: Edge) -> tuple[Spot, Spot]:
        source, target = self._nodes(edge)
        if target.kind is Kind.OPERATOR:
            wanted = self.hosted[target.id].host
        else:
            wanted = Host.QUERY if is_of_queries(target) else Host.TASKS
        start = (
            reader_of(source.what, wanted) if isinstance(source.what, SourceOptions) else self.hosted[source.id].host
        )
        end = wanted if target.kind is Kind.OPERATOR or is_of_queries(target) else start
        return (source.id, start), (target.id, end)

    def _nodes(self, edge: Edge) -> tuple[Node, Node]:
        return self.graph.nodes[edge.source], self.graph.nodes[edge.target]

    def _is_inner(self, edge: Edge) -> bool:
        """Whether it leads from operator to operator; at the others a component reads or writes what is outside."""
        return edge.source in self.hosted and edge.target in self.hosted

    # -- reasons for a topic ----------------------------------------------------------------------------------------------------------

    def _forced(self, edge: Edge) -> str:
        ends = self._nodes(edge)
        (_, one), (_, other) = self.ends[edge]
        if one is not other:
            return f"{self._why(ends[0], one)}; {self._why(ends[1], other)}"
        if edge.feedback:
            return f"it leads back to '{edge.target}': one round of a loop"
        if reason := self._not_keyed(edge):
            return reason
        if not self._is_inner(edge):
            return ""
        if edge.topic:
            return "via: topic"
        alone = next((node.id for node in ends if node.isolate), None)
        if alone:
            return f"'{alone}' has isolate: true"
        return "edges: topics" if self.settings.edges == "topics" else ""

    def _not_keyed(self, edge: Edge) -> str:
        """Why the records of an edge must be sorted by key before an operator with state."""
        target = self.graph.nodes[edge.target]
        key = keyed_by(target)
        if key is None or not is_sorted_before(target) or self.hosted[target.id].host is not Host.TASKS:
            return ""
        topics = self._above(key, edge.target)
        if is_table(self.graph.nodes[edge.source]) or (
            None not in topics and (len(topics) == 1 or self.settings.cogroup)
        ):
            return ""
        return f"'{target.id}' keeps state by {', '.join(key) or 'the key of records'}"

    def _topics_by(self, key: tuple[str, ...], id: str) -> set[str | None]:
        """The topics from which records come to leave this node with the key that their partition goes by, each named by its reader;
        None where they are sorted by anything else. `key`: columns, or none for the key that a record has."""
        node = self.graph.nodes[id]
        if isinstance(node.what, KafkaSource):
            return {id if node.what.topic and key in ((), node.what.key) else None}
        if not isinstance(node.what, OperatorType):
            return {None}
        if keyed_by(node) == key and not node.what.changes_key:
            return {topic if topic is not None else id for topic in self._above(key, id)}
        kept = node.what.keeps_record if key else not node.what.changes_key
        return self._above(key, id) if kept else {None}

    def _above(self, key: tuple[str, ...], id: str) -> set[str | None]:
        """What comes back in a loop does not count: it is sorted as it must be."""
        into = (edge for edge in self.graph.streams_into(id) if not edge.feedback)
        return {topic for edge in into for topic in self._topics_by(key, edge.source)}

    def _why(self, node: Node, host: Host) -> str:
        return self.hosted[node.id].why if node.id in self.hosted else why_there(node, host)

    def _apart(self, one: Spot, other: Spot) -> str:
        """Why the groups of these two cannot be one query; empty if they can."""
        members = [*self._members(one), *self._members(other)]
        modes: dict[Mode, str] = {}
        for id in members:
            if id in self.modes:
                modes.setdefault(self.modes[id], id)
        if len(modes) > 1:
            return f"rows of '{modes['append']}' leave once (append), those of '{modes['update']}' each time they change (update)"
        keyed, tables = self._of_kind(members, Keyed), self._of_kind(members, Query | Unique)
        return (
            f"rows of '{keyed[0]}' have their record with them, those of '{tables[0]}' have none"
            if keyed and tables
            else ""
        )

    def _in_a_row(self, one: Spot, other: Spot) -> str:
        """Spark has no event time behind an operator with state by key."""
        both = [self._of_kind(self._members(spot), Keyed) for spot in (one, other)]
        return f"'{both[0][0]}' and '{both[1][0]}' both keep state in a query" if all(both) else ""

    def _members(self, spot: Spot) -> list[str]:
        """The operators in queries that are together with it."""
        return [id for id, host in self.groups[self.home[spot]] if host is Host.QUERY]

    def _of_kind(self, ids: Iterable[str], kind: type | UnionType) -> list[str]:
        return [id for id in ids if isinstance(self._natives.get(id), kind)]

    @cached_property
    def _natives(self) -> dict[str, Native | None]:
        inside = [self.graph.nodes[id] for id in self.hosted]
        return {
            node.id: node.what.native(self.graph.entering(node.id))
            for node in inside
            if isinstance(node.what, OperatorType)
        }

    # -- fusing -----------------------------------------------------------------------------------------------------------------------

    def _fuse_operators(self) -> None:
        for edge in self._in_order():
            if not self._is_inner(edge) or edge in self.reasons:
                continue
            if self._waits_for_itself(edge):
                self.reasons[edge] = "fused, the component would wait for its own output"
            elif reason := self._apart(*self.ends[edge]) or self._in_a_row(*self.ends[edge]):
                self.reasons[edge] = reason
            else:
                self._join(*self.ends[edge])

    def _fuse_at_ends(self, apart: Iterable[Spot]) -> None:
        """A source that is dealt out by a component of its own, and a group that writes files alone, stay apart."""
        dealt = {self.ends[edge][0] for edge in self.reasons if self.graph.nodes[edge.source].kind is Kind.SOURCE}
        for edge in self._in_order():
            one, other = self.ends[edge]
            stays = one in dealt or {self.home[one], self.home[other]} & set(apart)
            if self._is_inner(edge) or edge in self.reasons or stays or self._is_alone(edge):
                continue
            if not self._waits_for_itself(edge) and not self._apart(one, other):
                self._join(one, other)

    def _place_files(self) -> list[Spot]:
        """A file sink goes with the one group that feeds it if the group writes nothing else; else it is a component of its own.
        Returns the groups that write files."""
        sinks = [node for node in self.graph.of_kind(Kind.SINK) if is_of_queries(node)]
        for sink in sinks:
            edges = [edge for edge in self.graph.into(sink.id) if edge.source in self.hosted]
            feeding = list({self.home[self.ends[edge][0]] for edge in edges})
            if len(feeding) == 1 and feeding[0][1] is Host.QUERY and self._writes_only(feeding[0], sink):
                self._join(feeding[0], (sink.id, Host.QUERY))
            else:
                why = f"'{sink.id}' is a {sink.type} sink, which is the only output of its query"
                self.reasons |= {edge: why for edge in edges if edge not in self.reasons}
        return [self.home[(sink.id, Host.QUERY)] for sink in sinks]

    def _writes_only(self, group: Spot, sink: Node) -> bool:
        leaving = [edge for edge, (start, _) in self.ends.items() if self.home[start] == group]
        outer = [edge for edge in leaving if edge in self.reasons or not self._is_inner(edge)]
        return {edge.target for edge in outer} == {sink.id}

    def _in_order(self) -> list[Edge]:
        return [edge for id in self.graph.order for edge in self.graph.into(id)]

    def _join(self, one: Spot, other: Spot) -> None:
        new, old = self.home[one], self.home[other]
        if new != old:
            moved = self.groups.pop(old)
            self.home |= dict.fromkeys(moved, new)
            self.groups[new] = sorted([*self.groups[new], *moved], key=self._met.__getitem__)

    @cached_property
    def _met(self) -> dict[Spot, int]:
        return {spot: index for index, spot in enumerate(self.home)}

    def _is_alone(self, edge: Edge) -> bool:
        """Whether an operator that is to be alone has this source or sink in common with others."""
        operators = [node for node in self._nodes(edge) if node.kind is Kind.OPERATOR]
        return bool(operators) and (self.settings.edges == "topics" or any(node.isolate for node in operators))

    def _waits_for_itself(self, edge: Edge) -> bool:
        """Whether, with both ends together, something would leave the component through a topic and come back to it."""
        one, other = (self.home[spot] for spot in self.ends[edge])
        return one != other and (self._leads(one, other) or self._leads(other, one))

    def _leads(self, start: Spot, end: Spot) -> bool:
        """Whether a way that begins with a topic leads from one group to the other."""
        if not self.reasons:
            return False
        inner = [edge for edge in self.graph.edges if self._is_inner(edge) and not edge.feedback]
        homes = {edge: (self.home[self.ends[edge][0]], self.home[self.ends[edge][1]]) for edge in inner}
        ahead = [homes[edge][1] for edge in inner if edge in self.reasons and homes[edge][0] == start]
        seen: set[Spot] = set()
        while ahead:
            group = ahead.pop()
            if group == end:
                return True
            if group not in seen:
                seen.add(group)
                ahead += [to for source, to in homes.values() if source == group != to]
        return False

    # -- shares -----------------------------------------------------------------------------------------------------------------------

    def _shares(self) -> list[Share]:
        operators = [(id, self.hosted[id].host) for id in self.graph.order if id in self.hosted]
        inside: dict[Spot, list[Edge]] = {self.home[spot]: [] for spot in operators}
        arriving: dict[Spot, list[Edge]] = {}
        leaving: dict[Spot, list[Edge]] = {}
        for edge in self.graph.edges:
            start, end = self.ends[edge]
            if edge in self.reasons:
                leaving.setdefault(self.home[start], []).append(edge)
                arriving.setdefault(self.home[end], []).append(edge)
            else:
                inside.setdefault(self.home[self._inner_end(edge)], []).append(edge)
        groups = self._along([*inside, *(group for group in (*leaving, *arriving) if group not in inside)])
        return [self._share(group, *(each.get(group, []) for each in (inside, arriving, leaving))) for group in groups]

    def _along(self, groups: Iterable[Spot]) -> list[Spot]:
        """Each behind those that it reads, and else in the order they have."""
        waiting = list(dict.fromkeys(groups))
        ways = [(self.home[self.ends[e][0]], self.home[self.ends[e][1]]) for e in self.reasons if not e.feedback]
        ordered: list[Spot] = []
        while waiting:
            free = (group for group in waiting if not any(to == group and one in waiting for one, to in ways))
            ordered.append(next(free, waiting[0]))
            waiting.remove(ordered[-1])
        return ordered

    def _inner_end(self, edge: Edge) -> Spot:
        """The end that says whose an edge in memory is: its operator, or the folder it fills; else its source."""
        source, target = self._nodes(edge)
        return self.ends[edge][target.kind is Kind.OPERATOR or (is_of_queries(target) and source.kind is Kind.SOURCE)]

    def _share(self, group: Spot, inside: list[Edge], arriving: list[Edge], leaving: list[Edge]) -> Share:
        ends = {id for edge in inside for id in (edge.source, edge.target)}
        ends |= {edge.target for edge in arriving} | {edge.source for edge in leaving}
        members = {id for id, _ in self.groups[group] if id in self.hosted} | ends
        nodes = tuple(self.graph.nodes[id] for id in self.graph.order if id in members)
        return Share(group[1], nodes, tuple(inside), tuple(arriving), tuple(leaving))
