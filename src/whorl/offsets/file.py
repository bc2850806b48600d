"""Offsets in a file of JSON, of many groups: {"version": 1, "groups": {GROUP: {TOPIC: {PARTITION: OFFSET}}}}.

Readers see the former file or the next one, never a part; writers, also of other processes, take turns.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whorl.config.offset_stores import StoreUrl
from whorl.errors import WorldError
from whorl.jvm.cache import exclusive
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Place, by_topic
from whorl.offsets.store import Offsets

VERSION = 1


class FileStore:
    def __init__(self, url: StoreUrl, clients: KafkaClients) -> None:
        self._path = Path(url.path)

    def read(self, group: str) -> dict[Place, int]:
        return _places(self._groups().get(group, {}))

    def groups(self) -> dict[str, dict[Place, int]]:
        return {group: _places(topics) for group, topics in self._groups().items()}

    def write(self, group: str, offsets: Offsets) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(self._path.with_name(f".{self._path.name}.lock")):
            groups = self._groups()
            self._replace({**groups, group: by_topic({**_places(groups.get(group, {})), **offsets})})

    def close(self) -> None:
        pass

    def _replace(self, groups: Mapping[str, Any]) -> None:
        draft = self._path.with_name(f".{self._path.name}.draft")
        with draft.open("w") as file:
            file.write(json.dumps({"version": VERSION, "groups": groups}, indent=1, sort_keys=True) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)

    def _groups(self) -> dict[str, Any]:
        try:
            content = json.loads(self._path.read_text())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise _unfit(self._path, str(error)) from None
        if not isinstance(content, dict) or not isinstance(content.get("groups"), dict):
            raise _unfit(self._path, "it has no 'groups'")
        if content.get("version", VERSION) > VERSION:
            raise _unfit(self._path, "it was written by a newer Whorl")
        groups: dict[str, Any] = content["groups"]
        return groups


def _unfit(path: Path, why: str) -> WorldError:
    hint = "'whorl offsets export' writes such files: {\"groups\": {GROUP: {TOPIC: {PARTITION: OFFSET}}}}"
    return WorldError(f"'{path}' is no file of offsets: {why}", hint=hint, code="offset-file")


def _places(topics: Mapping[str, Mapping[str, int]]) -> dict[Place, int]:
    return {(topic, int(partition)): int(at) for topic, of in topics.items() for partition, at in of.items()}
