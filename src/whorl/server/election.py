"""Which of several job servers leads: ZooKeeper says, by a session that ends with its process.

It is a promise for people and task managers alone. That no two servers ever write is the store's doing: see `Store.take`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlparse

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from whorl.errors import Unavailable, UsageError

log = logging.getLogger("whorl.server")
_STARTS_WITHIN = 30.0


class Election:
    def __init__(self, ha: str, url: str, timeout: float = 10.0) -> None:
        """`ha`: zookeeper://host:port/path, several hosts by comma. `url`: where this server answers."""
        found = urlparse(ha)
        if found.scheme != "zookeeper" or not found.netloc:
            raise UsageError(f"'{ha}' names no ZooKeeper", hint="write zookeeper://host:port/path", code="ha")
        self._path = (found.path or "/whorl").rstrip("/") or "/whorl"
        self._url, self._hosts = url, found.netloc
        self._client = KazooClient(found.netloc, timeout=timeout)
        self._over = threading.Event()
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._stand, name="whorl-election", daemon=True)

    def start(self, lead: Callable[[], None], rest: Callable[[], None]) -> None:
        """`lead` is called when this server leads, `rest` when it does no more."""
        self._lead, self._rest = lead, rest
        try:
            self._client.start(_STARTS_WITHIN)
        except KazooTimeoutError as error:
            hint = "is it up, and is the address right?"
            raise Unavailable(f"ZooKeeper at '{self._hosts}' does not answer", hint=hint, code="ha") from error
        self._client.add_listener(self._heard)
        self._thread.start()

    def _heard(self, state: str) -> None:
        """Called by kazoo's own thread, which must not wait."""
        if state == KazooState.LOST:
            self._lost.set()

    def _stand(self) -> None:
        while not self._over.is_set():
            try:
                self._client.ensure_path(f"{self._path}/servers")
                self._client.create(f"{self._path}/servers/", self._url.encode(), ephemeral=True, sequence=True)
                self._lost.clear()
                self._client.Election(f"{self._path}/leader", self._url).run(self._hold)
            except KazooException as error:
                log.warning("election: %s", error or type(error).__name__)
            self._over.wait(0.5)

    def _hold(self) -> None:
        """Leads until the session or the server ends."""
        log.warning("this server leads now: %s", self._url)
        self._lead()
        try:
            while not self._over.is_set() and not self._lost.wait(0.2):
                pass
        finally:
            log.warning("this server leads no more: %s", self._url)
            self._rest()

    def give_up(self) -> None:
        """Somebody else has the store: this one stands by again."""
        self._lost.set()

    def leader(self) -> str:
        """Where the leader answers; empty where nobody knows."""
        with suppress(KazooException, KazooTimeoutError):
            standing = self._client.Election(f"{self._path}/leader").contenders()
            return str(standing[0]) if standing else ""
        return ""

    def servers(self) -> list[str]:
        with suppress(KazooException, KazooTimeoutError):
            names = self._client.get_children(f"{self._path}/servers")
            found = [self._client.get(f"{self._path}/servers/{name}")[0].decode() for name in sorted(names)]
            return list(dict.fromkeys(found))
        return []

    def close(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(5)
        with suppress(Exception):
            self._client.stop()
            self._client.close()
