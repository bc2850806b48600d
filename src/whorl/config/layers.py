"""Where settings are written: whorl.yaml with its profiles, and `--set`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path as FilePath

from whorl.config.codes import suggest
from whorl.config.document import Document, parse
from whorl.config.settings import SET, Settings
from whorl.config.tree import Tree
from whorl.errors import Finding, Location, UsageError

CONFIG = "whorl.yaml"
CONFIGS = (CONFIG, "whorl.yml", "whorl.json")
PROFILE_VARIABLE = "WHORL_PROFILE"


def find_config(pipeline: str) -> str | None:
    """The whorl.yaml, or whorl.json, beside a pipeline or in a folder above it, up to the repository's root or the current one."""
    start = FilePath(pipeline).parent
    folders = [start.absolute(), *start.absolute().parents]
    ends = [index for index, folder in enumerate(folders) if folder == FilePath.cwd() or (folder / ".git").exists()]
    for folder in folders[: ends[0] + 1 if ends else 1]:
        there = [name for name in CONFIGS if (folder / name).is_file()]
        if len(there) > 1:
            what = f"there are '{there[0]}' and '{there[1]}' in '{folder}', and only one can count"
            raise UsageError(what, hint="keep one of them, or name it: --config FILE", code="contradiction")
        if there:
            return _as_given(folder / there[0], start)
    return None


def framework_layers(config: Document, profile: str | None) -> tuple[list[Tree], list[Finding]]:
    """The top level of whorl.yaml, and the chosen profile over it."""
    root = config.tree
    if root.value is None:
        root = Tree({}, root.at)
    if not isinstance(root.value, dict):
        return [], [Finding("value", f"'{config.file}' is not a map", "write `name: value` lines", root.at)]
    profiles = root.child("profiles")
    if profiles is not None and not _is_map_of_maps(profiles):
        hint = "write profiles: {name: {setting: value}}"
        return [root.without("profiles")], [Finding("value", "'profiles' is not a map of maps", hint, profiles.at)]
    layers = [root.without("profiles")]
    if profile is None:
        return layers, []
    chosen = profiles.child(profile) if profiles else None
    if chosen is None:
        known = profiles.value if profiles else {}
        return layers, [unknown_profile(profile, config.file, known, profiles.at if profiles else root.at)]
    return [*layers, chosen] if chosen.value is not None else layers, []


def unknown_profile(profile: str, file: str, known: Mapping[str, Tree], at: Location) -> Finding:
    hint = suggest(profile, known, "profiles") or f"add `profiles: {{{profile}: {{...}}}}` to {CONFIG}"
    return Finding("profile", f"there is no profile '{profile}' in '{file}'", hint, at)


def set_layer(assignment: str, variables: Mapping[str, str]) -> Document:
    """`a.b=c` as a file of its own, whose columns are those of the assignment."""
    name, equals, value = assignment.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"'--set {assignment}' sets nothing", hint="write --set name=value")
    file = SET + assignment
    document = parse(" " * (len(name) + 1) + value, file, variables)
    tree = document.tree
    for key in reversed(_keys(name.strip())):
        tree = Tree({key: tree}, Location(file), {key: Location(file)})
    return Document(file, tree, document.findings)


def _keys(name: str) -> list[str]:
    """The keys of a dotted name; below a free map such as `kafka` the rest is one key."""
    first, _, rest = name.partition(".")
    field = Settings.model_fields.get(first)
    free = field is not None and field.default_factory is dict
    return [first, rest] if free and rest else name.split(".")


def _is_map_of_maps(tree: Tree) -> bool:
    return isinstance(tree.value, dict) and all(
        t.value is None or isinstance(t.value, dict) for t in tree.value.values()
    )


def _as_given(file: FilePath, start: FilePath) -> str:
    """Spelled as the pipeline's own path was: relative to the working directory if that was."""
    return str(file) if start.is_absolute() else os.path.relpath(file)
