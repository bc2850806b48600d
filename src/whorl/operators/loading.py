"""User code by import path: `module.name` or `module:name`."""

from __future__ import annotations

import difflib
import importlib
from types import ModuleType
from typing import Any

from whorl.errors import PipelineError
from whorl.operators.places import user_place


def load(import_path: str) -> Any:
    """What the path names. Raises PipelineError with code `import` and the reason."""
    module_name, attributes = _split(import_path)
    found: Any = _module(import_path, module_name)
    for name in attributes:
        if not hasattr(found, name):
            raise _missing(import_path, found, name)
        found = getattr(found, name)
    return found


def _split(path: str) -> tuple[str, list[str]]:
    module, separator, names = path.partition(":") if ":" in path else path.rpartition(".")
    if not module or not names or not separator:
        raise PipelineError(f"'{path}' is not an import path", code="import", hint="write module.name or module:name")
    return module, names.split(".")


def _module(path: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise _failed(path, name, error) from error
        hint = f"put {error.name.split('.')[0]}.py beside the pipeline file, or install it"
        raise PipelineError(
            f"'{path}' does not load: there is no module '{error.name}'", code="import", hint=hint
        ) from None
    except Exception as error:
        raise _failed(path, name, error) from error


def _failed(path: str, module: str, error: Exception) -> PipelineError:
    reason = f"{type(error).__name__}: {error}"
    return PipelineError(
        f"'{path}' does not load: module '{module}' raised {reason}", code="import", where=user_place(error)
    )


def _missing(path: str, owner: Any, name: str) -> PipelineError:
    public = [each for each in vars(owner) if not each.startswith("_")] if hasattr(owner, "__dict__") else []
    near = difflib.get_close_matches(name, public, 1)
    hint = f"did you mean '{near[0]}'?" if near else ""
    return PipelineError(f"'{path}' does not load: '{owner.__name__}' has no '{name}'", code="import", hint=hint)
