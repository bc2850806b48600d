"""A job's progress, mirrored to offset stores. Each store has a thread of its own, so that one that is away keeps nobody waiting.

What is offered while a store is busy replaces what it had not taken yet. A failure is tried again for ever, after waits that grow up to a
cap; it is told once, and so is its end. Nothing of it ever reaches the job.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from whorl.config.offset_stores import StoreUrl
from whorl.kafka.clients import KafkaClients
from whorl.kafka.topics import Place
from whorl.offsets.store import Offsets, OffsetStore, open_store, reason

Progress = Mapping[str, Offsets]
"""By group."""
Tell = Callable[[str], None]
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
_LAST_WORD = 5.0
"""Seconds that a store has at the end to take what it has not yet."""


@dataclass
class MirrorFigures:
    """What became of it so far."""

    written: int = 0
    """Offsets."""
    failures: int = 0
    down_since: float | None = None
    last_error: str = ""


@dataclass
class Mirror:
    """One store. `offer` never waits."""

    url: StoreUrl
    open: Callable[[], OffsetStore]
    tell: Tell
    clock: Callable[[], float] = time.monotonic
    figures: MirrorFigures = field(default_factory=MirrorFigures)

    def __post_init__(self) -> None:
        self._store: OffsetStore | None = None
        self._offered: dict[str, dict[Place, int]] = {}
        self._held: dict[str, dict[Place, int]] = {}
        """What the store has from us."""
        self._changed = threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._run, name=f"whorl-mirror-{self.url.scheme}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def offer(self, progress: Progress) -> None:
        with self._changed:
            for group, offsets in progress.items():
                self._offered.setdefault(group, {}).update(offsets)
            self._changed.notify()

    def close(self) -> None:
        """The last that was offered is written, if the store takes it soon."""
        with self._changed:
            self._over = True
            self._changed.notify()
        self._thread.join(_LAST_WORD)

    def pending(self) -> dict[str, dict[Place, int]]:
        """What the store does not have yet."""
        news = {
            group: {place: at for place, at in offsets.items() if self._held.get(group, {}).get(place) != at}
            for group, offsets in self._offered.items()
        }
        return {group: offsets for group, offsets in news.items() if offsets}

    def attempt(self) -> bool:
        """Writes what is pending; whether the store has it now."""
        with self._changed:
            pending = self.pending()
        try:
            self._store = self._store or self.open()
            for group, offsets in pending.items():
                self._store.write(group, offsets)
                self._held.setdefault(group, {}).update(offsets)
                self.figures.written += len(offsets)
        except Exception as error:
            self._note_failure(error)
            return False
        self._note_success()
        return True

    def _run(self) -> None:
        wait = _FIRST_WAIT
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._over or self.pending())
                if not self.pending():
                    break
            if self.attempt():
                wait = _FIRST_WAIT
            elif self._over:
                break
            else:
                with self._changed:
                    self._changed.wait_for(lambda: self._over, wait)
                wait = min(2 * wait, _LONGEST_WAIT)
        if self._store is not None:
            self._store.close()

    def _note_failure(self, error: Exception) -> None:
        figures = self.figures
        figures.failures += 1
        figures.last_error = reason(error)
        if figures.down_since is None:
            figures.down_since = self.clock()
            self.tell(
                f"offset store '{self.url}' fails: {figures.last_error}; the pipeline goes on, and it is tried again"
            )

    def _note_success(self) -> None:
        figures = self.figures
        if figures.down_since is not None:
            self.tell(f"offset store '{self.url}' is back after {self.clock() - figures.down_since:.0f} s")
            figures.down_since = None


class Mirrors:
    """All stores of a job."""

    def __init__(self, urls: Iterable[StoreUrl], clients: KafkaClients, tell: Tell) -> None:
        self.all = [Mirror(url, lambda url=url: open_store(url, clients), tell) for url in urls]  # type: ignore[misc]

    def start(self) -> None:
        for mirror in self.all:
            mirror.start()

    def offer(self, progress: Progress) -> None:
        """A store whose URL names a group has all components in that one."""
        for mirror in self.all:
            mirror.offer({mirror.url.group: lowest(progress)} if mirror.url.group else progress)

    def close(self) -> None:
        for mirror in self.all:
            mirror.close()


def lowest(progress: Progress) -> dict[Place, int]:
    """Of all groups together: what is before it all of them have read."""
    found: dict[Place, int] = {}
    for offsets in progress.values():
        for place, at in offsets.items():
            found[place] = min(at, found.get(place, at))
    return found
