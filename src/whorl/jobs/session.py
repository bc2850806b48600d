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
from whorl.jobs.stores import jars_of, store_settings
from whorl.jvm.jars import CONNECTOR, resolve
from whorl.plan.plan import Delivery, Host, Plan
from whorl.query.pins import session_settings
from whorl.spark.session import SessionOptions, close_session, open_session, slots_needed
from whorl.tasks.driver import Wanted


def session_options(
    loaded: Loaded, slots: int, folder: Path, plan: Plan | None = None, verbose: bool = False
) -> SessionOptions:
    """`plan`: whose queries are to run in it."""
    settings = loaded.settings
    bundles = [
        bundle_user_code(Path(loaded.spec.home).resolve(), folder),
        None if is_local(settings) else bundle_whorl(folder),
    ]
    queries = _query_settings(plan) if plan and plan.on(Host.QUERY) else {}
    return SessionOptions(
        name=f"whorl {loaded.spec.name}",
        master=settings.master,
        slots=slots,
        settings={**_spark_settings(settings), **queries, **_allocation(settings), **settings.spark},
        py_files=(*(str(path) for path in bundles if path), *settings.py_files),
        archives=tuple(settings.archives),
        verbose=verbose,
        log=settings.logging.spark,
    )


def slots_of(plan: Plan, ground: Ground, wanted: Mapping[str, Wanted]) -> int:
    return slots_needed(_task_slots(plan, wanted) + _query_slots(plan, ground))


@contextmanager
def session_aside(settings: Settings, name: str) -> Iterator[SparkSession]:
    """For what is done to a pipeline that does not run: no code of its own, a task for every core."""
    with tempfile.TemporaryDirectory(prefix="whorl-") as folder:
        code = () if is_local(settings) else (str(bundle_whorl(Path(folder))),)
        cores = os.cpu_count() or 1
        session = open_session(
            SessionOptions(
                f"whorl {name}",
                settings.master,
                cores,
                {**_spark_settings(settings), **session_settings(), **settings.spark},
                code,
            )
        )
        try:
            yield session
        finally:
            close_session(session)


def _allocation(settings: Settings) -> dict[str, str]:
    """Without an outside shuffle service, executors stay while others need what they have shuffled."""
    if not settings.dynamic_allocation:
        return {}
    return {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    }


def _spark_settings(settings: Settings) -> dict[str, str]:
    """Of resources and deployment; on one machine Spark takes no notice of executors."""
    return {**settings.resources.spark(), **settings.deploy.spark()}


def is_local(settings: Settings) -> bool:
    return settings.master.startswith("local")


def _task_slots(plan: Plan, wanted: Mapping[str, Wanted]) -> int:
    tasks = [(component, wanted[component.id].tasks) for component in plan.on(Host.TASKS) if component.id in wanted]
    return sum(count + component.standbys(plan.settings, count) for component, count in tasks)


def _query_slots(plan: Plan, ground: Ground) -> int:
    """A batch takes what cores there are; in real-time mode every partition that is read has a task of its own, all the time."""
    queries = plan.on(Host.QUERY)
    at_once = [component for component in queries if component.delivery is Delivery.REALTIME]
    partitions = sum(sum(ground.read_by(component).values()) * len(component.outputs) for component in at_once)
    return partitions + (os.cpu_count() or 1) * (len(queries) > len(at_once))


def _query_settings(plan: Plan) -> dict[str, str]:
    jars = [path for jars in (CONNECTOR, *jars_of(plan)) for path in resolve(jars)]
    return {**session_settings(), **store_settings(plan), "spark.jars": ",".join(map(str, jars))}
