"""Which cluster a verb talks to: `--broker`, else the settings of whorl.yaml, else this folder's own broker."""

from __future__ import annotations

import os
from pathlib import Path

from whorl.config.document import read
from whorl.config.layers import PROFILE_VARIABLE, find_config, framework_layers, unknown_profile
from whorl.config.settings import Settings, effective
from whorl.config.tree import Tree
from whorl.errors import CheckFailed, Finding, Location
from whorl.jobs.address import clients_of
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Cluster


def connect(broker: str | None, profile: str | None = None, config: Path | None = None) -> Cluster:
    return Cluster(clients_at(broker, framework_settings(profile, config)))


def clients_at(broker: str | None, settings: Settings) -> KafkaClients:
    return clients_of(settings.model_copy(update={"broker": broker}) if broker else settings)


def framework_settings(profile: str | None = None, config: Path | None = None) -> Settings:
    """Those of whorl.yaml in this folder or above it; raises CheckFailed with all that is wrong in it."""
    profile = profile or os.environ.get(PROFILE_VARIABLE)
    file = str(config) if config else find_config("pipeline.yaml")
    layers, findings = _layers(file, profile)
    result = effective(layers)
    if wrong := [*findings, *result.findings]:
        raise CheckFailed(wrong)
    return result.settings


def _layers(file: str | None, profile: str | None) -> tuple[list[Tree], list[Finding]]:
    if file is None:
        return [], [unknown_profile(profile, "whorl.yaml", {}, Location("whorl.yaml"))] if profile else []
    document = read(file, os.environ)
    layers, findings = framework_layers(document, profile)
    return layers, [*document.findings, *findings]
