"""The Spark session that a pipeline needs: slots for all of its long tasks, its code, the jars of its queries."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from whorl.config.loader import Loaded
from whorl.config.settings import Settings
from whorl.jobs.bundle import bundle_user_code, bundle_whorl
from whorl.jobs.ground import Ground
from whorl.jvm.jars import CONNECTOR, resolve
from whorl.plan.plan import Delivery, Host, Plan
from whorl.query.pins import session_settings
from whorl.spark.session import SessionOptions, close_session, open_session, slots_needed
from whorl.tasks.driver import Wanted


def session_options(
    plan: Plan, loaded: Loaded, ground: Ground, wanted: Mapping[str, Wanted], folder: Path, verbose: bool
) -> SessionOptions:
    settings = plan.settings
    bundles = [
        bundle_user_code(Path(loaded.spec.file).resolve().parent, folder),
        None if _is_local(settings) else bundle_whorl(folder),
    ]
    return SessionOptions(
        name=f"whorl {plan.pipeline}",
        master=settings.master,
        slots=slots_of(plan, ground, wanted),
        settings={**_query_settings(plan), **settings.spark},
        py_files=(*(str(path) for path in bundles if path), *settings.py_files),
        archives=tuple(settings.archives),
        verbose=verbose,
    )


def slots_of(plan: Plan, ground: Ground, wanted: Mapping[str, Wanted]) -> int:
    return slots_needed(_task_slots(plan, wanted) + _query_slots(plan, ground))


@contextmanager
def session_aside(settings: Settings, name: str) -> Iterator[SparkSession]:
    """For what is done to a pipeline that does not run: no code of its own, a task for every core."""
    with tempfile.TemporaryDirectory(prefix="whorl-") as folder:
        code = () if _is_local(settings) else (str(bundle_whorl(Path(folder))),)
        cores = os.cpu_count() or 1
        session = open_session(
            SessionOptions(f"whorl {name}", settings.master, cores, {**session_settings(), **settings.spark}, code)
        )
        try:
            yield session
        finally:
            close_session(session)


def _is_local(settings: Settings) -> bool:
    return settings.master.startswith("local")


def _task_slots(plan: Plan, wanted: Mapping[str, Wanted]) -> int:
    tasks = [(component, wanted[component.id].tasks) for component in plan.on(Host.TASKS)]
    return sum(count + component.standbys(plan.settings, count) for component, count in tasks)


def _query_slots(plan: Plan, ground: Ground) -> int:
    """A batch takes what cores there are; in real-time mode every partition that is read has a task of its own, all the time."""
    queries = plan.on(Host.QUERY)
    at_once = [component for component in queries if component.delivery is Delivery.REALTIME]
    partitions = sum(sum(ground.read_by(component).values()) * len(component.outputs) for component in at_once)
    return partitions + (os.cpu_count() or 1) * (len(queries) > len(at_once))


def _query_settings(plan: Plan) -> dict[str, str]:
    if not plan.on(Host.QUERY):
        return {}
    return {**session_settings(), "spark.jars": ",".join(str(path) for path in resolve(CONNECTOR))}
