"""The full form of a pipeline file: a map of sources, operators, sinks and settings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field

from whorl.config.codes import suggest
from whorl.config.document import Document
from whorl.config.sequence import in_sequence
from whorl.config.spec import SINKS, SOURCES, OperatorSpec, PipelineSpec, SinkSpec, SourceSpec
from whorl.config.tree import Path, Tree, empty
from whorl.config.validation import Problem, right_part, validate
from whorl.errors import Finding, Location
from whorl.operators.operator import Options

LOOP_KEYS = ("max_rounds", "combine", "supersteps", "on_runaway")
OPERATOR_KEYS = ("id", "type", "from", "to", "on_error", "isolate", "host", "publish", *LOOP_KEYS)
Model = TypeVar("Model", bound=BaseModel)


def _name(value: Any) -> Any:
    if value == "":
        raise Problem("a name must not be empty", hint="leave it out to take the file's")
    return str(value) if type(value) is int else value


Name = Annotated[str, BeforeValidator(_name)]


class _Top(Options):
    """The keys of a pipeline file."""

    name: Name | None = None
    sources: dict[str | int, Any] | None = None
    tables: dict[str | int, Any] | None = None
    operators: list[Any] | None = None
    sinks: dict[str | int, Any] | None = None
    settings: dict[str | int, Any] | None = None
    include: Any = Field(default=None, description="files whose content lies under this one's")


def read_full(document: Document, default_name: str) -> tuple[PipelineSpec, Tree, list[Finding]]:
    """The spec, its layer of settings, and what is wrong."""
    reader = Reader(document.tree)
    root = reader.top()
    name = root.child("name")
    settings = root.child("settings")
    spec = PipelineSpec(
        name=str(name.value) if name and name.value is not None else default_name,
        sources=(*reader.sources(root), *reader.tables(root)),
        operators=tuple(reader.operators(root, ("operators",))),
        sinks=tuple(reader.sinks(root)),
        settings=settings.plain() if settings and settings.value else {},
        file=document.file,
        folder=document.folder,
    )
    spec, unclear = in_sequence(spec)
    layer = settings if settings and settings.value else empty(document.file)
    return spec, layer, [*reader.findings, *duplicates(spec), *unclear]


@dataclass
class Reader:
    """Reads the parts of one file; what is wrong is left out and noted."""

    tree: Tree
    findings: list[Finding] = field(default_factory=list)

    def top(self) -> Tree:
        root = self.tree
        if not isinstance(root.value, dict):
            hint = "a pipeline is a map with sources, operators and sinks, or a list of {id, type, to}"
            self.findings.append(Finding("value", "the file holds no pipeline", hint, root.at))
            return Tree({}, root.at)
        return self._right_part(_Top, root, root.at, "the pipeline")

    def sources(self, root: Tree) -> list[SourceSpec]:
        return [
            SourceSpec(**self._end("source", SOURCES, ("sources", id), tree, "to"))
            for id, tree in _entries(root.child("sources"))
        ]

    def tables(self, root: Tree) -> list[SourceSpec]:
        """Topics that are no streams: sources all the same, so that what reads one says so by `from`."""
        return [
            SourceSpec(**self._end("table", SOURCES, ("tables", id), _as_table(tree), "to"))
            for id, tree in _entries(root.child("tables"))
        ]

    def sinks(self, root: Tree) -> list[SinkSpec]:
        return [
            SinkSpec(**self._end("sink", SINKS, ("sinks", id), tree, "from"))
            for id, tree in _entries(root.child("sinks"))
        ]

    def operators(self, root: Tree, path: Path) -> list[OperatorSpec]:
        listed = root.find(path)
        items = listed.value if listed and isinstance(listed.value, list) else []
        return [self._operator(item, (*path, index), f"operator {index + 1}") for index, item in enumerate(items)]

    def _operator(self, tree: Tree, path: Path, number: str) -> OperatorSpec:
        unnamed: dict[str, Any] = {"id": number, "type": "", "path": path, "at": tree.at}
        if not isinstance(tree.value, dict):
            hint = "write {id: ..., type: ...}"
            self.findings.append(Finding("value", f"{number} is not a map", hint, tree.at))
            return OperatorSpec(**unnamed)
        id = tree.child("id")
        what = f"operator '{id.value}'" if id else number
        right = self._right_part(OperatorSpec, tree.only(*OPERATOR_KEYS), tree.at, what)
        options = tree.without(*OPERATOR_KEYS).plain()
        return OperatorSpec.model_validate({**unnamed, **right.plain(), "options": options})

    def _end(self, what: str, types: dict[str, Any], path: Path, tree: Tree, links: str) -> dict[str, Any]:
        """The fields of a source's or sink's spec."""
        id, at = str(path[-1]), self.tree.key_at(path)
        fields: dict[str, Any] = {"id": id, "type": "", "path": path, "at": at}
        if not isinstance(tree.value, dict):
            self.findings.append(
                Finding("value", f"{what} '{id}' is not a map", "write {type: kafka, topic: ...}", tree.at)
            )
            return fields
        model = SourceSpec if links == "to" else SinkSpec
        named = replace(tree, value={**tree.only("type", links).value, "id": Tree(id, at)})
        right = self._right_part(model, named, at, f"{what} '{id}'").plain()
        options = self._typed(what, types, right.get("type"), tree.without(links), at, id)
        return {**fields, **right, "id": right.get("id", id.replace(".", "_")), "options": options}

    def _typed(self, what: str, types: dict[str, Any], type: str | None, tree: Tree, at: Location, id: str) -> Any:
        if type is None:
            return None
        if type not in types:
            hint = suggest(type, types, "known types")
            self.findings.append(
                Finding("unknown-type", f"{what} '{id}' has no known type: '{type}'", hint, tree.value_at(("type",)))
            )
            return None
        other = "from" if what == "sink" else "to"
        options, findings = validate(types[type], tree, at, f"{what} '{id}'", also=(other,))
        self.findings += findings
        return options

    def _right_part(self, model: type[Model], tree: Tree, at: Location, what: str) -> Tree:
        """The keys whose values fit the model; the others are noted."""
        self.findings += validate(model, tree, at, what)[1]
        return right_part(model, tree)


def duplicates(spec: PipelineSpec) -> list[Finding]:
    seen: dict[str, Location | None] = {}
    findings = []
    for named in (*spec.sources, *spec.operators, *spec.sinks):
        if named.id in seen:
            first = seen[named.id]
            hint = f"it is first in line {first.line} of '{first.file}'; rename one" if first else "rename one"
            findings.append(Finding("duplicate-id", f"the id '{named.id}' is taken", hint, named.at))
        seen.setdefault(named.id, named.at)
    return findings


def _as_table(tree: Tree) -> Tree:
    if not isinstance(tree.value, dict):
        return tree
    return replace(tree, value={"type": Tree("kafka", tree.at), **tree.value, "table": Tree(True, tree.at)})


def _entries(tree: Tree | None) -> list[tuple[Any, Tree]]:
    return list(tree.value.items()) if tree and isinstance(tree.value, dict) else []
