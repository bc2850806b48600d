"""Settings that cannot all be meant: each is told with both places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from whorl.config.tree import Path, Tree
from whorl.errors import Finding
from whorl.units import format_duration

if TYPE_CHECKING:
    from whorl.config.settings import Settings


def contradictions(settings: Settings, merged: Tree) -> Iterator[Finding]:
    yield from _short_enough(settings, merged)
    yield from _on_disk(settings, merged)
    yield from _bounded(settings, merged)
    yield from _on_a_cluster(settings, merged)
    yield from _said_twice(settings, merged)


def _both(code: str, message: str, hint: str, merged: Tree, one: Path, other: Path) -> Finding:
    """At the one that is written; where both are, the message names the other's place."""
    first, second = (one, other) if merged.find(one) is not None else (other, one)
    also = merged.find(second)
    told = f"{message}; '{_dotted(second)}' is at {also.at}" if also is not None else message
    return Finding(code, told, hint, merged.value_at(first))


def _short_enough(settings: Settings, merged: Tree) -> Iterator[Finding]:
    limit = settings.transaction_timeout
    for name in ("timeout", "commit_interval"):
        value: float = getattr(settings, name)
        if value >= limit:
            message = f"'{name}' is {format_duration(value)}, 'transaction_timeout' {format_duration(limit)}"
            hint = f"make '{name}' shorter, or 'transaction_timeout' longer"
            yield _both("timeout", message, hint, merged, (name,), ("transaction_timeout",))


def _on_disk(settings: Settings, merged: Tree) -> Iterator[Finding]:
    if settings.state.standby and settings.state.backend == "memory":
        message = "'state.standby' needs copies on disk: what a standby has in memory no other task can take over"
        hint = "set 'state.backend: disk', or leave 'standby' out"
        yield _both("contradiction", message, hint, merged, ("state", "standby"), ("state", "backend"))


def _bounded(settings: Settings, merged: Tree) -> Iterator[Finding]:
    if settings.tasks and settings.max_tasks and settings.tasks > settings.max_tasks:
        message = f"'tasks' is {settings.tasks}, 'max_tasks' {settings.max_tasks}"
        yield _both("contradiction", message, "lower 'tasks', or raise 'max_tasks'", merged, ("tasks",), ("max_tasks",))
    restart = settings.restart
    if restart.strategy == "exponential" and restart.delay > restart.max_delay:
        message = f"'restart.delay' is {format_duration(restart.delay)}, 'restart.max_delay' {format_duration(restart.max_delay)}"
        paths: tuple[Path, Path] = (("restart", "delay"), ("restart", "max_delay"))
        yield _both("contradiction", message, "make 'delay' the shorter one", merged, *paths)
    for name in ("attempts", "delay", "max_delay", "window") if restart.strategy == "none" else ():
        if merged.find(("restart", name)) is not None:
            message = f"'restart.{name}' is set, but 'restart.strategy' is none: nothing is started again"
            yield _both("contradiction", message, "keep one", merged, ("restart", name), ("restart", "strategy"))


def _on_a_cluster(settings: Settings, merged: Tree) -> Iterator[Finding]:
    if not settings.master.startswith("local"):
        if settings.deploy.queue and not settings.master.startswith("yarn"):
            message = f"'deploy.queue' is of YARN, 'master' is {settings.master}"
            yield _both("contradiction", message, "keep one", merged, ("deploy", "queue"), ("master",))
        return
    for path in (("deploy", "queue"), ("resources", "executors"), ("resources", "cores")):
        if merged.find(path) is not None:
            message = f"'{_dotted(path)}' is of a cluster, 'master' is {settings.master}: all of it is one process"
            yield _both("contradiction", message, "set 'master', or take it away", merged, path, ("master",))


def _said_twice(settings: Settings, merged: Tree) -> Iterator[Finding]:
    """Spark's own name beside Whorl's for the same thing."""
    groups = {"resources": settings.resources.spark(), "deploy": settings.deploy.spark()}
    names = {
        "spark.executor.instances": ("resources", "executors"), "spark.executor.cores": ("resources", "cores"),
        "spark.executor.memory": ("resources", "memory"), "spark.driver.memory": ("resources", "driver_memory"),
        "spark.yarn.queue": ("deploy", "queue"),
    }  # fmt: skip
    for spark, path in names.items():
        given, own = settings.spark.get(spark), groups[path[0]].get(spark)
        if given is not None and merged.find(path) is not None and str(given) != own:
            message = f"'{_dotted(path)}' and 'spark.{spark}' are the same thing: {own} and {given}"
            yield _both("contradiction", message, "keep one", merged, ("spark", spark), path)


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path)
