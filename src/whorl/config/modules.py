"""Pipelines that Python modules hold: `module:name`, `file.py:name`, or `file.py` where it holds only one.

A module's code runs when its pipeline is loaded: that is what it is for.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

from whorl.config.document import Document
from whorl.config.tree import empty
from whorl.errors import Finding, Location, PipelineError
from whorl.operators.loading import load

_NAMED = re.compile(r"(?P<module>[A-Za-z_][\w.]*|.+\.py)(?::(?P<name>[A-Za-z_][\w.]*))?$")


@runtime_checkable
class HoldsPipeline(Protocol):
    """What `whorl.Pipeline` is to the loader."""

    def document(self) -> Document: ...


def is_module(path: str) -> bool:
    """Whether this names a module's pipeline rather than a file of YAML."""
    named = _NAMED.match(path)
    return bool(named) and (path.endswith(".py") or (":" in path and not os.path.exists(path)))


def read_module(path: str) -> Document:
    """Its document; what is wrong with the module itself is found, not raised."""
    try:
        return _holder(path).document()
    except PipelineError as error:
        at = Location(path)
        return Document(path, empty(path), (Finding("file", error.message, error.hint, at),))


def _holder(path: str) -> HoldsPipeline:
    named = _NAMED.match(path)
    assert named is not None
    file, name = named["module"], named["name"]
    folder, module = _place(file)
    with _seen(folder):
        _forget(module, folder)
        found = load(f"{module}:{name}") if name else _only(load_module(module), path)
    if not isinstance(found, HoldsPipeline):
        what = f"'{path}' is a {type(found).__name__}, not a whorl.Pipeline"
        raise PipelineError(what, hint="name a Pipeline of that module")
    return found


def load_module(name: str) -> ModuleType:
    load(f"{name}:__name__")  # tells why, where it does not load
    return sys.modules[name]


def _only(module: ModuleType, path: str) -> Any:
    held = [name for name, value in vars(module).items() if isinstance(value, HoldsPipeline) and not _is_class(value)]
    if len(held) == 1:
        return getattr(module, held[0])
    known = f"it holds {', '.join(held)}" if held else "it holds none"
    raise PipelineError(f"'{path}' does not say which pipeline is meant: {known}", hint=f"write {path}:NAME")


def _is_class(value: object) -> bool:
    return isinstance(value, type)


def _place(module: str) -> tuple[str, str]:
    if not module.endswith(".py"):
        return os.getcwd(), module
    file = Path(module).absolute()
    if not file.is_file():
        raise PipelineError(f"there is no file '{module}'", hint="name a Python file, or a module")
    return str(file.parent), file.stem


@contextmanager
def _seen(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(folder)


def _forget(module: str, folder: str) -> None:
    """What was loaded from there before may have changed since, or is another folder's module of that name."""
    known = sys.modules.get(module)
    file = getattr(known, "__file__", None)
    own = Path(folder, *module.split("."))
    if file and (own.with_suffix(".py").is_file() or own.is_dir()):
        del sys.modules[module]
