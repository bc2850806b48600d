"""Where in the user's own code an error came from."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

_PACKAGE = str(Path(__file__).parent.parent)
_LIBRARIES = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
_INSTALLED = ("site-packages", "dist-packages")


def user_place(error: BaseException) -> str:
    """The last file:line outside Whorl, Python itself and installed packages; empty where there is none."""
    if isinstance(error, SyntaxError) and error.filename and is_users(error.filename):
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_users(frame.filename)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else ""


def is_users(file: str) -> bool:
    installed = any(folder in Path(file).parts for folder in _INSTALLED)
    return not (file.startswith(("<", _PACKAGE, *_LIBRARIES)) or installed)
