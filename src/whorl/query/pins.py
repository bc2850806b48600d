"""What must not change under a checkpoint: the settings of Spark that decide which row is in which partition, and the definition."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import orjson

from whorl.config.settings import Settings
from whorl.formats import FormatOptions
from whorl.operators.operator import OperatorType
from whorl.plan.plan import Component

_STATE = "spark.sql.streaming.stateStore"
_STORE = f"{_STATE}.providerClass"
FORM = f"{_STATE}.checkpointFormatVersion"
_PACKAGE = "org.apache.spark.sql.execution.streaming.state"
_STORES = {
    "rocksdb": {_STORE: f"{_PACKAGE}.RocksDBStateStoreProvider", FORM: "2"},
    "filesystem": {_STORE: f"{_PACKAGE}.HDFSBackedStateStoreProvider", FORM: "1"},
}
"""By `state.query_backend`: Spark's class, and the form of checkpoints that it knows."""


def session_settings() -> dict[str, str]:
    """Of the session that all query components share."""
    return {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.ansi.enabled": "true",
        **_STORES["rocksdb"],
        f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",  # small enough for a socket's buffer: both sides go on working
        "spark.stage.maxConsecutiveAttempts": "1",  # a second attempt of a stage could not be told from a first
    }


def pinned(settings: Settings) -> dict[str, str]:
    partitions = str(settings.state_partitions or settings.partitions)
    return {
        "spark.sql.shuffle.partitions": partitions,
        "spark.sql.files.minPartitionNum": partitions,
        "spark.sql.session.timeZone": "UTC",
        **_STORES[settings.state.query_backend],
    }


def form_of(pinned: Mapping[str, str]) -> str:
    """The form of a checkpoint that was made with these settings."""
    return pinned.get(FORM, _STORES["rocksdb"][FORM])


def backend_of(pinned: Mapping[str, str]) -> str:
    """Where state is kept under these settings, in our words; those of earlier checkpoints do not say."""
    return next((name for name, store in _STORES.items() if store[_STORE] == pinned.get(_STORE)), "rocksdb")


def fingerprint(component: Component) -> str:
    """Equal as long as the same rows come out of the same input: places in the file do not count."""
    parts = [
        *(_input(component)),
        *((placed.node.id, placed.node.type, _options(placed.node.what)) for placed in component.operators),
        *((wire.source, wire.target, wire.output) for wire in component.wires),
        *((output.id, output.topic, _format(output.format), output.key) for output in component.outputs),
        component.mode,
    ]
    return hashlib.sha256(orjson.dumps(parts, default=str)).hexdigest()[:16]


def _input(component: Component) -> list[tuple[str, ...]]:
    return [
        (
            input.id,
            input.topic,
            str(input.schema),
            str(input.watermark),
            _format(input.format),
            input.on_error.action,
        )
        for input in component.inputs
    ]


def _format(format: FormatOptions) -> str:
    """An option that came later, where it is not set, does not make old checkpoints another's."""
    strict = getattr(format, "strict", False)
    return format.model_dump_json(exclude=None if strict else {"strict"})


def _options(what: object) -> str:
    return what.options.model_dump_json() if isinstance(what, OperatorType) else ""
