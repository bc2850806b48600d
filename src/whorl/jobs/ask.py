"""An order to a pipeline, wherever it runs: its driver is asked and answers. Whoever asks needs no Spark; see `whorl.jobs.aside` for one that has stopped."""

from __future__ import annotations

import time
from typing import Any

from whorl.config.settings import Settings
from whorl.errors import WorldError
from whorl.kafka.topics import Cluster
from whorl.tasks.control import (
    ANSWER,
    DRIVER,
    Again,
    Rescale,
    Savepoint,
    Status,
    StatusReader,
    Stop,
    news_end,
    send_order,
)
from whorl.tasks.driver import BEATS_OF_A_LIVING_HOLDER, address_of, living_holder
from whorl.tasks.register import Holder, Registration, read_registration, registration_of

_MISSED = 10 * BEATS_OF_A_LIVING_HOLDER
"""Heartbeats after which a driver that was asked counts as gone: Spark may keep it busy."""


class Pipeline:
    """One that has run, by its name."""

    def __init__(self, cluster: Cluster, name: str, settings: Settings) -> None:
        self.cluster, self.name, self.settings = cluster, name, settings
        self.registration = registration_of(cluster.clients, cluster.partition_counts(), name)

    @property
    def known(self) -> tuple[Cluster, Registration, Settings]:
        return self.cluster, self.registration, self.settings

    def holder(self) -> Holder | None:
        return living_holder(
            self.cluster.clients, self.registration, self.settings.heartbeat, news_end(self.cluster, self.name)
        )

    def stop(self) -> bool:
        """Asks for a graceful stop, and awaits it; False where nothing runs."""
        holder = self.holder()
        if holder is None:
            return False
        send_order(self.cluster.clients, address_of(self.name, holder), Stop())
        until = time.monotonic() + self.settings.stop_timeout * 2
        while (now := read_registration(self.cluster.clients, self.name)) and now.holder == holder:
            if holder.is_gone():
                return True
            if time.monotonic() > until:
                raise WorldError(f"{holder} does not stop", hint="its output says why", code="stop-timeout")
            time.sleep(0.2)
        return True

    def ask(self, holder: Holder, order: Savepoint | Rescale | Again) -> dict[str, Any]:
        """What was done; raises what was against it."""
        reader = StatusReader(self.cluster.clients, self.name, None, news_end(self.cluster, self.name))
        send_order(self.cluster.clients, address_of(self.name, holder), order)
        beat_at = time.monotonic()
        try:
            while time.monotonic() - beat_at < self.settings.heartbeat * _MISSED and not holder.is_gone():
                for news in reader.read(0.2):
                    if news.component == DRIVER and news.error == holder.id:
                        beat_at = time.monotonic()
                    if news.component == ANSWER and news.figures.get("order") == order.id:
                        return _answered(news)
        finally:
            reader.close()
        hint = "start it again: it goes on from its last commit, and this order is forgotten"
        raise WorldError(f"{holder} ended before it answered", hint=hint, code="no-answer")


def _answered(news: Status) -> dict[str, Any]:
    if news.error:
        raise WorldError(news.error, hint=news.figures["hint"], code=news.figures["code"])
    return news.figures
