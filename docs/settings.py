"""The page of settings: each with its unit, its default and the test that shows that it takes effect; and the names that Spark and Flink have for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from docs.models import default_of, markdown, value_of
from docs.reference import WITHOUT_EFFECT
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from whorl.config.flavours import ALWAYS, FLINK, SPARK
from whorl.config.settings import Settings

_EFFECT = "tests/jobs/test_settings_take_effect.py"
TESTS = {
    "hive.metastore": "tests/config/test_store_options.py::test_where_the_metastore_is",
    "hive.derby": "tests/config/test_store_options.py::test_where_the_metastore_is",
    "hive.warehouse": "tests/config/test_store_options.py::test_where_the_metastore_is",
    "broker": f"{_EFFECT}::test_broker",
    "tasks": f"{_EFFECT}::test_tasks",
    "max_tasks": f"{_EFFECT}::test_max_tasks",
    "cogroup": "tests/tasks/test_cogroup.py::test_both_inputs_meet",
    "task_managers": "tests/server/test_member_supervision.py::test_components_are_spread_and_one_leads",
    "autoscale": "tests/server/test_autoscale.py::test_more_when_it_is_behind_for_a_while_and_never_beyond_the_most",
    "dynamic_allocation": "tests/plan/test_plan_hosts.py::test_dynamic_allocation_is_for_queries_alone",
    "ha": "tests/server/test_server_run.py::test_a_standby_takes_over_and_the_job_does_not_notice",
    "commit_interval": f"{_EFFECT}::test_commit_interval",
    "commit_records": f"{_EFFECT}::test_commit_records",
    "bulk_records": f"{_EFFECT}::test_bulk_records",
    "guarantee": "tests/tasks/test_task_loop.py::test_at_least_once_outputs_leave_at_once_and_positions_stay_exact",
    "trigger": f"{_EFFECT}::test_trigger",
    "max_per_batch": "tests/query/test_sources.py::test_options_of_the_kafka_source",
    "checkpoints": f"{_EFFECT}::test_checkpoints",
    "savepoints": "tests/cli/test_savepoints_command.py::test_savepoints_are_where_set_says",
    "state_partitions": f"{_EFFECT}::test_state_partitions",
    "edges": f"{_EFFECT}::test_edges",
    "topic_prefix": "tests/plan/test_planner.py::test_names_follow_the_settings",
    "transaction_timeout": f"{_EFFECT}::test_transaction_timeout",
    "timeout": "tests/tasks/test_reporter.py::test_it_is_named_with_its_key_and_the_record_is_to_be_skipped",
    "stop_timeout": "tests/jobs/test_topic_gone.py::test_under_a_running_job_and_at_the_next_start",
    "heartbeat": "tests/tasks/test_register.py::test_only_a_living_holder_refuses_a_second_one",
    "replication": f"{_EFFECT}::test_replication",
    "group_id": "tests/plan/test_planner.py::test_names_follow_the_settings",
    "dead_letter_topic": "tests/plan/test_planner.py::test_names_follow_the_settings",
    "create_topics": f"{_EFFECT}::test_partitions_and_create_topics",
    "partitions": f"{_EFFECT}::test_partitions_and_create_topics",
    "state.backend": f"{_EFFECT}::test_state_dir_and_backend",
    "state.dir": f"{_EFFECT}::test_state_dir_and_backend",
    "state.memory": "tests/tasks/test_large_state.py::test_a_restore_holds_no_more_than_memory_allows",
    "state.standby": "tests/tasks/test_standby.py::test_each_partition_has_its_standbys_and_never_in_the_place_of_its_owner",
    "state.query_backend": f"{_EFFECT}::test_state_query_backend",
    "restart.strategy": "tests/tasks/test_watch.py::test_without_restarts_the_first_failure_is_the_last",
    "restart.attempts": "tests/tasks/test_watch.py::test_failures_long_ago_do_not_count_and_a_new_layout_keeps_the_others",
    "restart.delay": f"{_EFFECT}::test_restart_delay_and_max_delay",
    "restart.max_delay": f"{_EFFECT}::test_restart_delay_and_max_delay",
    "restart.window": "tests/tasks/test_watch.py::test_failures_long_ago_do_not_count_and_a_new_layout_keeps_the_others",
    "master": f"{_EFFECT}::test_master",
    "resources.executors": f"{_EFFECT}::test_resources_become_those_of_spark",
    "resources.cores": f"{_EFFECT}::test_resources_become_those_of_spark",
    "resources.memory": f"{_EFFECT}::test_resources_become_those_of_spark",
    "resources.driver_memory": f"{_EFFECT}::test_resources_become_those_of_spark",
    "deploy.mode": f"{_EFFECT}::test_deploy",
    "deploy.queue": f"{_EFFECT}::test_deploy",
    "cleaner.interval": "tests/jobs/test_cleaning_run.py::test_former_lives_are_cleaned_and_the_running_one_is_not",
    "cleaner.retention": "tests/jobs/test_leftovers.py::test_what_is_younger_than_the_retention_stays",
    "cleaner.savepoints": "tests/jobs/test_leftovers.py::test_savepoints_past_their_time_go_but_never_the_newest",
    "logging.level": "tests/test_log.py::test_only_what_is_at_least_of_the_level_is_told",
    "logging.format": "tests/test_log.py::test_one_line_for_people_and_one_for_machines",
    "logging.dir": "tests/cli/test_telling.py::test_the_settings_say_where_lines_go",
    "logging.max_size": "tests/test_log.py::test_a_full_file_becomes_an_earlier_one",
    "logging.keep": "tests/test_log.py::test_a_full_file_becomes_an_earlier_one",
    "logging.spark": f"{_EFFECT}::test_logging_of_spark",
    "kafka": f"{_EFFECT}::test_kafka",
    "spark": f"{_EFFECT}::test_spark_is_passed_on_and_wins",
    "py_files": f"{_EFFECT}::test_py_files_and_archives",
    "archives": f"{_EFFECT}::test_py_files_and_archives",
    "engine": f"{_EFFECT}::test_engine",
    "max_rate_per_partition": "tests/tasks/test_pacing.py::test_rates_go_with_tasks_too",
    "backpressure": "tests/tasks/test_pacing.py::test_backpressure_takes_smaller_bulks",
    "min_rate": "tests/test_pace.py::test_it_never_falls_below_the_lowest",
    "fair": "tests/tasks/test_pacing.py::test_a_topic_does_not_wait_behind_the_backlog_of_another",
    "offsets": "tests/jobs/test_progress.py::test_progress_is_seen_everywhere_and_can_be_moved",
    "start_from": "tests/jobs/test_progress.py::test_progress_is_seen_everywhere_and_can_be_moved",
    "on_gap": "tests/tasks/test_task_loop.py::test_a_gap_that_is_accepted_is_counted_and_passed",
}
"""Of each setting: the test that shows what it does."""

UNITS = {
    "tasks": "tasks", "max_tasks": "tasks", "task_managers": "processes", "commit_records": "records", "bulk_records": "records",
    "max_per_batch": "records", "state_partitions": "partitions", "replication": "copies", "partitions": "partitions",
    "state.standby": "copies", "restart.attempts": "restarts", "resources.executors": "executors", "resources.cores": "cores",
    "logging.keep": "files", "max_rate_per_partition": "records a second", "min_rate": "records a second",
}  # fmt: skip
"""Of settings that are plain numbers."""

_HEAD = """\
<!-- Written by `python -m docs.generate`; change the models, not this page. -->
# Settings

Settings stand in `whorl.yaml` (or `whorl.json`) beside a pipeline or in a folder above it, in its profiles, in a pipeline's `settings`, or in `--set name=value`; the later wins. `whorl plan FILE --settings`
shows each value and where it came from. A duration is a number with its unit (`100ms`, `5s`, `1h30m`), a size likewise (`512KB`, `64MB`). Settings that cannot both be meant are told with both places.

```yaml
# whorl.yaml
trigger: 5s
checkpoints: hdfs://name:8020/whorl/checkpoints
restart: {strategy: fixed, attempts: 5, delay: 10s}
resources: {executors: 4, cores: 2, memory: 4GB}
cleaner: {interval: 1h, retention: 7d}
logging: {dir: logs, max_size: 10MB}
master: spark://host:7077
spark: {spark.sql.ansi.enabled: false}
profiles:
  laptop: {master: local, resources: {executors: null, cores: null}}
```

"""
_CLEANER = """
## The cleaner

A pipeline that starts over (`--fresh`), is resumed or gets another number of logical partitions begins a new life, under a new id. `whorl clean` deletes the checkpoints and topics of former lives that nothing has written to
for `cleaner.retention`, and, where `cleaner.savepoints` is set, savepoints that are older; `--dry-run` only shows them. With `cleaner.interval` a pipeline cleans up after itself while it runs. What stays: everything of
the life in the register; where the pipeline runs, all that was written in the last ten minutes; checkpoints whose ledger is not on this broker, since they may be another cluster's; the newest savepoint of each pipeline.
Savepoints hold all that they need, so none needs a topic or checkpoint of a former life.

"""
_LOGGING = """
## The log

`whorl run` shows tables on a terminal. With `--log-format text` or `json` it tells events instead, one line each, with the job, the component and the batch; `--log-level debug` also tells each batch. With
`logging.dir` the same lines go to DIR/PIPELINE.log, which becomes PIPELINE.log.1 when it is full. NO_COLOR takes the colours away. Spark's own log is off; `logging.spark: warn` or `--verbose` shows it on stderr.

"""
_FLAVOURS = """
## Spark's and Flink's names

A settings file may use the names that Spark or Flink have, written with dots or, as Flink 2 does, nested; also a file of `name value` lines by `--config spark-defaults.conf`. These become Whorl's own; all other `spark.*` is
passed on to Spark. A name that nobody knows is a finding, and so is one of Spark's former streaming (`spark.streaming.*`) that has no counterpart: nothing is dropped in silence.

"""


def page() -> str:
    rows = [
        (f"`{name}`", value_of(field), _unit(name, field), default_of(field), _meaning(name, field), _test(name))
        for name, field in leaves()
    ]
    table = markdown(("setting", "value", "unit", "default", "meaning", "shown by"), rows)
    known = [(f"`{key.name}`", f"`{key.setting}`") for key in (*SPARK, *FLINK)]
    always = [(f"`{key.name}: {str(key.takes).lower()}`", key.why) for key in ALWAYS]
    names = markdown(("name", "here"), [*known, *always])
    return "".join([_HEAD, table, _CLEANER, _LOGGING, _FLAVOURS, names])


def leaves(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every setting by its dotted name."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from leaves(kind, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def _unit(name: str, field: FieldInfo) -> str:
    value = value_of(field)
    if "duration" in value:
        return "time"
    return "bytes" if value.startswith("size") else UNITS.get(name, "")


def is_number(field: FieldInfo) -> bool:
    return field.annotation in (int, float) or bool({int, float} & set(get_args(field.annotation)))


def _meaning(name: str, field: FieldInfo) -> str:
    note = WITHOUT_EFFECT.get(name, "")
    return (field.description or "") + (f" ({note})" if note else "")


def _test(name: str) -> str:
    test = TESTS.get(name, "")
    return f"[{test.partition('::')[2]}](../{test.partition('::')[0]})" if test else ""
