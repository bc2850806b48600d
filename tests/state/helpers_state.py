"""A changelog on paper, and lps that live and die over it."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable
from pathlib import Path
from typing import Any

from whorl.state.backend import Backend, MemoryBackend, Meta
from whorl.state.behind import WriteBehind
from whorl.state.disk import LmdbBackend
from whorl.state.partition import LP_KEY, LpState
from whorl.state.room import Room

META = Meta("uid", "changelog", "id", boot="boot")
NOW = 1_700_000_000_000


class Life:
    """An lp whose process may die at any point. Memory stands for a disk here: what was written stays."""

    def __init__(
        self,
        folder: Path | None = None,
        inputs: tuple[str, ...] = ("in",),
        room: Room | None = None,
        behind: bool = False,
    ) -> None:
        """`behind`: what is stored waits in memory, and is lost when the process dies."""
        self.log: list[tuple[bytes, bytes | None]] = []
        self._folder, self._inputs, self._room, self._behind = folder, inputs, room, behind
        self._memory = MemoryBackend()
        self.open()

    def open(self) -> None:
        self.backend: Backend = LmdbBackend(self._folder, 1 << 20) if self._folder else self._memory
        if self._behind:
            self.backend = WriteBehind(self.backend, age=1e9, most=20)
        self.lp = LpState(self.backend, META, self._inputs, self._room, wall=lambda: NOW)
        self.lp.absorb(self.log[self.lp.position :], len(self.log), current=True)
        if self.lp.record is not None:
            self.lp.set_times(literal_eval(self.lp.record.decode()))

    def die(self) -> None:
        """Whatever is not stored is lost; what Kafka committed is not."""
        if isinstance(self.backend, WriteBehind):
            self.backend._waiting.clear()
        self.lp.close()
        self.open()

    def commit(self, store: bool = True) -> list[tuple[bytes, bytes | None]]:
        delta, record = list(self.lp.delta().items()), repr(self.lp.times()).encode()
        self.log += [*delta, (LP_KEY, record)]
        if store:
            self.lp.store(len(self.log), record)
        else:
            self.die()
        return delta

    def record(self, work: Callable[[LpState], None]) -> None:
        self.lp.begin()
        work(self.lp)
        self.lp.keep()


class Counting:
    """A backend that counts what is read of it."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def scan(self, prefix: bytes, after: bytes | None = None) -> Any:
        for entry in self._backend.scan(prefix, after):
            self.read += 1
            yield entry
