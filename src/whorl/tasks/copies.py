"""The copies of state on this machine, and which of them a task works in.

A folder belongs to whoever holds its lock. Those of a logical partition (lp) are `LP`, and `LP.1`, `LP.2`: of standbys, and of attempts
that found the first one held by another that hangs. Its owner takes the one that is furthest. A standby notes beside its copy how far it
is, and lets go of it when the owner asks; so the owner of an lp that comes to this machine finds its state here.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO

from whorl.plan import naming
from whorl.state.backend import Meta, Wanted, boot_id, misfit
from whorl.state.disk import LmdbBackend, Occupied, Unreadable, remove
from whorl.tasks.assignment import Assignment
from whorl.tasks.changelog import DELETIONS_KEPT

_MAX_AGE = DELETIONS_KEPT / 2
_WORTH_ASKING = 10_000
"""Records: to read fewer takes less time than to ask, and spares the standby from beginning anew."""
_PATIENCE, _NAP = 5.0, 0.02
_NOTE, _ASKED = "standby", "wanted"


def meta_of(assignment: Assignment) -> Meta:
    """What each copy of its state is a copy of."""
    return Meta(assignment.uid, assignment.changelog, assignment.changelog, boot=boot_id())


class Copies:
    """Of one component. `end` tells where the changelog of an lp ends, `now` the time in ms."""

    def __init__(self, assignment: Assignment, end: Callable[[int], int], now: Callable[[], int]) -> None:
        self._assignment, self._end, self._now = assignment, end, now
        settings = assignment.settings.state
        root = Path(settings.dir) if settings.dir else Path(tempfile.gettempdir()) / f"whorl-state-{os.getuid()}"
        self._root = root / naming.slug(assignment.pipeline)
        self._folder = self._root / assignment.uid / naming.slug(assignment.component.id)
        self._others_kept = settings.standby

    def tidy(self) -> None:
        """Removes what former lives of the pipeline have left, and nobody works in."""
        for path in self._root.glob("*/*/*"):
            if path.parent.parent.name != self._assignment.uid:
                remove(path) if path.is_dir() else path.unlink(missing_ok=True)

    def take(self, lp: int) -> LmdbBackend:
        """For the owner of the lp: the copy that is furthest, or a new one."""
        with self._choosing(lp):
            fitting = self._fitting(lp, self._folders(lp))
            if asked := self._ask(lp, _position(fitting[0]) if fitting else 0):
                fitting.insert(0, asked)
            for number, other in enumerate(fitting[1:]):
                other.close() if number < self._others_kept else other.discard()
            taken = fitting[0] if fitting else self._new(lp, first=0)
        (taken.folder / _NOTE).unlink(missing_ok=True)
        (taken.folder / _ASKED).unlink(missing_ok=True)
        return taken

    def take_second(self, lp: int) -> LmdbBackend:
        """For a standby: never the first one, which is the owner's; of the others the one that is furthest, or a new one."""
        with self._choosing(lp):
            fitting = self._fitting(lp, [folder for folder in self._folders(lp) if "." in folder.name])
            for other in fitting[1:]:
                other.close()
            taken = fitting[0] if fitting else self._new(lp, first=1)
            (taken.folder / _ASKED).unlink(missing_ok=True)
        note(taken)
        return taken

    @contextmanager
    def _choosing(self, lp: int) -> Iterator[None]:
        """One looks at a time: who looks holds copies for a moment that he does not take. One that hangs is not waited for."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / f"{lp}.lock").open("a") as lock:
            until = time.monotonic() + 2 * _PATIENCE
            while not _locked(lock) and time.monotonic() < until:
                time.sleep(_NAP)
            yield

    def _folders(self, lp: int) -> list[Path]:
        names = [self._folder / f"{lp}", *self._folder.glob(f"{lp}.*")]
        return sorted(path for path in names if path.is_dir())

    def _fitting(self, lp: int, folders: list[Path]) -> list[LmdbBackend]:
        """Copies that nobody holds and that can be used, the furthest first; others are removed."""
        wanted, fitting = self._wanted(lp), []
        for folder in folders:
            try:
                copy = LmdbBackend(folder)
            except Occupied:
                continue
            except Unreadable:
                remove(folder)
                continue
            if misfit(copy.meta, wanted):
                copy.discard()
            else:
                fitting.append(copy)
        return sorted(fitting, key=_position, reverse=True)

    def _ask(self, lp: int, own: int) -> LmdbBackend | None:
        """The copy of a standby that is much further than the best one of our own, if it is handed over."""
        wanted = self._wanted(lp)
        noted = {folder: meta for folder in self._folders(lp) if (meta := _noted(folder)) and not misfit(meta, wanted)}
        for folder in sorted(noted, key=lambda folder: noted[folder].position, reverse=True):
            if noted[folder].position >= own + _WORTH_ASKING and (copy := _handed_over(folder)):
                return copy
        return None

    def _new(self, lp: int, first: int) -> LmdbBackend:
        for number in count(first):
            folder = self._folder / (f"{lp}.{number}" if number else f"{lp}")
            if not folder.exists():
                with suppress(Occupied):
                    return LmdbBackend(folder)
        raise AssertionError("numbers do not end")

    def _wanted(self, lp: int) -> Wanted:
        topic = self._assignment.changelog
        return Wanted(self._assignment.uid, topic, topic, self._end(lp), _MAX_AGE, self._now(), boot_id())


def note(copy: LmdbBackend) -> None:
    """Says how far a standby's copy is, for those who cannot look into it."""
    if copy.meta is not None:
        draft = copy.folder / f"{_NOTE}.new"
        draft.write_bytes(copy.meta.encode())
        draft.replace(copy.folder / _NOTE)


def is_asked_for(copy: LmdbBackend) -> bool:
    return (copy.folder / _ASKED).exists()


def _noted(folder: Path) -> Meta | None:
    try:
        return Meta.decode((folder / _NOTE).read_bytes())
    except FileNotFoundError:
        return None


def _handed_over(folder: Path) -> LmdbBackend | None:
    """The copy, once its standby has let go of it; nothing where it does not."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        (folder / _ASKED).touch()
        with suppress(Occupied, Unreadable):
            return LmdbBackend(folder)
        time.sleep(_NAP)
    (folder / _ASKED).unlink(missing_ok=True)
    return None


def _position(copy: LmdbBackend) -> int:
    return copy.meta.position if copy.meta else 0


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
