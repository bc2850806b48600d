"""Python values as a pipeline file would have them: every one knows the line of code that gave it.

User code is named by its import path, since executors and later runs import it anew: what has no such path is refused with the reason.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path, PurePath
from types import FunctionType
from typing import Any

from whorl.config.tree import Key, Tree
from whorl.errors import Location, PipelineError
from whorl.units import format_duration

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SCALARS = (str, int, float, bool, type(None))


def caller() -> Location:
    """The innermost line of code that is not Whorl's own."""
    frame = inspect.currentframe()
    while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(_OWN + os.sep):
        frame = frame.f_back
    return Location(_short(frame.f_code.co_filename), frame.f_lineno) if frame else Location("python")


def tree_of(value: Any, at: Location) -> Tree:
    """Raises PipelineError for what a pipeline file could not say."""
    if isinstance(value, Mapping):
        children: dict[Key, Tree] = {_key(key, at): tree_of(each, at) for key, each in value.items()}
        return Tree(children, at, dict.fromkeys(children, at))
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return Tree([tree_of(each, at) for each in items], at)
    return Tree(_scalar(value, at), at)


def import_path(code: Any, at: Location) -> str:
    """`module:name`, by which any process finds this function or class again."""
    name, module = code.__qualname__, code.__module__
    if "<lambda>" in name:
        hint = "write `def name(row): ...` in a module, and give that"
        raise _refused("a lambda has no name by which tasks could import it", hint, at)
    if "<locals>" in name:
        short = name.rpartition(".")[2]
        raise _refused(f"'{short}' is made inside a function, so no import finds it", "define it in a module", at)
    return f"{_module(name, module, at)}:{name}"


@dataclass(frozen=True)
class Home:
    """Where the code of a module lies: its file, and the folder from which its name is imported."""

    file: str
    folder: str


def home_of(module: str) -> Home:
    file = getattr(sys.modules.get(module), "__file__", None)
    if not file:
        return Home(os.path.join(os.getcwd(), "notebook.py"), os.getcwd())
    depth = 0 if module == "__main__" else module.count(".") + (os.path.basename(file) == "__init__.py")
    return Home(_short(file), str(Path(os.path.abspath(file)).parents[depth]))


def _module(name: str, module: str, at: Location) -> str:
    if module != "__main__":
        return module
    file = getattr(sys.modules["__main__"], "__file__", None)
    if not file:
        raise _refused(f"'{name}' is defined in a notebook, which tasks cannot import", "write it to a module", at)
    return PurePath(file).stem


def _scalar(value: Any, at: Location) -> Any:
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, timedelta):
        return format_duration(value.total_seconds())
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, type | FunctionType):
        return import_path(value, at)
    hint = "give text, numbers, lists, maps, or a function or class of a module"
    raise _refused(f"{value!r} is nothing that a pipeline could say", hint, at)


def _key(key: Any, at: Location) -> Key:
    if isinstance(key, str | int):
        return key
    raise _refused(f"the key {key!r} is neither text nor a number", "give another", at)


def _refused(what: str, hint: str, at: Location) -> PipelineError:
    return PipelineError(what, hint=hint, where=str(at), code="import" if "import" in what else "value")


def _short(file: str) -> str:
    """Relative where it lies below the working directory, as a user would type it."""
    near = os.path.relpath(file) if os.path.isabs(file) else file
    return file if near.startswith("..") else near
