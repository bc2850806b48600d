"""Offsets in ZooKeeper as consumers before Kafka 0.9 kept them, and monitors still read them: /consumers/GROUP/offsets/TOPIC/PARTITION."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from whorl.config.offset_stores import StoreUrl
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Place
from whorl.offsets.store import PATIENCE, Offsets

_SESSION = 10.0
_silent = logging.getLogger("whorl.offsets.kazoo")
_silent.setLevel(logging.CRITICAL)


class ZooKeeperStore:
    """Connects when it is first used, and anew after a failure: a session of before may hang on."""

    def __init__(self, url: StoreUrl, clients: KafkaClients) -> None:
        self._hosts, self._chroot = url.host, url.path.rstrip("/")
        self._client: Any = None

    def read(self, group: str) -> dict[Place, int]:
        root = self._root(group)
        return {
            (topic, int(partition)): int(self._ask("get", f"{root}/{topic}/{partition}")[0])
            for topic in self._children(root)
            for partition in self._children(f"{root}/{topic}")
        }

    def write(self, group: str, offsets: Offsets) -> None:
        wanted = {f"{self._root(group)}/{topic}/{p}": str(at).encode() for (topic, p), at in offsets.items()}
        for path in self._missing(wanted):
            self._ask("ensure_path", path)
            self._ask("set", path, wanted[path])

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):
                client.stop()
            with suppress(Exception):
                client.close()

    def _root(self, group: str) -> str:
        return f"{self._chroot}/consumers/{group}/offsets"

    def _missing(self, wanted: dict[str, bytes]) -> Iterable[str]:
        """All at once, those that are there; gives those that are not yet."""
        asked = {path: self._connected().set_async(path, value) for path, value in wanted.items()}
        missing = []
        for path, answer in asked.items():
            try:
                answer.get(timeout=PATIENCE)
            except NoNodeError:
                missing.append(path)
            except BaseException:
                self.close()
                raise
        return missing

    def _children(self, path: str) -> list[str]:
        try:
            found: list[str] = self._ask("get_children", path)
        except NoNodeError:
            return []
        return found

    def _ask(self, what: str, *arguments: Any) -> Any:
        try:
            return getattr(self._connected(), f"{what}_async")(*arguments).get(timeout=PATIENCE)
        except NoNodeError:
            raise
        except BaseException:
            self.close()
            raise

    def _connected(self) -> Any:
        if self._client is None:
            client = KazooClient(hosts=self._hosts, timeout=_SESSION, logger=_silent)
            try:
                client.start(timeout=PATIENCE)
            except BaseException:
                with suppress(Exception):
                    client.stop()
                raise
            self._client = client
        return self._client
