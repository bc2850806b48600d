"""Which cluster a verb talks to: `--broker`, else the settings of whorl.yaml, else this folder's own broker."""

from __future__ import annotations

from pathlib import Path

from whorl.config.framework import framework_settings
from whorl.jobs.address import clients_at
from whorl.kafka.topics import Cluster


def connect(broker: str | None, profile: str | None = None, config: Path | None = None) -> Cluster:
    return Cluster(clients_at(broker, framework_settings(profile, config)))
