"""A pipeline in the hands of one process: its heartbeat goes out and orders come in, whatever else the process does meanwhile."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

from whorl.errors import Superseded, Unavailable, WhorlError
from whorl.kafka.topics import Cluster
from whorl.tasks.control import Order, OrderReader, StatusWriter
from whorl.tasks.driver import Driver
from whorl.tasks.register import LONGEST, Holder

_LOOK = 0.1


class Hold:
    def __init__(
        self, cluster: Cluster, pipeline: str, heartbeat: float, longest: float = LONGEST, holder: Holder | None = None
    ) -> None:
        self.driver = Driver(cluster.clients, pipeline, longest, holder)
        self._cluster, self._heartbeat = cluster, heartbeat
        self._orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._writer = StatusWriter(cluster.clients, pipeline)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="whorl-hold", daemon=True)

    def __enter__(self) -> Hold:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(5)
        if not isinstance(error, Superseded):
            with suppress(Unavailable):  # without a broker: the next start sees that the process is gone
                self._cluster.brokers()
                self.driver.release()

    def order(self) -> Order | None:
        """The next that came, if any."""
        try:
            return self._orders.get_nowait()
        except queue.Empty:
            return None

    def answer(self, order: str, figures: Mapping[str, Any], error: WhorlError | None = None) -> None:
        told = {**figures, **({"hint": error.hint, "code": error.code} if error else {})}
        self._writer.write(self.driver.answer(order, told, error.message if error else ""))
        self._writer.flush()

    def _run(self) -> None:
        reader, beat_at = OrderReader(self._cluster.clients, self.driver.address), 0.0
        while not self._over.is_set():
            if time.monotonic() >= beat_at:
                beat_at = time.monotonic() + self._heartbeat
                self._writer.write(self.driver.heartbeat())
            if order := reader.next(_LOOK):
                self._orders.put(order)
        reader.close()
