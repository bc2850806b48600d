"""On the path of a `whorl run` that is to die: kills its driver, or a worker, with -9 at the step that WHORL_TEST_CRASH names, once.

Python imports this by itself in the driver and in every worker.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

STEP = os.environ.get("WHORL_TEST_CRASH", "")
MARK = Path(os.environ.get("WHORL_TEST_CRASHED", "/dev/null"))
DRIVER = "WHORL_TEST_DRIVER"


def kill(pid: int) -> None:
    try:
        MARK.open("x").close()
    except FileExistsError:
        return
    os.kill(pid, signal.SIGKILL)


def kill_driver() -> None:
    kill(int(os.environ[DRIVER]))


def before(owner: Any, name: str, act: Callable[[], None], when: Callable[..., bool] = lambda *_: True) -> None:
    real = getattr(owner, name)

    def replaced(*arguments: Any, **named: Any) -> Any:
        if when(*arguments):
            act()
        return real(*arguments, **named)

    setattr(owner, name, replaced)


def after(owner: Any, name: str, act: Callable[[], None]) -> None:
    real = getattr(owner, name)

    def replaced(*arguments: Any, **named: Any) -> Any:
        result = real(*arguments, **named)
        act()
        return result

    setattr(owner, name, replaced)


Steps = dict[str, Callable[[], None]]


def of_driver() -> Steps:
    from whorl.query import batches, host
    from whorl.query.ledger import Ledger
    from whorl.savepoints.life import NewLife
    from whorl.savepoints.save import Save
    from whorl.tasks.driver import Driver

    return {
        "1 take": lambda: before(Ledger, "_write", kill_driver),
        "2 fence": lambda: before(Ledger, "_fence", kill_driver),
        "3 compare": lambda: after(host, "compare", kill_driver),
        "offsets logged": lambda: before(batches.Batches, "write", kill_driver),
        "7 committed": lambda: after(batches, "write_exactly_once", kill_driver),
        "life filled": lambda: before(Driver, "adopt", kill_driver),
        "life adopted": lambda: before(NewLife, "_forget", kill_driver),
        "half a savepoint": lambda: before(Save, "_unread", kill_driver),
        "8 mirror": lambda: before(host.QueryJob, "_mirror", kill_driver, lambda job: bool(job.figures.positions)),
    }


def of_worker() -> Steps:
    from whorl.query.seat import Seat
    from whorl.tasks.states import States

    return {
        "4 sit down": lambda: before(Seat, "_sit_down", kill_driver),
        "6 drain": lambda: after(Seat, "produce", kill_driver),
        "7 one of two committed": lambda: before(Seat, "commit", kill_driver, lambda _, name, __: name.endswith("-1")),
        "copy": lambda: before(States, "store", lambda: kill(os.getpid())),
        "worker": lambda: before(Seat, "commit", lambda: kill(os.getpid())),
    }


def patch(steps: Callable[[], Steps]) -> None:
    """Python goes on after a sitecustomize that fails, and the test would wait for a death that never comes."""
    try:
        steps().get(STEP, lambda: None)()
    except Exception as error:
        print(f"tests/jobs/crash: {error!r}", file=sys.stderr, flush=True)
        os._exit(70)


if STEP and "run" in sys.orig_argv and DRIVER not in os.environ:
    os.environ[DRIVER] = str(os.getpid())
    patch(of_driver)
elif STEP and any("pyspark.daemon" in word for word in sys.orig_argv):
    patch(of_worker)
