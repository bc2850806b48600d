"""What verbs that act on a pipeline have in common: who is meant, and how it is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whorl.cli.table import count
from whorl.config.framework import named
from whorl.jobs.address import clients_at
from whorl.jobs.ask import Pipeline
from whorl.kafka.topics import Cluster
from whorl.units import format_size


def pipeline_of(
    of: str, broker: str | None, profile: str | None, sets: list[str] | None, config: Path | None
) -> Pipeline:
    """By its file or its name."""
    name, settings = named(of, profile, sets or (), config)
    return Pipeline(Cluster(clients_at(broker, settings)), name, settings)


def saved(pipeline: str, done: Mapping[str, Any]) -> str:
    between = f", {count(done['records'], 'record')} between components" if done["records"] else ""
    contents = (
        f"{count(done['components'], 'component')}, {count(done['entries'], 'entry', 'entries')} of state{between}"
    )
    return (
        f"savepoint '{done['name']}' of '{pipeline}': {contents}, {format_size(done['bytes'])}, in {done['seconds']:.1f} s\n"
        f"resume from it: whorl resume {done['folder']}"
    )
