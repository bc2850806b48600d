"""Columns followed from sources to sinks, and whether what each node says of them is true.

Where columns are not known (None), nothing is said about them: a node after a wrong one is not blamed for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from whorl.config.codes import suggest
from whorl.config.loader import Loaded
from whorl.config.spec import KafkaSink, KafkaSource, SinkOptions, SourceOptions, Watermark
from whorl.config.tree import Path
from whorl.errors import Finding, Location, PipelineError, WhorlError
from whorl.flow.graph import Edge, Node, StreamGraph, edges_by, is_table, together
from whorl.flow.times import edge_watermark, own_watermark
from whorl.formats import FormatOptions, codec
from whorl.operators.expressions import compile_expression
from whorl.operators.loading import load
from whorl.operators.operator import OperatorType, Upstream
from whorl.operators.record import LOOP
from whorl.operators.sql.replay import replays
from whorl.operators.sql.tree import looks_at_one_row
from whorl.schema import UNKNOWN, Schema

_PLACE = re.compile(r" at line 1, column (\d+)")
_REMEDY = "change it, or do it in a python operator"
_REMEDIES = {
    "expression": "write one SQL expression, such as amount * 2",
    "import": "see that Python can import it",
    "format": "mend the format's options",
}
_QUOTED = re.compile(r"'([^']+)'")


class Columns:
    """Gives each node the columns that leave it; notes what is wrong on the way."""

    def __init__(self, loaded: Loaded, nodes: Mapping[str, Node], edges: Sequence[Edge]) -> None:
        spec = loaded.spec
        self.loaded = loaded
        self.nodes = nodes
        self.edges = edges
        self.specs = {named.id: named for named in (*spec.sinks, *spec.operators, *spec.sources)}
        self.findings: list[Finding] = []
        self.blamed: set[str] = set()
        """Nodes that something is wrong with."""
        self._timed = any(map(own_watermark, nodes.values()))
        self._into, self._out_of = edges_by(edges, lambda edge: edge.target), edges_by(edges, lambda edge: edge.source)

    def follow(self) -> dict[str, Node]:
        whole = tuple(edge for edge in self.edges if edge.source in self.nodes and edge.target in self.nodes)
        followed: dict[str, Node] = {}
        for id in StreamGraph("", self.nodes, whole).order:
            node = self.nodes[id]
            self._named_outputs(node)
            followed[id] = self._through(node, *self._upstreams(id, followed))
        return {id: followed[id] for id in self.nodes}

    def _upstreams(self, id: str, followed: Mapping[str, Node]) -> tuple[list[Upstream], list[Upstream]]:
        """What a node reads, and those of it that come from outside its loops."""
        into = [(edge, self._upstream(edge, followed)) for edge in self._into.get(id, ())]
        return [each for _, each in into], [each for edge, each in into if not edge.feedback]

    def _upstream(self, edge: Edge, followed: Mapping[str, Node]) -> Upstream:
        source = followed.get(edge.source)
        if source is None:
            return Upstream(edge.table)
        mark = edge_watermark(self._so_far(followed), edge) if self._timed else None
        return Upstream(edge.table, source.schema, is_table(source), mark.column if mark else "")

    def _so_far(self, followed: Mapping[str, Node]) -> StreamGraph:
        edges = (edge for edge in self.edges if edge.source in followed and edge.target in followed)
        return StreamGraph("", followed, tuple(edges))

    def _through(self, node: Node, upstreams: Sequence[Upstream], outside: Sequence[Upstream]) -> Node:
        if isinstance(node.what, SourceOptions):
            return replace(node, schema=self._source(node, node.what))
        entering = together(upstream.schema for upstream in outside if not upstream.is_table)
        if isinstance(node.what, SinkOptions):
            self._sink(node, node.what, entering)
            return replace(node, schema=entering)
        return self._operator(replace(node, what=node.what.reading(upstreams)), entering)

    def _operator(self, node: Node, entering: Schema | None) -> Node:
        operator, before = node.what, len(self.findings)
        assert isinstance(operator, OperatorType)
        self._exist(node, operator.columns(), entering)
        spark_alone = self._compile(node, operator, entering)
        self._import(node, operator)
        self._faults(node, operator)
        # A step of user code may be an object of the user's: only the host makes those.
        if len(self.findings) == before and operator.in_tasks and not list(operator.import_paths()):
            spark_alone = spark_alone or self._step(node, operator, entering)
        return replace(node, schema=self._output(node, operator, entering, before), not_in_tasks=spark_alone)

    def _output(self, node: Node, operator: OperatorType, entering: Schema | None, before: int) -> Schema | None:
        try:
            return operator.output(entering)
        except PipelineError as error:
            if len(self.findings) == before:
                self._wrong(node, error, self._about(node, operator, error))
            return None

    def _step(self, node: Node, operator: OperatorType, entering: Schema | None) -> str:
        """Why it has no step that tasks could run, though Spark could."""
        try:
            operator.step(entering)
        except PipelineError as error:
            if self._runs_in_query(node, operator, entering, error):
                return f"{error.message}, which tasks do not compile"
            self._wrong(node, error, self._about(node, operator, error))
        return ""

    def _runs_in_query(self, node: Node, operator: OperatorType, entering: Schema | None, error: PipelineError) -> bool:
        """Whether SQL outside the subset is no mistake, since Spark can run it."""
        return error.code == "unsupported" and node.host != "tasks" and operator.native(entering) is not None

    def _faults(self, node: Node, operator: OperatorType) -> None:
        for fault in operator.faults():
            at = self._place(node, *fault.path)
            if fault.offset is not None:
                at = self._at_character(node, fault.path, fault.offset)
            near = suggest(fault.meant, self._tables(node.id), "ids") if fault.meant else ""
            self._found(fault.code, node, fault.message, near or fault.hint, at)

    def _tables(self, reader: str) -> list[str]:
        """What SQL could read."""
        givers = [named.id for named in self.loaded.spec.givers if named.id != reader]
        return [*givers, *(edge.table for edge in self.edges if edge.output)]

    def _source(self, node: Node, source: SourceOptions) -> Schema | None:
        watermark: Watermark | None = getattr(source, "watermark", None)
        if watermark:
            self._is_time(node, ("watermark", "column"), watermark.column, source.output())
        if not isinstance(source, KafkaSource):
            return source.output()
        declared = None if source.infers else source.schema_
        self._exist(node, [(("key", index), name) for index, name in enumerate(source.key)], declared)
        return source.output() if self._has_codec(node, source.format, declared) else declared

    def _is_time(self, node: Node, path: Path, column: str, schema: Schema | None) -> None:
        self._exist(node, [(path, column)], schema)
        kind = schema.type_of(column) if schema else UNKNOWN
        if kind not in ("timestamp", UNKNOWN):
            message = f"the column '{column}' is a {kind}, not a timestamp"
            self._found("type", node, message, "name a column of event time", self._place(node, *path))

    def _sink(self, node: Node, sink: SinkOptions, entering: Schema | None) -> None:
        self._exist(node, sink.columns(), entering)
        if sink.in_query and entering:
            for message, hint in sink.unfit(entering):
                self._found("format", node, message, hint, self._place(node, "format"))
        # Columns may be unknown only because of what was found before.
        if isinstance(sink, KafkaSink) and sink.format and (entering or not self.findings):
            self._has_codec(node, sink.format, entering)

    def _has_codec(self, node: Node, format: FormatOptions, schema: Schema | None) -> bool:
        try:
            codec(format, schema)
        except WhorlError as error:
            self._wrong(node, error, self._place(node, "format"))
            return False
        return True

    def _exist(self, node: Node, columns: Iterable[tuple[Path, str]], entering: Schema | None) -> None:
        for path, name in columns:
            if entering is None or name in entering or name.split(".")[0] in entering:
                continue
            hint = suggest(name, entering.names, "columns") or "no columns arrive here"
            self._found("column", node, f"the column '{name}' does not exist", hint, self._named(node, path, name))

    def _compile(self, node: Node, operator: OperatorType, entering: Schema | None) -> str:
        """Finds what is wrong with its expressions; gives the reason if they are right but for Spark alone."""
        reasons = []
        for path, sql in operator.expressions():
            try:
                compile_expression(sql, entering)
            except PipelineError as error:
                if not looks_at_one_row(sql) or not self._runs_in_query(node, operator, entering, error):
                    self._wrong(node, error, self._inside(node, path, sql, error.message))
                    continue
                reasons.append(f"the expression '{sql}' is outside the subset that tasks compile")
                for each in replays(sql):
                    at = self._at_character(node, path, each.offset)
                    self._found("replay", node, each.message, each.hint, at)
        return reasons[0] if reasons else ""

    def _import(self, node: Node, operator: OperatorType) -> None:
        for path, import_path in operator.import_paths():
            try:
                load(import_path)
            except PipelineError as error:
                self._wrong(node, error, self._place(node, *path))

    def _named_outputs(self, node: Node) -> None:
        outputs = node.what.outputs() if isinstance(node.what, OperatorType) else ()
        for edge in self._out_of.get(node.id, ()):
            if edge.output in (outputs or ("",)) or _own_loop(node, edge):
                continue
            if edge.output:
                message = f"'{node.id}' has no output '{edge.output}'"
                hint = suggest(edge.output, outputs, "outputs") or f"read '{node.id}' itself"
            else:
                message = f"'{edge.target}' does not say which output of '{node.id}' it reads"
                hint = f"write one of: {', '.join(f'{node.id}.{output}' for output in outputs)}"
            self.findings.append(Finding("branch-output", message, hint, edge.at))

    def _place(self, node: Node, *path: str | int) -> Location | None:
        return self.loaded.place(self.specs[node.id], *path)

    def _named(self, node: Node, path: Path, column: str) -> Location | None:
        """Where a column is named: by a value, or by the key of one."""
        whole = (*self.specs[node.id].path, *path)
        written = self.loaded.document.tree.find(whole)
        by_key = path[-1] == column and written is not None and written.value != column
        return self.loaded.document.key_at(whole) if by_key else self._place(node, *path)

    def _inside(self, node: Node, path: Path, sql: str, message: str) -> Location | None:
        return self._at_character(node, path, offset_of(sql, message))

    def _at_character(self, node: Node, path: Path, offset: int) -> Location | None:
        spec = self.specs[node.id]
        tree = self.loaded.document.tree
        if not spec.path or tree.find((*spec.path, *path)) is None:
            return self._place(node, *path)
        return tree.inside((*spec.path, *path), offset)

    def _about(self, node: Node, operator: OperatorType, error: PipelineError) -> Location | None:
        """The option that a message quotes, else the node."""
        quoted = [path for path, text in (*operator.expressions(), *operator.columns()) if f"'{text}'" in error.message]
        return self._place(node, *quoted[0]) if quoted else node.at

    def _wrong(self, node: Node, error: WhorlError, at: Location | None) -> None:
        hint = error.hint or (f"see {error.where}" if error.where else _REMEDIES.get(error.code, _REMEDY))
        self._found(error.code, node, error.message, hint, at)

    def _found(self, code: str, node: Node, message: str, hint: str, at: Location | None) -> None:
        self.blamed.add(node.id)
        self.findings.append(Finding(code, f"{node.kind.value} '{node.id}': {message}", hint, at))


def _own_loop(node: Node, edge: Edge) -> bool:
    return isinstance(node.what, OperatorType) and node.what.loops and edge.output == LOOP


def offset_of(sql: str, message: str) -> int:
    """Which character of an expression a message is about: where its place ends, or the first of its words it quotes."""
    rest = message.replace(f"'{sql}'", "")
    words: list[str] = _QUOTED.findall(rest)
    place = _PLACE.search(rest)
    if place:
        return max(int(place[1]) - len(words[-1] if words else " "), 0)
    found = (re.search(rf"(?<!\w){re.escape(word)}", sql) for word in words)
    return next((match.start() for match in found if match), 0)
