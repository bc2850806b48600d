"""From a file, or a Python module, to a typed pipeline with its settings. Of a file nothing of the user's is run or imported.

Nothing raises for what the user wrote: all that is wrong is in `findings`, and what is right is loaded all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath

from whorl.config.document import Document, read
from whorl.config.full import read_full
from whorl.config.layers import PROFILE_VARIABLE, find_config, framework_layers, set_layer, unknown_profile
from whorl.config.modules import is_module, read_module
from whorl.config.properties import read_settings
from whorl.config.settings import Origin, Settings, effective
from whorl.config.short import SHORT_KEYS, read_short
from whorl.config.spec import Named, PipelineSpec
from whorl.config.tree import Key, Tree
from whorl.errors import Finding, Location


@dataclass(frozen=True)
class Loaded:
    """A pipeline file as far as it could be read."""

    spec: PipelineSpec
    settings: Settings
    origins: tuple[Origin, ...]
    document: Document
    findings: tuple[Finding, ...]

    @property
    def readable(self) -> bool:
        """Whether all files could be read; if not, what seems to be missing may be in one of them."""
        return not any(finding.code in ("file", "include", "yaml") for finding in self.findings)

    def place(self, of: Named, *path: Key) -> Location | None:
        """Where a value inside a source, operator or sink stands."""
        return self.document.at((*of.path, *path)) if of.path else of.at


def load(
    path: str | os.PathLike[str],
    *,
    profile: str | None = None,
    overrides: Iterable[str] = (),
    config: str | os.PathLike[str] | None = None,
    variables: Mapping[str, str] = os.environ,
    name: str | None = None,
) -> Loaded:
    """Read a pipeline of either form; `overrides` are assignments such as `restart.attempts=3`, `name` another name for it."""
    given = os.fspath(path)
    document = read_module(given) if is_module(given) else read(path, variables)
    return load_document(document, profile=profile, overrides=overrides, config=config, variables=variables, name=name)


def load_document(
    document: Document,
    *,
    profile: str | None = None,
    overrides: Iterable[str] = (),
    config: str | os.PathLike[str] | None = None,
    variables: Mapping[str, str] = os.environ,
    name: str | None = None,
) -> Loaded:
    """As `load`, of what was read or built already."""
    short = isinstance(document.tree.value, list)
    default = _default_name(document.file)
    spec, own, findings = read_short(document, default, variables) if short else read_full(document, default)
    spec = spec.model_copy(update={"name": name}) if name else spec
    file = os.fspath(config) if config is not None else find_config(document.file)
    framework, unsound = framework_of(file, document.file, profile or variables.get(PROFILE_VARIABLE), variables)
    given = [set_layer(assignment, variables) for assignment in overrides]
    result = effective([*framework, own, *(layer.tree for layer in given)], SHORT_KEYS if short else ())
    found = [*document.findings, *findings, *unsound, *(f for layer in given for f in layer.findings), *result.findings]
    return Loaded(spec, result.settings, tuple(result.origins), document, tuple(found))


def framework_of(
    file: str | None, asking: str, profile: str | None, variables: Mapping[str, str]
) -> tuple[list[Tree], list[Finding]]:
    """The layers of a whorl.yaml, and what is wrong in it; without one, a profile is what is wrong, where `asking` stands."""
    if file is None:
        return [], [unknown_profile(profile, "whorl.yaml", {}, Location(asking))] if profile else []
    document = read_settings(file, variables)
    layers, findings = framework_layers(document, profile)
    return layers, [*document.findings, *findings]


def _default_name(file: str) -> str:
    """The file's name, or its folder's where the file is just called `pipeline`."""
    path = FilePath(file).absolute()
    return path.parent.name if path.stem == "pipeline" and path.parent.name else path.stem
