"""What is a secret, and that it is not shown."""

from __future__ import annotations

import time

import pytest

from whorl.config.shown import masked_text
from whorl.masking import MASK, is_secret, masked, without_secrets

SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "name",
    [
        "kafka.sasl.password",
        "sasl.username",
        "sasl.jaas.config",
        "ssl.key.password",
        "ssl.key.pem",
        "spark.hadoop.fs.s3a.secret.key",
        "fs.s3a.access.key",
        "API_KEY",
        "apikey",
        "github_token",
        "Passphrase",
        "db_passwd",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)
    assert masked(name, SECRET) == MASK
    assert masked(name, None) is None


@pytest.mark.parametrize(
    "name", ["broker", "sasl.mechanism", "sasl.mechanisms", "key", "tasks", "topic", "bypass", "spark.master"]
)
def test_names_that_are_none(name: str) -> None:
    assert not is_secret(name)
    assert masked(name, "plain") == "plain"


def test_maps_and_lists_are_looked_into() -> None:
    given = {"sasl.password": SECRET, "client.id": "a", "inner": {"token": SECRET, "n": 3}, "passwords": [SECRET]}
    shown = masked("kafka", given)
    assert SECRET not in str(shown)
    assert (shown["client.id"], shown["inner"]["n"]) == ("a", 3)


@pytest.mark.parametrize(
    "text",
    [
        f"cannot log in with password={SECRET}",
        f"sasl.password: '{SECRET}'",
        f'PlainLoginModule required username="a" password="{SECRET}";',
        f"GET postgresql://app:{SECRET}@db:5432/x failed",
        f"{{'secret.key': '{SECRET}', 'x': 1}}",
        f"Authorization token = {SECRET}",
    ],
)
def test_a_line_of_a_log_has_none(text: str) -> None:
    assert SECRET not in without_secrets(text, {})
    assert MASK in without_secrets(text, {})


def test_values_of_secret_variables_are_found_anywhere() -> None:
    variables = {
        "DB_PASSWORD": SECRET,
        "DB_URL": "db.internal",
        "OTHER": "plain",
        "WHORL_SECRETS": "DB_URL, X",
        "PIN_TOKEN": "1",
    }
    assert (
        without_secrets(f"connect to db.internal with {SECRET}: plain 1", variables)
        == f"connect to {MASK} with {MASK}: plain 1"
    )


def test_ordinary_lines_stay_as_they_are() -> None:
    line = "component 'count' read 3 records from 'payments/0/12': http://127.0.0.1:4040, tasks=2, key: a"
    assert without_secrets(line, {}) == line


PIPELINE = f"""\
name: x   # the password is elsewhere
sources:
  a: {{type: kafka, topic: t, options: {{sasl.password: {SECRET}, client.id: me}}}}
settings:
  kafka:
    sasl.mechanism: PLAIN
    sasl.password: "{SECRET}"
    ssl.key.password: ${{KEY_PASSWORD}}
    ssl.key.pem: |
      {SECRET}
      {SECRET}
    sasl.jaas.config: >-
      required password={SECRET}
    sasl.oauthbearer.config: ${{X:-{SECRET}}}
  tasks: 2
"""


def test_a_pipeline_is_shown_without_secrets_line_by_line() -> None:
    shown = masked_text(PIPELINE)
    assert SECRET not in shown
    lines, before = shown.splitlines(), PIPELINE.splitlines()
    assert len(lines) == len(before)
    for number in (0, 1, 3, 4, 5, 7, 14):
        assert lines[number] == before[number]
    assert "client.id: me}}" in lines[2]


def test_a_pipeline_that_is_no_yaml_is_masked_all_the_same() -> None:
    assert SECRET not in masked_text(f"name: [\n  sasl.password: {SECRET}\n")
    assert masked_text("") == ""


def test_a_long_line_takes_no_long_time() -> None:
    begun = time.perf_counter()
    without_secrets("a" * 20_000 + "://" * 5_000 + "password" * 5_000, {})
    assert time.perf_counter() - begun < 5
