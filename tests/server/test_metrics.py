"""What Prometheus scrapes, read by its own parser; and the dashboard, which names nothing that is not there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from tests.server.fake import FakeServer, submission

from whorl.server.metrics import NAMES, Running, exposition
from whorl.server.schemas import Component, ComponentStatus, Health, Job, JobStatus

DASHBOARD = Path(__file__).parents[2] / "examples" / "grafana" / "whorl.json"
UNITS = (
    "_total",
    "_seconds",
    "_bytes",
    "_records",
    "_ratio",
    "_keys",
    "_slots",
    "_tasks",
    "_partitions",
    "_offset",
    "_up",
)


def _families(text: str) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    return {
        family.name: {tuple(sorted(sample.labels.items())): sample.value for sample in family.samples}
        for family in text_string_to_metric_families(text)
    }


def _known(families: dict[str, object]) -> set[str]:
    """The parser takes `_total` off the name of a counter."""
    return {name if name in families else name.removesuffix("_total") for name in NAMES} & families.keys()


def test_the_parser_of_prometheus_takes_it_all(client: TestClient) -> None:
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = _families(answer.text)
    assert len(_known(families)) == len(NAMES)  # type: ignore[arg-type]
    job = (("job", "job0001"), ("pipeline", "totals"))
    assert families["whorl_job_up"] == {job: 1.0}
    component = (("component", "big"), *job)
    assert families["whorl_component_records_read"][component] == 1000
    assert families["whorl_component_batch_seconds"][component] == pytest.approx(0.0075)
    assert families["whorl_component_latency_seconds"][(*component, ("quantile", "0.95"))] == pytest.approx(0.009)
    place = (("component", "big"), ("job", "job0001"), ("partition", "2"), ("pipeline", "totals"), ("topic", "numbers"))
    assert families["whorl_topic_lag_records"][place] == 3
    assert families["whorl_jobs"][(("status", "RUNNING"),)] == 1
    assert families["whorl_server_resident_memory_bytes"][()] > 1 << 20


def test_names_have_units_and_every_family_is_described(client: TestClient) -> None:
    text = client.get("/metrics").text
    assert not [name for name in NAMES if not name.endswith(UNITS) and name != "whorl_jobs"]
    for name in NAMES:
        assert len(re.findall(rf"^# (?:HELP|TYPE) {name} ", text, re.MULTILINE)) == 2


def test_jobs_that_do_not_run_are_counted_and_no_more(client: TestClient, server: FakeServer) -> None:
    server.submit(submission("more"))
    client.post("/jobs/totals/cancel")
    families = _families(client.get("/metrics").text)
    assert families["whorl_jobs"][(("status", "CANCELED"),)] == 1
    assert {dict(labels)["pipeline"] for labels in families["whorl_component_up"]} == {"more"}


def test_labels_that_need_escapes_and_values_that_nobody_knows() -> None:
    odd = 'a"b\\c\nd'
    job = Job(id="1", name=odd, pipeline=odd, status=JobStatus.RUNNING, health=Health.OK, created=1.0)
    component = Component(id=odd, host="tasks", status=ComponentStatus.LOST, health=Health.FAILED)
    families = _families(exposition([Running(job, [component])], []))
    ((labels, up),) = families["whorl_component_up"].items()
    assert (dict(labels)["component"], up) == (odd, 0.0)
    assert not families["whorl_component_lag_records"]


def test_the_dashboard_names_only_what_there_is() -> None:
    board = json.loads(DASHBOARD.read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    named = {name for expression in asked for name in re.findall(r"\bwhorl_[a-z_]+", expression)}
    assert len(named) >= 12
    assert named <= set(NAMES)
    variables = {each["name"] for each in board["templating"]["list"]}
    assert {name for expression in asked for name in re.findall(r"\$(\w+)", expression)} <= variables | {
        "__rate_interval"
    }
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
