"""Where savepoints lie: `SAVEPOINTS/PIPELINE/NAME`, or any folder that is named in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

from whorl.errors import UsageError, WorldError
from whorl.plan import naming
from whorl.savepoints.manifest import MANIFEST, Manifest


def default_name() -> str:
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S")


class Place(Protocol):
    """A folder, of this machine or of any file system."""

    @property
    def path(self) -> str: ...
    def read(self, name: str) -> bytes | None: ...
    def names(self, folder: str = ".") -> list[str]: ...
    def delete(self) -> None: ...


P = TypeVar("P", bound=Place)


class Catalog(Generic[P]):
    def __init__(self, root: str, open: Callable[[str], P]) -> None:
        self._root, self._open = root.rstrip("/"), open

    def new(self, pipeline: str, name: str) -> P:
        """An empty folder; what an attempt that failed left there is gone."""
        if naming.slug(name) != name:
            raise UsageError(f"'{name}' cannot name a savepoint", hint="take letters, digits, '.', '_' and '-'")
        folder = self._open(f"{self._root}/{naming.slug(pipeline)}/{name}")
        if folder.read(MANIFEST) is not None:
            hint = f"take another name, or 'whorl savepoints delete {pipeline}/{name}'"
            raise WorldError(f"there is a savepoint '{name}' of '{pipeline}' already", hint=hint, code="savepoint")
        folder.delete()
        return folder

    def find(self, savepoint: str) -> tuple[P, Manifest]:
        """By `PIPELINE/NAME`, or by its folder."""
        pipeline, _, name = savepoint.rpartition("/")
        for path in (savepoint, f"{self._root}/{naming.slug(pipeline)}/{name}"):
            folder = self._open(path)
            if (data := folder.read(MANIFEST)) is not None:
                return folder, Manifest.decode(data, path)
        hint = f"'whorl savepoints list' shows those in '{self._root}'; else give a folder with a {MANIFEST}"
        raise WorldError(f"there is no savepoint '{savepoint}'", hint=hint, code="savepoint")

    def all(self, pipeline: str | None = None) -> Iterator[Manifest]:
        """Oldest first."""
        folder = self._open(self._root)
        pipelines = [naming.slug(pipeline)] if pipeline else sorted(folder.names())
        found = [
            Manifest.decode(data, f"{each}/{name}")
            for each in pipelines
            for name in folder.names(each)
            if (data := folder.read(f"{each}/{name}/{MANIFEST}")) is not None
        ]
        yield from sorted(found, key=lambda manifest: manifest.taken)

    def delete(self, savepoint: str) -> Manifest:
        folder, manifest = self.find(savepoint)
        folder.delete()
        return manifest
