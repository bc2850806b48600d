"""What was submitted, kept as it was: a pipeline file and what lies beside it, packed, under the hash of its contents.

So an edit on disk changes no running job, and the same submission is kept once. Nothing is ever unpacked outside its folder.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from whorl.config.layers import CONFIG, find_config
from whorl.errors import UsageError, WorldError

MOST_FILES = 2000
MOST_BYTES = 64 << 20
_LEFT_OUT = {"__pycache__", "node_modules", "site-packages"}
_TAKEN = {".py", ".yaml", ".yml", ".sql", ".json", ".avsc", ".csv"}


@dataclass(frozen=True)
class Submission:
    file: str
    """The pipeline's, relative to what lies beside it."""
    files: Mapping[str, bytes]

    def __post_init__(self) -> None:
        if self.file not in self.files:
            hint = "the pipeline file is one of the files that are sent"
            raise UsageError(f"'{self.file}' is not among what was submitted", hint=hint, code="submission")
        for path in self.files:
            _refuse_unsafe(path)
        if len(self.files) > MOST_FILES:
            raise UsageError(f"more than {MOST_FILES} files were submitted", code="submission")
        if (size := sum(map(len, self.files.values()))) > MOST_BYTES:
            what = f"{size:,} bytes were submitted, {MOST_BYTES:,} are allowed"
            raise UsageError(what, hint="leave data out: only code and pipeline files belong here", code="submission")

    @classmethod
    def of(cls, file: Path) -> Submission:
        """A pipeline file with the code and files beside and below it, and the whorl.yaml that is in force there."""
        folder = file.resolve().parent
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in _beside(folder)}
        above = find_config(str(file))
        config = {CONFIG: Path(above).read_bytes()} if above else {}
        return cls(file.name, {**config, **files, file.name: file.read_bytes()})

    def pack(self) -> bytes:
        """The same bytes for the same contents."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(self.files):
                packed.writestr(zipfile.ZipInfo(path), self.files[path], zipfile.ZIP_DEFLATED)
        return buffer.getvalue()


def _refuse_unsafe(path: str) -> None:
    parts = PurePosixPath(path).parts
    if not path or "\\" in path or "\0" in path or path.startswith("/") or ".." in parts or len(path) > 500:
        raise UsageError(f"'{path[:100]}' cannot name a file of a submission", code="submission")


def _beside(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_left_out(Path(root, name)))
        yield from (Path(root, name) for name in sorted(files) if Path(name).suffix in _TAKEN)


def _is_left_out(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _LEFT_OUT or (folder / "pyvenv.cfg").exists()


def unpack(packed: bytes, into: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        if sum(info.file_size for info in files.infolist()) > MOST_BYTES:
            raise UsageError(f"a bundle unpacks to more than {MOST_BYTES:,} bytes", code="submission")
        for info in files.infolist():
            _refuse_unsafe(info.filename)
            path = into / info.filename
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files.read(info))


class Bundles:
    """On disk, by hash."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def keep(self, submission: Submission) -> str:
        packed = submission.pack()
        name = hashlib.sha256(packed).hexdigest()[:32]
        path = self._folder / f"{name}.zip"
        if not path.exists():
            beside = path.with_suffix(f".{os.getpid()}.new")
            try:
                beside.write_bytes(packed)
                beside.replace(path)
            except OSError as error:
                beside.unlink(missing_ok=True)
                hint = "make room there, and submit again"
                raise WorldError(f"'{self._folder}' cannot be written: {error}", hint=hint, code="job-store") from error
        return name

    def packed(self, name: str) -> bytes:
        try:
            return (self._folder / f"{name}.zip").read_bytes()
        except OSError as error:
            hint = "it was deleted by hand; submit the pipeline again"
            raise WorldError(
                f"the bundle '{name}' is gone from '{self._folder}'", hint=hint, code="job-store"
            ) from error

    def delete(self, name: str) -> None:
        (self._folder / f"{name}.zip").unlink(missing_ok=True)
