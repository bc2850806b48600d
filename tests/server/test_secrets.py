"""Whatever the server says, it says without secrets."""

from __future__ import annotations

import pytest

from whorl.errors import WorldError
from whorl.server.orders import Failed
from whorl.server.problems import problem_of
from whorl.server.schemas import Failure, LogLine, Said, SettingSaid

SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "said",
    [
        SettingSaid(name="kafka.sasl.password", value=SECRET, where="--set"),
        SettingSaid(name="spark", value={"spark.hadoop.fs.s3a.secret.key": SECRET}, where="whorl.yaml:1:1"),
        SettingSaid(name="broker", value=f"sasl://me:{SECRET}@kafka:9092", where="--set"),
        LogLine(number=1, at=0.0, level="INFO", message=f"with {SECRET}"),
        Failure(at=0.0, component="a", error=f"no: {SECRET}", trace=f"x = '{SECRET}'"),
        Failed(error=f"password={SECRET}", trace=f"token: {SECRET}"),
        problem_of(WorldError(f"the broker refused sasl.password={SECRET}")),
    ],
)
def test_nothing_that_is_said_has_a_secret_in_it(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", SECRET)
    again = type(said).model_validate(said.model_dump())
    assert SECRET not in again.model_dump_json()
    assert "***" in again.model_dump_json()
