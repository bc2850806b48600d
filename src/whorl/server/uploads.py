"""From the body of a request to a Submission: JSON, a zip, a form with files, or a pipeline alone.

An upload may take so many bytes and files, and no more when it is unpacked. Paths stay below the job's folder: none leads up, is
absolute, or is a link or device.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from whorl.errors import UsageError
from whorl.server.bundles import MOST_BYTES, MOST_FILES, Submission

MOST_RATIO = 100
"""Of unpacked to packed bytes: more is a bomb, not code."""
_LONGEST_PATH = 300
_CHUNK = 1 << 16
_ODD = re.compile(r"[\x00-\x1f\x7f\\:]")
_PIPELINES = ("pipeline.yaml", "pipeline.yml")


def submission(files: Mapping[str, bytes], file: str | None = None) -> Submission:
    """With the pipeline file that is named, or that can only be meant."""
    checked = _checked(files)
    main = _path(file) if file else _pipeline(checked)
    if main not in checked:
        known = ", ".join(sorted(checked)[:10])
        raise UsageError(f"'{main}' is not among the files", hint=f"there are: {known}", code="submission")
    return Submission(main, checked)


def unpacked(data: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _members(archive, len(data))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        raise _wrong(f"the zip cannot be read: {error}") from None


def _members(archive: zipfile.ZipFile, packed: int) -> dict[str, bytes]:
    infos = [info for info in archive.infolist() if not info.is_dir()]
    if len(infos) > MOST_FILES:
        raise _too_many(len(infos))
    files: dict[str, bytes] = {}
    left = min(MOST_BYTES, max(packed * MOST_RATIO, 1 << 20))
    for info in infos:
        _refuse_links(info)
        path = _path(info.filename)
        if path in files:
            raise _wrong(f"'{path}' is in the zip twice")
        files[path] = _bounded(archive, info, left)
        left -= len(files[path])
    return files


def _refuse_links(info: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise _wrong(f"'{info.filename[:100]!s}' is a link or device")
    if info.flag_bits & 1:
        raise _wrong(f"'{info.filename[:100]}' is encrypted")


def _bounded(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """What its header says of its size is not believed."""
    parts, size = [], 0
    with archive.open(info) as member:
        while part := member.read(_CHUNK):
            size += len(part)
            if size > most:
                raise _too_much()
            parts.append(part)
    return b"".join(parts)


def _checked(files: Mapping[str, bytes]) -> dict[str, bytes]:
    if len(files) > MOST_FILES:
        raise _too_many(len(files))
    if sum(map(len, files.values())) > MOST_BYTES:
        raise _too_much()
    checked = {_path(path): data for path, data in files.items()}
    if len(checked) < len(files):
        raise _wrong("two files have the same path")
    folders = {str(folder) for path in checked for folder in PurePosixPath(path).parents}
    if both := sorted(folders & checked.keys()):
        raise _wrong(f"'{both[0]}' is a file and a folder")
    return checked


def _path(given: str) -> str:
    """Below the job's folder, as it is written in the pipeline."""
    parts = PurePosixPath(given).parts
    outside = given.startswith("/") or ".." in parts or not parts
    if outside or _ODD.search(given) or len(given.encode(errors="replace")) > _LONGEST_PATH or not _encodable(given):
        raise _wrong(f"the path {given[:100]!r} is refused")
    return "/".join(parts)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _pipeline(files: Iterable[str]) -> str:
    tops = sorted(path for path in files if "/" not in path and path.endswith((".yaml", ".yml")))
    named = [path for path in tops if path in _PIPELINES]
    meant = named or [path for path in tops if path not in ("whorl.yaml", "config.yaml") and ".test." not in path]
    if len(meant) != 1:
        seen = f"several could be it: {', '.join(meant[:5])}" if meant else "there is no .yaml at the top"
        raise UsageError(f"which file is the pipeline? {seen}", hint="name it: ?file=NAME", code="submission")
    return meant[0]


def _wrong(what: str) -> UsageError:
    return UsageError(what, hint="paths are relative, with '/', and lead to plain files", code="submission")


def _too_many(number: int) -> UsageError:
    return UsageError(f"{number} files are too many", hint=f"at most {MOST_FILES}", code="too-large")


def _too_much() -> UsageError:
    hint = f"at most {MOST_BYTES >> 20} MB, and {MOST_RATIO} times the zip"
    return UsageError("the files are too large when unpacked", hint=hint, code="too-large")
