"""Tasks that fail again and again.

Spark itself never gives up on a task here, since long-running tasks need it so. A row of a query on which an expression fails would fail for
ever, and so would a task whose Python worker cannot start. After some failures in one stage this says what the tasks died of.
"""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext

ENOUGH = 4


def failed_again_and_again(context: SparkContext, group: str, enough: int = ENOUGH) -> str:
    """Why tasks of this group's jobs fail; empty where they do not."""
    tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
    for job in tracker.getActiveJobsIds():
        owner = store.job(job).jobGroup()
        info = tracker.getJobInfo(job) if owner.isDefined() and owner.get() == group else None
        for id in info.stageIds if info else ():
            stage = tracker.getStageInfo(id)
            if stage is not None and stage.numFailedTasks >= enough:
                return _reason(context, id, stage.currentAttemptId)
    return ""


def _reason(context: SparkContext, stage: int, attempt: int) -> str:
    store: Any = context._jsc.sc().statusStore()
    tasks = store.taskList(stage, attempt, 1000)
    for index in range(tasks.size()):
        error = tasks.apply(index).errorMessage()
        if error.isDefined():
            return str(error.get())
    return "tasks fail again and again"
