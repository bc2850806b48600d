"""A pipeline built in Python: the same tree, loader, findings and spec as of a YAML file. Building it runs nothing.

    pipeline = (
        Pipeline("payments")
        .source("payments", topic="payments", key="account", schema={"account": "string", "amount": "double"})
        .filter("large", where="amount > 1000")
        .sink("flagged", topic="flagged")
    )

`whorl plan module:pipeline` finds it by its name; `pipeline.run()` runs it here, `pipeline.start()` beside what else a notebook does.
"""

from __future__ import annotations

import html
import inspect
import os
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from whorl.config.document import Document, read
from whorl.config.loader import Loaded, load_document
from whorl.config.modules import is_module, read_module
from whorl.config.objects import caller, home_of, tree_of
from whorl.config.tree import merge
from whorl.config.writing import to_yaml
from whorl.errors import CheckFailed, Finding, UsageError
from whorl.flow.check import checked, examine
from whorl.pipelines.methods import Methods
from whorl.plan import planner
from whorl.plan.draw import draw
from whorl.plan.explain import explain
from whorl.plan.picture import picture
from whorl.plan.plan import Plan
from whorl.plan.structured import as_mermaid

if TYPE_CHECKING:
    from whorl.pipelines.running import Running

_ORDER = ("name", "sources", "tables", "operators", "sinks", "settings")


class Pipeline(Methods):
    def __init__(self, name: str, **settings: Any) -> None:
        super().__init__(tree_of({"name": name}, caller()))
        home = home_of(_calling_module())
        self._file, self._folder = home.file, home.folder
        if settings:
            self.set(**settings)

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Pipeline:
        """Of a YAML file in full form, or of a module, to be looked at or gone on with; raises CheckFailed where it cannot be read."""
        path = os.fspath(file)
        document = read_module(path) if is_module(path) else read(path)
        if document.findings:
            raise CheckFailed(document.findings)
        if not isinstance(document.tree.value, dict):
            hint = "write it in full: sources, operators, sinks"
            raise UsageError(f"'{file}' is a pipeline in the short form", hint=hint)
        made = cls(load_document(document).spec.name)
        made._root = merge(made._root, document.tree)
        made._file, made._folder = document.file, document.folder
        return made

    @property
    def name(self) -> str:
        return str(self._root.value["name"].value)

    def document(self) -> Document:
        return Document(self._file, self._root, (), self._folder)

    def loaded(self, *, profile: str | None = None, overrides: Iterable[str] = ()) -> Loaded:
        """With the settings that hold here, as `whorl` would load it."""
        return load_document(self.document(), profile=profile, overrides=overrides)

    def check(self) -> list[Finding]:
        """All that is wrong with it, each with the line of code that said so."""
        loaded = self.loaded()
        graph, found = examine(loaded)
        return found or planner.examine(graph, loaded.settings)[1]

    def plan(self) -> Plan:
        """Raises CheckFailed with all that is wrong."""
        loaded = self.loaded()
        return planner.make_plan(checked(loaded), loaded.settings)

    def explain(self) -> str:
        """As `whorl plan` shows it."""
        return explain(self.plan())

    def to_yaml(self) -> str:
        """The file that says the same."""
        data = self._root.plain()
        known = {part: data[part] for part in _ORDER if data.get(part)}
        return to_yaml({**known, **{key: value for key, value in data.items() if key not in known and value}})

    def mermaid(self) -> str:
        return as_mermaid(self.plan())

    def start(self, **options: bool) -> Running:
        """Runs it in the background of this process; `options` are those of `whorl run`: until_caught_up, fresh, …"""
        running: Running = import_module("whorl.pipelines.running").start(self.loaded(), **options)
        return running

    def run(self, **options: bool) -> Running:
        """Runs it to its end, or to Ctrl-C, and shows how it goes; raises what made it fail."""
        return self.start(**options).shown()

    def __repr__(self) -> str:
        return f"<whorl.Pipeline '{self.name}': {', '.join(self._counts()) or 'empty'}>"

    def _counts(self) -> list[str]:
        parts = ((part, self._root.child(part)) for part in ("sources", "operators", "sinks"))
        return [f"{len(tree.value)} {part}" for part, tree in parts if tree]

    def _repr_html_(self) -> str:
        """What a notebook shows: its graph, or all that is wrong with it."""
        try:
            shown = draw(*picture(self.plan()))
        except CheckFailed as error:
            shown = f"{self!r}\n{error}"
        return f'<pre style="line-height:1.2;overflow-x:auto">{html.escape(shown)}</pre>'


def _calling_module() -> str:
    """The module of the innermost frame that is not Whorl's own."""
    frame = inspect.currentframe()
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "whorl":
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "__main__")) if frame else "__main__"
