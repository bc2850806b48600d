"""YAML files as trees in which every key and value knows its file, line and column.

Nothing here raises for bad input: it is found. Scalars are typed as YAML 1.2 does (`no`, `on`, `12:30` and dates stay
text; JSON is YAML), after variables are filled in, so that `${N:-4}` is a number. `include:` names files, relative to
the including one, whose maps lie under its own and whose operators come before its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import yaml

from whorl.config.tree import Key, Path, Tree, empty, merge
from whorl.config.variables import substitute
from whorl.errors import Finding, Location

MOST_VALUES = 50_000
DEEPEST = 100
APPENDED: Path = ("operators",)
_NULL = re.compile(r"(null|Null|NULL|~|)$")
_BOOL = re.compile(r"(true|True|TRUE|false|False|FALSE)$")
_INT = re.compile(r"[-+]?[0-9][0-9_]*$")
_BASED = re.compile(r"0(x[0-9a-fA-F]+|o[0-7]+)$")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_SPECIAL = re.compile(r"([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$")


@dataclass(frozen=True, slots=True)
class Document:
    """A file with all that it includes."""

    file: str
    tree: Tree
    findings: tuple[Finding, ...] = ()
    folder: str = ""
    """Where user code is found; without it beside the file."""

    @property
    def data(self) -> Any:
        return self.tree.plain()

    def at(self, path: Path) -> Location:
        """Where the value at this path stands, or the innermost one around it that is written."""
        return self.tree.value_at(path)

    def key_at(self, path: Path) -> Location:
        return self.tree.key_at(path)


def read(file: str | os.PathLike[str], variables: Mapping[str, str] = os.environ) -> Document:
    reader = _Reader(variables)
    name = os.fspath(file)
    tree = reader.file(name, (), None)
    return Document(name, tree, tuple(reader.findings))


def parse(text: str, file: str, variables: Mapping[str, str]) -> Document:
    """A text that is in no file; `include` means nothing in it."""
    reader = _Reader(variables)
    tree = reader.text(text, file)
    return Document(file, tree, tuple(reader.findings))


@dataclass
class _Reader:
    variables: Mapping[str, str]
    findings: list[Finding] = field(default_factory=list)

    def file(self, file: str, including: tuple[str, ...], at: Location | None) -> Tree:
        """The file's tree; `including` are the files that led here, `at` is the place that names it."""
        code = "include" if at else "file"
        real = os.path.realpath(file)
        if real in including:
            way = " -> ".join(os.path.basename(name) for name in (*including[including.index(real) :], real))
            self._found("include", f"'{file}' includes itself: {way}", at or Location(file), "take one include away")
            return empty(file)
        try:
            text = FilePath(file).read_text("utf-8-sig")
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            self._found(code, f"'{file}' cannot be read: {why}", at or Location(file), "name a readable file")
            return empty(file)
        return self._with_includes(self.text(text, file), (*including, real))

    def text(self, text: str, file: str) -> Tree:
        try:
            root = yaml.CSafeLoader(text).get_single_node()
        except (yaml.YAMLError, RecursionError) as error:
            message, at = _syntax(error, text, file)
            self._found("yaml", f"not valid YAML: {message}", at, _syntax_hint(text, at))
            return empty(file)
        if root is None:
            return Tree(None, Location(file))
        return _Builder(self, file, text.split("\n")).tree(root, ())

    def _with_includes(self, tree: Tree, including: tuple[str, ...]) -> Tree:
        named = tree.child("include")
        if named is None:
            return tree
        merged = empty(tree.at.file)
        for item in named.value if isinstance(named.value, list) else [named]:
            included = self._include(item, including)
            merged = merge(merged, included, APPENDED) if included else merged
        return merge(merged, tree.without("include"), APPENDED)

    def _include(self, item: Tree, including: tuple[str, ...]) -> Tree | None:
        if not isinstance(item.value, str):
            self._found("include", f"{item.plain()!r} is not a file", item.at, "write a path relative to this file")
            return None
        file = os.path.normpath(os.path.join(os.path.dirname(item.at.file), item.value))
        tree = self.file(file, including, item.at)
        if not isinstance(tree.value, dict):
            hint = "an included file has the keys of a pipeline: sources, operators, sinks, settings"
            self._found("include", f"'{file}' holds no map", item.at, hint)
            return None
        return tree

    def _found(self, code: str, message: str, at: Location, hint: str) -> None:
        self.findings.append(Finding(code, message, hint, at))


@dataclass
class _Builder:
    """Makes the tree of one file from YAML's own nodes."""

    reader: _Reader
    file: str
    lines: list[str]
    count: int = 0

    def tree(self, node: yaml.Node, above: tuple[yaml.Node, ...]) -> Tree:
        at = self._at(node.start_mark)
        self.count += 1
        if any(node is other for other in above) or self.count == MOST_VALUES:
            self._found("yaml", "an alias contains itself or the file unfolds to too many values", at, "write it out")
        if any(node is other for other in above) or self.count >= MOST_VALUES:
            return Tree(None, at)
        if len(above) == DEEPEST:
            self._found("yaml", "it is nested too deeply", at, f"{DEEPEST} levels are enough for any pipeline")
            return Tree(None, at)
        if not node.tag.startswith("tag:yaml.org,2002:") or self._char(node.start_mark) == "!":
            self._found("yaml", f"the tag '{node.tag}' means nothing here", at, "remove it; quotes make text")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, at)
        if isinstance(node, yaml.SequenceNode):
            return Tree([self.tree(item, (*above, node)) for item in node.value], at)
        return self._map(node, at, above)

    def _map(self, node: yaml.Node, at: Location, above: tuple[yaml.Node, ...]) -> Tree:
        values: dict[Key, Tree] = {}
        keys: dict[Key, Location] = {}
        merged = empty(self.file)
        for key_node, value_node in node.value:
            value = self.tree(value_node, (*above, node))
            key_at = self._at(key_node.start_mark)
            key = _key(key_node)
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged = self._merged_in(merged, value, key_at)
            elif key is None:
                self._found("yaml", "a key must be a word or number", key_at, "write `key: value`")
            elif key in values:
                hint = f"it stands first in line {keys[key].line}; keep one"
                self._found("duplicate-key", f"the key '{key}' stands twice", key_at, hint)
            else:
                values[key], keys[key] = value, key_at
        return Tree({**merged.value, **values}, at, {**merged.keys, **keys})

    def _merged_in(self, merged: Tree, value: Tree, at: Location) -> Tree:
        for item in value.value if isinstance(value.value, list) else [value]:
            if not isinstance(item.value, dict):
                self._found("yaml", "`<<` takes a map or a list of maps", at, "give it an alias of a map")
                continue
            merged = Tree({**item.value, **merged.value}, at, {**item.keys, **merged.keys})
        return merged

    def _scalar(self, node: yaml.ScalarNode, at: Location) -> Tree:
        text, unresolved = substitute(node.value, self.reader.variables)
        for name in unresolved:
            self._unresolved(name, at)
        value = text if node.style else scalar(text)
        return Tree(value, at, lines=tuple(self._lines(node)) if text == node.value else ())

    def _unresolved(self, name: str, at: Location) -> None:
        if name:
            hint = f"set it, or give a default: ${{{name}:-...}}"
            self._found("variable", f"the environment variable '{name}' is not set", at, hint)
        else:
            self._found("variable", "'${' is not followed by NAME} or NAME:-default}", at, "write $${ for a plain ${")

    def _lines(self, node: yaml.ScalarNode) -> list[tuple[int, Location]]:
        """Which characters of a scalar begin a line of the file; none if it does not read as it is spelt."""
        found: list[tuple[int, Location]] = []
        number, column = node.start_mark.line, node.start_mark.column + (node.style in ("'", '"'))
        if node.style in ("|", ">"):
            number, column = number + 1, 0
        done = 0
        while (left := node.value[done:].strip()) and number < len(self.lines):
            written = self.lines[number][column:].strip()
            same = written if left.startswith(written) else left if written.startswith(left) else None
            if same is None:
                return []
            if same:
                done = node.value.index(same, done)
                indent = len(self.lines[number][column:]) - len(self.lines[number][column:].lstrip())
                found.append((done, Location(self.file, number + 1, column + indent + 1)))
                done += len(same)
            number, column = number + 1, 0
        return found

    def _char(self, mark: yaml.Mark) -> str:
        line = self.lines[mark.line] if mark.line < len(self.lines) else ""
        return line[mark.column : mark.column + 1]

    def _at(self, mark: yaml.Mark) -> Location:
        return Location(self.file, mark.line + 1, mark.column + 1)

    def _found(self, code: str, message: str, at: Location, hint: str) -> None:
        self.reader.findings.append(Finding(code, message, hint, at))


def scalar(text: str) -> Any:
    """What an unquoted word stands for: YAML 1.2's core types, and `_` between the digits of a number."""
    if _NULL.match(text):
        return None
    if _BOOL.match(text):
        return text[0] in "tT"
    try:
        if _INT.match(text):
            return int(text.rstrip("_"))
        if _BASED.match(text):
            return int(text, 0)
        if _FLOAT.match(text):
            return float(text)
    except ValueError:
        return text
    return float(text.replace(".", "", 1)) if _SPECIAL.match(text) else text


def _key(node: yaml.Node) -> Key | None:
    if not isinstance(node, yaml.ScalarNode):
        return None
    typed = node.value if node.style else scalar(node.value)
    return typed if type(typed) is int else str(node.value)


def _syntax(error: Exception, text: str, file: str) -> tuple[str, Location]:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        at = Location(file, mark.line + 1, mark.column + 1) if mark else Location(file)
        return error.problem or error.context or "it does not parse", at
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position] if isinstance(error.position, int) else ""
        at = Location(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        return f"{error.reason}", at
    return "it is nested too deeply", Location(file)


def _syntax_hint(text: str, at: Location) -> str:
    if "${" in "".join(text.split("\n")[at.line - 1 : at.line]):
        return "inside {...} and [...] put quotes around ${...}"
    return "mind indentation, quotes and colons"
