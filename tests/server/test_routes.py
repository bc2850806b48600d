"""Every route over a server that runs nothing: what it answers, and with which status."""

from __future__ import annotations

import io
import threading
import time
import zipfile

import pytest
from fastapi.testclient import TestClient
from tests.server.fake import PIPELINE, FakeServer

from whorl.server.schemas import JobDetail, JobStatus, Operation, OperationStatus

YAML = PIPELINE.format(name="other")
STEPS = "def double(row):\n    return row\n"


def _zip(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return buffer.getvalue()


def test_a_job_is_submitted_as_json(client: TestClient) -> None:
    answer = client.post("/jobs?name=mine", json={"files": {"pipeline.yaml": YAML, "steps.py": STEPS}})
    assert answer.status_code == 201
    job = answer.json()
    assert (job["name"], job["pipeline"]) == ("mine", "other")
    assert client.get(answer.headers["location"]).json()["id"] == job["id"]


def test_a_job_is_submitted_as_a_zip(client: TestClient) -> None:
    body = _zip({"pipeline.yaml": YAML, "steps.py": STEPS, "whorl.yaml": "tasks: 2\n"})
    answer = client.post("/jobs", content=body, headers={"content-type": "application/zip"})
    assert answer.status_code == 201


def test_a_job_is_submitted_as_a_form(client: TestClient) -> None:
    files = [("file", ("orders.yaml", YAML)), ("file", ("steps.py", STEPS))]
    answer = client.post("/jobs", files=files, data={"name": "mine", "set": ["tasks=2"]})
    assert answer.status_code == 201
    assert answer.json()["name"] == "mine"
    detail = JobDetail.model_validate(client.get("/jobs/other").json())
    assert detail.file == "orders.yaml"


def test_a_job_is_submitted_with_a_profile_of_its_settings(client: TestClient) -> None:
    files = {"pipeline.yaml": YAML, "steps.py": STEPS, "whorl.yaml": "profiles: {night: {tasks: 1}}\n"}
    form = [("file", (path, text)) for path, text in files.items()]
    refused = client.post("/jobs?profile=day", json={"files": files})
    assert (refused.status_code, refused.json()["findings"][0]["code"]) == (422, "profile")
    assert client.post("/check", json={"files": files, "profile": "day"}).json()[0]["code"] == "profile"
    assert client.post("/jobs", files=form, data={"profile": "day"}).status_code == 422
    assert client.post("/jobs", json={"files": files, "profile": "night"}).status_code == 201


def test_a_job_is_submitted_as_a_pipeline_alone(client: TestClient) -> None:
    answer = client.post("/jobs", content=YAML, headers={"content-type": "application/yaml"})
    assert answer.status_code == 201


def test_a_pipeline_that_is_wrong_is_refused_with_all_findings(client: TestClient) -> None:
    body = {"files": {"pipeline.yaml": "name: x\nsources: {a: {type: kafke}}\nsinks: {b: {type: nosink}}\n"}}
    answer = client.post("/jobs", json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["code"] == "check"
    assert len(problem["findings"]) >= 2
    assert {2, 3} <= {found["line"] for found in problem["findings"]}
    assert client.post("/check", json=body).json() == problem["findings"]


def test_check_of_a_right_pipeline_finds_nothing_and_keeps_nothing(client: TestClient, server: FakeServer) -> None:
    assert client.post("/check", json={"files": {"pipeline.yaml": YAML}}).json() == []
    assert len(server.kept) == 1


def test_the_same_pipeline_does_not_run_twice(client: TestClient) -> None:
    text = PIPELINE.format(name="totals")
    answer = client.post("/jobs", json={"files": {"pipeline.yaml": text}})
    assert (answer.status_code, answer.json()["code"]) == (409, "already-running")


@pytest.mark.parametrize("id", ["job0001", "totals"])
@pytest.mark.parametrize(
    "view", ["", "plan", "components", "partitions", "offsets", "checkpoints", "exceptions", "history", "logs"]
)
def test_what_can_be_seen_of_a_job(client: TestClient, id: str, view: str) -> None:
    answer = client.get(f"/jobs/{id}/{view}".rstrip("/"))
    assert answer.status_code == 200
    assert answer.json()


@pytest.mark.parametrize("view", ["", "/plan", "/logs", "/state/total", "/operations/x"])
def test_a_job_that_is_not_there(client: TestClient, view: str) -> None:
    answer = client.get(f"/jobs/nobody{view}")
    assert (answer.status_code, answer.json()["code"]) == (404, "no-job")
    assert answer.json()["hint"]


def test_the_list_has_all_jobs(client: TestClient) -> None:
    assert [job["pipeline"] for job in client.get("/jobs").json()["jobs"]] == ["totals"]


def test_nodes_of_a_plan_have_places(client: TestClient) -> None:
    plan = client.get("/jobs/totals/plan").json()
    assert [(node["id"], node["column"]) for node in plan["nodes"]] == [
        ("numbers", 0),
        ("big", 1),
        ("total", 2),
        ("totals", 3),
    ]


def test_stop_and_resume(client: TestClient, server: FakeServer) -> None:
    done = Operation.model_validate(client.post("/jobs/totals/stop", json={"name": "before"}).json())
    assert done.result["savepoint"]["name"] == "before"
    assert server.job("totals").status is JobStatus.SUSPENDED
    assert client.post("/jobs/totals/stop").json()["code"] == "not-running"
    assert client.post("/jobs/totals/resume").status_code == 200
    assert server.job("totals").status is JobStatus.RUNNING


def test_what_takes_long_is_begun_and_told_later(client: TestClient, server: FakeServer) -> None:
    server.takes = 0.4
    answer = client.post("/jobs/totals/savepoints", json={"name": "one"})
    assert answer.status_code == 202
    where = answer.headers["location"]
    assert client.get(where).json()["status"] == OperationStatus.RUNNING
    over = client.get(f"{where}?wait=30").json()
    assert (over["status"], over["result"]["name"]) == (OperationStatus.DONE, "one")


def test_an_act_can_be_awaited(client: TestClient, server: FakeServer) -> None:
    server.takes = 0.4
    answer = client.post("/jobs/totals/rescale?wait=30", json={"tasks": 4})
    assert (answer.status_code, answer.json()["status"]) == (200, "DONE")


def test_rescale_needs_a_number(client: TestClient) -> None:
    assert client.post("/jobs/totals/rescale", json={}).status_code == 400
    assert client.post("/jobs/totals/rescale", json={"tasks": 0}).status_code == 422


def test_one_component_is_restarted(client: TestClient) -> None:
    assert client.post("/jobs/totals/components/big/restart").status_code == 200
    assert client.post("/jobs/totals/components/nothing/restart").json()["code"] == "no-component"


def test_a_job_is_deleted_when_it_does_not_run(client: TestClient) -> None:
    assert client.delete("/jobs/totals").status_code == 409
    client.post("/jobs/totals/cancel")
    assert client.delete("/jobs/totals").status_code == 204
    assert client.get("/jobs/totals").status_code == 404


def test_state_by_key(client: TestClient) -> None:
    assert client.get("/jobs/totals/state/total").json()[0]["value"] == {"sum": 42}
    assert client.get("/jobs/totals/state/total/a%2Fb c").json()[0]["key"] == "a/b c"
    assert client.get("/tables/prices/x").json()["value"] == {"price": 3}
    assert client.get("/tables/nothing/x").status_code == 404
    page = client.get("/tables/prices?limit=2&offset=1&sort=-price").json()
    assert ([each["key"] for each in page["rows"]], page["total"], page["offset"]) == (["pear", "plum"], 3, 1)
    assert [each["topic"] for each in client.get("/tables").json()] == ["prices"]
    assert client.get("/tables/nothing").status_code == 404


def test_logs_by_number(client: TestClient, server: FakeServer) -> None:
    for word in ("one", "two", "three"):
        server.log("totals", word)
    assert [line["message"] for line in client.get("/jobs/totals/logs?after=2").json()] == ["two", "three"]
    assert [line["number"] for line in client.get("/jobs/totals/logs?limit=2").json()] == [1, 2]


def test_logs_are_awaited(client: TestClient, server: FakeServer) -> None:
    begun = time.monotonic()
    assert client.get("/jobs/totals/logs?after=1&wait=0.3").json() == []
    assert time.monotonic() - begun >= 0.3
    threading.Timer(0.3, server.log, ("totals", "later")).start()
    assert [line["message"] for line in client.get("/jobs/totals/logs?after=1&wait=60").json()] == ["later"]


def test_ready_names_what_is_missing(client: TestClient, server: FakeServer) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").status_code == 200
    server.missing = ["the broker at 127.0.0.1:9092 does not answer", "no task manager"]
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "no task manager" in answer.json()["detail"]


def test_task_managers(client: TestClient) -> None:
    assert client.get("/taskmanagers").json()[0]["id"] == "tm-1"


def test_the_page_of_the_api_asks_nothing_of_the_outside(client: TestClient) -> None:
    page = client.get("/docs").text
    assert "POST /jobs/{id}/stop" in page
    assert "http" not in page.replace('"/openapi.json"', "")
    assert client.get("/openapi.json").json()["paths"]["/jobs"]
