"""Options of file sources and sinks, of watermarks, and of the settings of queries."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from whorl.config.settings import Settings
from whorl.config.sinks import FileSink
from whorl.config.sources import FileSource, KafkaSource, RateSource, Watermark
from whorl.schema import TEXT, Schema


def test_a_file_source() -> None:
    source = FileSource.model_validate({"path": "in", "format": "csv", "delimiter": ";", "schema": {"a": "bigint"}})
    assert source.output() == Schema((("a", "long"),))
    assert source.file_options == {"header": "true", "sep": ";"}
    assert not source.static and source.max_files is None


def test_text_needs_no_schema() -> None:
    source = FileSource.model_validate({"path": "in", "format": "text"})
    assert source.output() == TEXT and source.file_options == {}


@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
def test_static_files_may_say_themselves_what_columns_they_have(format: str) -> None:
    assert FileSource.model_validate({"path": "in", "format": format, "static": True}).output() is None
    with pytest.raises(ValidationError, match="do not say what columns"):
        FileSource.model_validate({"path": "in", "format": format})


@pytest.mark.parametrize(
    "options, said",
    [
        ({"path": "in", "format": "json", "static": True}, "do not say what columns"),
        ({"path": "in", "format": "text", "schema": {"a": "long"}}, "the one column 'value'"),
        ({"path": "in", "delimiter": ";", "schema": {"a": "long"}}, "csv files alone"),
        ({"path": "", "format": "text"}, "the path is empty"),
        ({"path": "in", "format": "text", "static": True, "max_files": 3}, "'static' and 'max_files'"),
        ({"path": "in", "format": "text", "max_files": 0}, "greater than or equal to 1"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        FileSource.model_validate(options)


def test_a_file_sink() -> None:
    sink = FileSink.model_validate({"path": "out", "format": "parquet", "partition_by": "country"})
    assert list(sink.columns()) == [(("partition_by", 0), "country")]


def test_watermarks() -> None:
    source = KafkaSource.model_validate(
        {"topic": "t", "watermark": {"column": "at", "delay": "1m"}, "max_per_batch": 9}
    )
    assert source.watermark == Watermark(column="at", delay=60.0) and source.max_per_batch == 9
    assert RateSource.model_validate({"watermark": {"column": "timestamp"}}).watermark is not None


@pytest.mark.parametrize(
    "written, meant", [("fast", "fast"), ("realtime", "realtime"), ("1s", 1.0), ("250ms", 0.25), (0, "fast")]
)
def test_triggers(written: object, meant: object) -> None:
    assert Settings.model_validate({"trigger": written}).trigger == meant


@pytest.mark.parametrize("written", ["slow", 5, True, None])
def test_what_is_no_trigger(written: object) -> None:
    with pytest.raises(ValidationError, match="does not say when a batch starts"):
        Settings.model_validate({"trigger": written})


def test_defaults_of_queries() -> None:
    settings = Settings()
    assert (settings.trigger, settings.checkpoints, settings.state_partitions, settings.max_per_batch) == (
        "fast", ".whorl/checkpoints", None, None,
    )  # fmt: skip
