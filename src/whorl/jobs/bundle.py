"""The code that executors need, as zips: the user's modules beside the pipeline file and, away from this machine, Whorl itself."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import whorl

_LEFT_OUT = {"__pycache__", "node_modules", "site-packages"}
_MOST_FILES = 2000


def bundle_user_code(folder: Path, into: Path) -> Path | None:
    """All Python files under the pipeline's folder; None where there are none."""
    files = sorted(islice(_python_files(folder), _MOST_FILES))
    return _zip(files, folder, into / "pipeline.zip") if files else None


def _python_files(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not _is_no_code(Path(root, name))]
        yield from (Path(root, name) for name in files if name.endswith(".py"))


def _is_no_code(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _LEFT_OUT or (folder / "pyvenv.cfg").exists()


def bundle_whorl(into: Path) -> Path:
    root = Path(whorl.__file__).parent
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return _zip(files, root.parent, into / "whorl.zip")


def _zip(files: list[Path], root: Path, archive: Path) -> Path:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zip_:
        for path in files:
            zip_.write(path, path.relative_to(root))
    return archive
