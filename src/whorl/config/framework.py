"""What verbs know without a pipeline's graph: the settings of whorl.yaml, and what is meant by a pipeline's file or its name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from whorl.config.layers import PROFILE_VARIABLE, find_config, set_layer
from whorl.config.loader import framework_of, load
from whorl.config.settings import Settings, effective
from whorl.errors import CheckFailed


class Named(NamedTuple):
    name: str
    settings: Settings


def named(
    pipeline: str, profile: str | None = None, overrides: Iterable[str] = (), config: Path | None = None
) -> Named:
    """A pipeline by its file, with its settings; or by its name, with those of whorl.yaml. Neither loads its code."""
    if not Path(pipeline).is_file():
        return Named(pipeline, framework_settings(profile, config, overrides))
    loaded = load(pipeline, profile=profile, overrides=overrides, config=config)
    if loaded.findings:
        raise CheckFailed(loaded.findings)
    return Named(loaded.spec.name, loaded.settings)


def framework_settings(
    profile: str | None = None, config: Path | None = None, overrides: Iterable[str] = ()
) -> Settings:
    """Those of whorl.yaml in this folder or above it, under these assignments; raises CheckFailed with all that is wrong in them."""
    profile = profile or os.environ.get(PROFILE_VARIABLE)
    file = str(config) if config else find_config("pipeline.yaml")
    layers, findings = framework_of(file, "whorl.yaml", profile, os.environ)
    given = [set_layer(assignment, os.environ) for assignment in overrides]
    result = effective([*layers, *(layer.tree for layer in given)])
    if wrong := [*findings, *(found for layer in given for found in layer.findings), *result.findings]:
        raise CheckFailed(wrong)
    return result.settings
