"""Which operator a thread is in right now, read off its stack: for naming the one that does not return."""

from __future__ import annotations

import linecache
import re
from types import FrameType

from whorl.operators.chain import CHAIN_FILE, Bulk
from whorl.operators.keyed_step import KeyedStep
from whorl.operators.places import is_users

_RAISED = re.compile(r"raise StepFailed\((.+), error\)")
_LINES_TO_RAISE = 2


def running_operator(frame: FrameType | None) -> tuple[str | None, str]:
    """Its id (None where no operator is running) and the user's own file:line."""
    place = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if not place and is_users(file):
            place = f"{file}:{frame.f_lineno}"
        if file.startswith(CHAIN_FILE) and (
            raised := _RAISED.search(linecache.getline(file, frame.f_lineno + _LINES_TO_RAISE))
        ):
            return raised.group(1).strip("'\""), place
        if isinstance(frame.f_locals.get("self"), Bulk | KeyedStep):
            return frame.f_locals["self"].id, place
        frame = frame.f_back
    return None, place
