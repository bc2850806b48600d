"""Settings as Spark and Flink name them, and settings that contradict each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from whorl.config.flavours import ALWAYS, FLINK, SPARK
from whorl.config.loader import Loaded, load
from whorl.config.settings import Settings
from whorl.errors import UsageError

PIPELINE = "sources: {s: {type: list, rows: [1]}}\nsinks: {out: {type: list}}\n"


def settled(text: str, file: str = "whorl.yaml", *given: str) -> Loaded:
    Path("p.yaml").write_text(PIPELINE)
    Path(file).write_text(text)
    named = {} if file.startswith("whorl.") else {"config": file}
    return load("p.yaml", overrides=given, **named)


def found(loaded: Loaded) -> list[str]:
    return [str(finding) for finding in loaded.findings]


def value_at(settings: Settings, path: tuple[Any, ...]) -> Any:
    value: Any = settings
    for key in path:
        value = getattr(value, str(key))
    return value


GIVEN = {
    "master": "spark://h:1", "deploy.mode": "client", "deploy.queue": "q", "resources.executors": "3", "resources.cores": "2",
    "resources.memory": "2g", "resources.driver_memory": "3g", "stop_timeout": "5000", "checkpoints": "hdfs://c", "savepoints": "hdfs://s",
    "state_partitions": "8", "restart.attempts": "4", "restart.delay": "10 s", "restart.max_delay": "1 min", "restart.window": "1 h",
    "commit_interval": "500 ms", "transaction_timeout": "2 min", "guarantee": "AT_LEAST_ONCE", "state.backend": "hashmap", "state.dir": "/x",
    "state.memory": "64mb", "restart.strategy": "fixed-delay", "tasks": "3", "max_tasks": "9", "heartbeat": "2000", "ha": "a:2181,b:2181",
    "state.query_backend": "org.x.HDFSBackedStateStoreProvider",
}  # fmt: skip


@pytest.mark.parametrize("key", [*SPARK, *FLINK], ids=lambda key: key.name)
def test_every_name_becomes_a_setting_of_ours(folder: Path, key: Any) -> None:
    loaded = settled(
        f"{key.name}: '{GIVEN[key.setting]}'\n".replace("'" + GIVEN[key.setting] + "'", GIVEN[key.setting])
    )
    assert [text for text in found(loaded) if "contradiction" not in text] == []
    assert value_at(loaded.settings, key.path) != value_at(Settings(), key.path) or key.setting in (
        "deploy.mode",
        "restart.strategy",
    )


def test_a_file_of_spark(folder: Path) -> None:
    text = "# spark-defaults\nspark.master  yarn\nspark.executor.memory=4g\nspark.yarn.queue night\nspark.sql.ansi.enabled false\nspark.streaming.stopGracefullyOnShutdown true\n"
    loaded = settled(text, "spark-defaults.conf")
    assert found(loaded) == []
    settings = loaded.settings
    assert (settings.master, settings.resources.memory, settings.deploy.queue) == ("yarn", 4 << 30, "night")
    assert settings.spark == {"spark.sql.ansi.enabled": False}


def test_a_file_of_flink_flat_and_nested(folder: Path) -> None:
    flat = settled("execution.checkpointing.interval: 10 s\nstate.backend: rocksdb\nrestart-strategy: fixed-delay\nrestart-strategy.fixed-delay.delay: 3 s\n", "flink-conf.yaml")  # fmt: skip
    nested = settled("execution: {checkpointing: {interval: 10 s}}\nrestart-strategy: {type: fixed-delay, fixed-delay: {delay: 3 s}}\n", "config.yml")  # fmt: skip
    assert found(flat) == found(nested) == []
    assert flat.settings == nested.settings
    assert (flat.settings.commit_interval, flat.settings.restart.delay, flat.settings.state.backend) == (
        10.0,
        3.0,
        "disk",
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("execution.checkpointing.unaligned: true", "whorl.yaml:1:1: [unknown-key] unknown key 'execution.checkpointing.unaligned'"),
        ("spark.streaming.blockInterval: 200ms", "[unknown-key] 'spark.streaming.blockInterval' has no effect"),
        ("state.backend: forst", "[value] 'state.backend': 'forst' has no counterpart here, only: hashmap"),
        ("heartbeat.interval: soon", "[value] 'heartbeat.interval': 'soon' is not a duration"),
        ("spark.streaming.stopGracefullyOnShutdown: false", "[contradiction] 'spark.streaming.stopGracefullyOnShutdown: False' cannot be had: a stop is always graceful"),
        ("high-availability: kubernetes", "[contradiction] 'high-availability: kubernetes' cannot be had"),
    ],
)  # fmt: skip
def test_nothing_is_dropped_in_silence(folder: Path, text: str, told: str) -> None:
    (finding,) = found(settled(f"{text}\n"))
    assert told in finding


@pytest.mark.parametrize(
    ("text", "told", "other"),
    [
        ("commit_interval: 1s\nexecution.checkpointing.interval: 5 s", "'commit_interval' and 'execution.checkpointing.interval' say different things", "1:18"),
        ("tasks: 8\nmax_tasks: 4", "'tasks' is 8, 'max_tasks' 4", "2:12"),
        ("timeout: 2m\ntransaction_timeout: 1m", "'timeout' is 2m, 'transaction_timeout' 1m", "2:22"),
        ("restart: {strategy: none, attempts: 3}", "'restart.attempts' is set, but 'restart.strategy' is none", "1:21"),
        ("restart: {delay: 1m, max_delay: 2s}", "'restart.delay' is 1m, 'restart.max_delay' 2s", "1:33"),
        ("state: {backend: memory, standby: 1}", "'state.standby' needs copies on disk", "1:18"),
        ("master: local\nresources: {executors: 2}", "'resources.executors' is of a cluster, 'master' is local", "1:9"),
        ("master: spark://h:1\ndeploy: {queue: q}", "'deploy.queue' is of YARN, 'master' is spark://h:1", "1:9"),
        ("resources: {memory: 2GB}\nspark: {spark.executor.memory: 4g}", "'resources.memory' and 'spark.spark.executor.memory' are the same thing: 2048m and 4g", "1:21"),
    ],
)  # fmt: skip
def test_contradictions_are_told_with_both_places(folder: Path, text: str, told: str, other: str) -> None:
    (finding,) = found(settled(f"{text}\n"))
    assert told in finding and f"whorl.yaml:{other}" in finding
    assert finding.startswith("whorl.yaml:") and not finding.startswith(f"whorl.yaml:{other}:")


def test_both_places_may_be_in_two_files(folder: Path) -> None:
    (finding,) = found(settled("max_tasks: 2\n", "whorl.yaml", "tasks=3"))
    assert finding.startswith("--set tasks=3:1:") and "'max_tasks' is at whorl.yaml:1:12" in finding


def test_json_will_do_but_not_both(folder: Path) -> None:
    assert settled('{"tasks": 5}', "whorl.json").settings.tasks == 5
    Path("whorl.yaml").write_text("tasks: 6\n")
    with pytest.raises(UsageError, match=r"'whorl.yaml' and 'whorl.json'"):
        load("p.yaml")


def test_dotted_names_of_our_own_and_spark_without_its_first_word(folder: Path) -> None:
    settings = settled("restart.attempts: 3\nspark: {locality.wait: 3s}\n").settings
    assert settings.restart.attempts == 3 and settings.spark == {"spark.locality.wait": "3s"}


def test_a_line_that_sets_nothing_is_found(folder: Path) -> None:
    assert found(settled("spark.master\n", "x.properties")) == ["x.properties:1:1: [value] 'spark.master' sets nothing (write `name value` or `name=value`)"]  # fmt: skip
    assert "cannot be read" in found(load("p.yaml", config="none.conf"))[0]
    assert {key.takes for key in ALWAYS} == {True, "zookeeper"}
