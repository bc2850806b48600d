from __future__ import annotations

import pickle

import pytest

from whorl.config.layers import find_config
from whorl.config.loader import load
from whorl.config.settings import Settings, effective
from whorl.errors import UsageError

PIPELINE = """\
sources: {s: {type: list, rows: [1]}}
sinks: {out: {type: list}}
settings:
  tasks: 3
  restart: {attempts: 5}
"""
FRAMEWORK = """\
broker: one:9092
tasks: 1
restart: {strategy: fixed, attempts: 2}
kafka: {security.protocol: SSL}
profiles:
  staging:
    broker: two:9092
    tasks: 2
  empty:
"""


def origins(loaded):
    return {origin.name: (origin.value, origin.where) for origin in loaded.origins}


def found(loaded):
    return [f"{f.at} {f.code}" for f in loaded.findings]


def test_layers_from_defaults_to_set(write):
    write(p=PIPELINE, whorl=FRAMEWORK)
    loaded = load("p.yaml", profile="staging", overrides=["restart.window=1h", "commit_interval=5ms"])
    assert found(loaded) == []
    settings = loaded.settings
    assert (settings.broker, settings.tasks, settings.commit_interval) == ("two:9092", 3, 0.005)
    assert (settings.restart.strategy, settings.restart.attempts, settings.restart.window) == ("fixed", 5, 3600.0)
    assert settings.bulk_records == 10_000


def test_each_value_says_where_it_came_from(write):
    write(p=PIPELINE, whorl=FRAMEWORK)
    came = origins(load("p.yaml", profile="staging", overrides=["restart.window=1h"]))
    assert came["broker"] == ("two:9092", "whorl.yaml:7:13")
    assert came["tasks"] == (3, "p.yaml:4:10")
    assert came["restart.strategy"] == ("fixed", "whorl.yaml:3:21")
    assert came["restart.attempts"] == (5, "p.yaml:5:23")
    assert came["restart.window"] == ("1h", "--set")
    assert came["restart.delay"] == ("1s", "default")
    assert came["commit_interval"] == ("100ms", "default")
    assert came["kafka.security.protocol"] == ("SSL", "whorl.yaml:4:28")
    assert came["spark"] == ({}, "default")
    assert list(came)[:2] == ["broker", "tasks"]


def test_a_profile_may_come_from_the_environment(write):
    write(p=PIPELINE, whorl=FRAMEWORK)
    assert load("p.yaml", variables={"WHORL_PROFILE": "staging"}).settings.broker == "two:9092"
    assert load("p.yaml", profile="empty", variables={"WHORL_PROFILE": "staging"}).settings.broker == "one:9092"


def test_unknown_profiles_are_found(write):
    write(p=PIPELINE, whorl=FRAMEWORK)
    loaded = load("p.yaml", profile="stagin")
    assert found(loaded) == ["whorl.yaml:6:3 profile"]
    assert loaded.findings[0].hint == "did you mean 'staging'?"
    write(other__p=PIPELINE, other__whorl="broker: x\n")
    assert found(load("other/p.yaml", profile="staging")) == ["other/whorl.yaml:1:1 profile"]


def test_a_profile_without_whorl_yaml_is_found(write):
    write(p=PIPELINE)
    assert found(load("p.yaml", profile="staging")) == ["p.yaml:1:1 profile"]


def test_whorl_yaml_is_found_beside_the_file_or_above_it(write, folder):
    write(whorl="broker: top:1\n", a__b__p=PIPELINE, a__whorl="broker: a:1\n", c__p=PIPELINE)
    assert load("a/b/p.yaml").settings.broker == "a:1"
    assert load("c/p.yaml").settings.broker == "top:1"
    assert load(folder / "c/p.yaml").settings.broker == "top:1"
    (folder / "c/.git").mkdir()
    assert find_config("c/p.yaml") is None
    assert load("c/p.yaml", config="a/whorl.yaml").settings.broker == "a:1"


def test_outside_of_repository_and_working_directory_only_the_folder_of_the_file_counts(write, folder, monkeypatch):
    write(whorl="broker: top:1\n", a__p=PIPELINE, elsewhere__x="")
    monkeypatch.chdir(folder / "elsewhere")
    assert find_config(str(folder / "a/p.yaml")) is None


def test_a_config_that_does_not_exist_is_found(write):
    write(p=PIPELINE)
    assert found(load("p.yaml", config="no.yaml")) == ["no.yaml:1:1 file"]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("- a\n", "whorl.yaml:1:1 value"),
        ("brokr: x\n", "whorl.yaml:1:1 unknown-key"),
        ("profiles: [a]\n", "whorl.yaml:1:11 value"),
        ("broker: x\nprofiles: {a: 3}\n", "whorl.yaml:2:11 value"),
    ],
)
def test_what_is_wrong_in_whorl_yaml(write, text, expected):
    write(p=PIPELINE, whorl=text)
    assert found(load("p.yaml")) == [expected]


@pytest.mark.parametrize(
    "assignment, expected",
    [
        ("taks=3", "--set taks=3:1:1 unknown-key"),
        ("tasks=four", "--set tasks=four:1:7 value"),
        ("restart.attempts=0", "--set restart.attempts=0:1:18 value"),
        ("restart.atempts=1", "--set restart.atempts=1:1:1 unknown-key"),
        ("heartbeat=1", "--set heartbeat=1:1:11 duration"),
        ("kafka=[", "--set kafka=[:2:1 yaml"),
        ("edges=topic", "--set edges=topic:1:7 value"),
    ],
)
def test_what_is_wrong_in_set(write, assignment, expected):
    write(p=PIPELINE)
    loaded = load("p.yaml", overrides=[assignment])
    assert found(loaded) == [expected]
    assert all(finding.hint for finding in loaded.findings)


def test_set_values_are_yaml_and_free_maps_take_dotted_keys(write):
    write(p=PIPELINE)
    given = [
        "kafka.sasl.mechanism=PLAIN",
        "spark.spark.ui.enabled=false",
        "py_files=[a.py, b.zip]",
        "tasks=",
        "broker=h:1=2",
    ]
    settings = load("p.yaml", overrides=given).settings
    assert settings.kafka == {"sasl.mechanism": "PLAIN"}
    assert settings.spark == {"spark.ui.enabled": False}
    assert settings.py_files == ["a.py", "b.zip"]
    assert settings.tasks is None
    assert settings.broker == "h:1=2"


@pytest.mark.parametrize("assignment", ["tasks", "=3", ""])
def test_a_set_that_sets_nothing_is_wrong_usage(write, assignment):
    write(p=PIPELINE)
    with pytest.raises(UsageError, match="sets nothing"):
        load("p.yaml", overrides=[assignment])


def test_wrong_values_leave_the_others_standing(write):
    write(p="settings:\n  tasks: many\n  commit_interval: 5\n  broker: h:1\n  restart: {attempts: 3, delay: soon}\n")
    loaded = load("p.yaml")
    assert found(loaded) == ["p.yaml:2:10 value", "p.yaml:3:20 duration", "p.yaml:5:33 duration"]
    assert (loaded.settings.broker, loaded.settings.tasks, loaded.settings.commit_interval) == ("h:1", None, 0.1)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("settings: {timeout: 60s}", ["p.yaml:1:21 timeout"]),
        ("settings: {transaction_timeout: 10s}", ["p.yaml:1:33 timeout"]),
        ("settings: {commit_interval: 2m}", ["p.yaml:1:29 timeout"]),
        ("settings: {timeout: 59s}", []),
    ],
)
def test_an_operator_may_not_outlast_the_transaction(write, text, expected):
    write(p=text)
    assert found(load("p.yaml")) == expected


def test_every_setting_is_described_and_defaults_hold_alone():
    fields = {**Settings.model_fields, **type(Settings().restart).model_fields}
    assert all(field.description for field in fields.values())
    result = effective([])
    assert result.settings == Settings() and result.findings == []
    assert {origin.where for origin in result.origins} == {"default"}
    assert pickle.loads(pickle.dumps(result.settings)) == result.settings
