"""The code that executors need, as zips: the user's modules beside the pipeline file and, away from this machine, Whorl itself."""

from __future__ import annotations

import zipfile
from pathlib import Path

import whorl

_LEFT_OUT = {"__pycache__", "node_modules", "site-packages"}
_MOST_FILES = 2000


def bundle_user_code(folder: Path, into: Path) -> Path | None:
    """All Python files under the pipeline's folder; None where there are none."""
    files = [path for path in sorted(folder.rglob("*.py")) if _belongs(path.relative_to(folder))][:_MOST_FILES]
    return _zip(files, folder, into / "pipeline.zip") if files else None


def bundle_whorl(into: Path) -> Path:
    root = Path(whorl.__file__).parent
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return _zip(files, root.parent, into / "whorl.zip")


def _belongs(path: Path) -> bool:
    return not any(part in _LEFT_OUT or part.startswith(".") for part in path.parts)


def _zip(files: list[Path], root: Path, archive: Path) -> Path:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zip_:
        for path in files:
            zip_.write(path, path.relative_to(root))
    return archive
