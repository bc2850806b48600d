"""What may be written of tables, databases and servers, and what they say of themselves."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from whorl.config.settings import HiveSettings
from whorl.config.stores import STORE_SINKS, STORE_SOURCES, DeltaSource, HiveSink, JdbcSink, JdbcSource
from whorl.jobs.stores import hive_settings
from whorl.schema import Schema

DB = {"url": "jdbc:postgresql://db:5432/shop"}


@pytest.mark.parametrize(
    ("type", "options", "said"),
    [
        ("jdbc", {"url": "postgresql://db/shop", "table": "t"}, "is no JDBC URL"),
        ("jdbc", {"url": "jdbc:mysql://db/shop", "table": "t"}, "is no PostgreSQL"),
        ("jdbc", {**DB, "table": "t; DROP TABLE x"}, "is not the name of a table"),
        ("hive", {"table": "a.b.c"}, "is not the name of a table"),
        ("http", {"url": "ftp://x"}, "url"),
        ("delta", {"path": ""}, "path"),
    ],
)
def test_sinks_that_make_no_sense(type: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        STORE_SINKS[type].model_validate(options)


@pytest.mark.parametrize(
    ("type", "options", "said"),
    [
        ("jdbc", {**DB}, "needs a 'table' or a 'query'"),
        ("jdbc", {**DB, "table": "t", "query": "SELECT 1"}, "needs a 'table' or a 'query'"),
        ("delta", {"path": "x", "refresh": "10m"}, "is a stream"),
        ("delta", {"path": "x", "static": True, "max_files": 3}, "'static' and 'max_files'"),
    ],
)
def test_sources_that_make_no_sense(type: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        STORE_SOURCES[type].model_validate(options)


def test_what_takes_rows_that_change() -> None:
    keyed = JdbcSink.model_validate({**DB, "table": "t", "key": "id"})
    assert [keyed.takes_changes, JdbcSink.model_validate({**DB, "table": "t"}).takes_changes] == [True, False]
    assert not HiveSink(table="t").takes_changes


def test_nothing_secret_is_shown() -> None:
    source = JdbcSource.model_validate({"url": f"{DB['url']}?password=hush&ssl=true", "table": "t", "password": "hush"})
    assert "hush" not in source.told and "hush" not in source.place
    assert "password=***&ssl=true" in source.told


def test_what_is_static() -> None:
    assert JdbcSource.model_validate({**DB, "table": "t"}).is_static
    assert [DeltaSource(path="x").is_static, DeltaSource(path="x", static=True).is_static] == [False, True]


def test_every_sink_says_its_guarantee() -> None:
    given: dict[str, dict[str, Any]] = {
        "jdbc": {**DB, "table": "t"},
        "delta": {"path": "x"},
        "hive": {"table": "t"},
        "http": {"url": "http://x"},
    }
    for type, model in STORE_SINKS.items():
        assert model.model_validate(given[type]).guarantee.startswith(("exactly once: ", "at least once: "))


def test_a_hive_table_of_partitions_alone() -> None:
    assert list(HiveSink(table="t", partition_by=("a",)).unfit(Schema.of({"a": "string"})))
    assert not list(HiveSink(table="t", partition_by=("a",)).unfit(Schema.of({"a": "string", "b": "long"})))


def test_where_the_metastore_is(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = hive_settings(HiveSettings())
    assert own["spark.sql.catalogImplementation"] == "hive"
    assert f"databaseName={tmp_path}/.whorl/metastore" in own["spark.hadoop.javax.jdo.option.ConnectionURL"]
    assert own["spark.sql.warehouse.dir"] == f"file:{tmp_path}/.whorl/warehouse"
    far = hive_settings(HiveSettings(metastore="thrift://m:9083", warehouse="hdfs://n/w"))
    assert far["spark.hadoop.hive.metastore.uris"] == "thrift://m:9083"
    assert far["spark.sql.warehouse.dir"] == "hdfs://n/w" and "spark.hadoop.javax.jdo.option.ConnectionURL" not in far
