"""Writes the pages that are made from the code: `python -m docs.generate`. With `--check` it only says which are not current."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from docs import codes, methods, reference, settings

FOLDER = Path(__file__).parent
PAGES: dict[str, Callable[[], str]] = {
    "pipeline-reference.md": reference.page,
    "error-codes.md": codes.page,
    "settings.md": settings.page,
    "../src/whorl/pipelines/methods.py": methods.module,
}


def main(arguments: list[str]) -> int:
    old = [name for name, page in PAGES.items() if not _is_current(FOLDER / name, page())]
    for name in old:
        if "--check" not in arguments:
            (FOLDER / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"docs/{name}: {'not current: python -m docs.generate' if '--check' in arguments else 'written'}")
    return 1 if old and "--check" in arguments else 0


def _is_current(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
