"""Who may do what: tokens, roles, sessions of browsers, and what comes from other sites."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.server.conftest import client_of
from tests.server.fake import PIPELINE, FakeServer

from whorl.errors import UsageError
from whorl.server.access import OPEN, Access, Role, access_of, is_loopback, refuse_strangers

SUBMIT = {"files": {"pipeline.yaml": PIPELINE.format(name="other")}}


def _bearer(role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {role}-token"}


def test_tokens_of_a_file_and_of_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("# who runs it\nadmin: a-long-secret\n\nviewer:everyone-may-look\n")
    access = access_of(file, {"WHORL_TOKENS": "operator:night-shift"})
    assert access.role("a-long-secret") is Role.ADMIN
    assert access.role("everyone-may-look") is Role.VIEWER
    assert access.role("night-shift") is Role.OPERATOR
    assert access.role("a-long-secre") is None
    assert "secret" not in repr(access)


@pytest.mark.parametrize("line", ["admin", "king:a-long-secret", "admin:short", "admin:", ":a-long-secret"])
def test_a_line_that_is_no_token_is_refused_without_telling_it(tmp_path: Path, line: str) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"viewer:everyone-may-look\n{line}\n")
    with pytest.raises(UsageError) as told:
        access_of(file, {})
    assert told.value.where == f"{file}:2"
    assert "a-long-secret" not in str(told.value)


def test_tokens_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        access_of(tmp_path / "none", {})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]"])
def test_loopback_needs_no_tokens(host: str) -> None:
    assert is_loopback(host)
    refuse_strangers(OPEN, host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org", "127.0.0.1.example.org", ""])
def test_every_other_address_does(host: str, access: Access) -> None:
    with pytest.raises(UsageError, match="no tokens"):
        refuse_strangers(OPEN, host)
    refuse_strangers(access, host)


@pytest.mark.parametrize(
    ("method", "path", "least"),
    [
        ("GET", "/jobs", "viewer"),
        ("GET", "/jobs/totals/logs", "viewer"),
        ("GET", "/taskmanagers", "viewer"),
        ("GET", "/jobs/totals/state/total/a", "viewer"),
        ("POST", "/jobs", "operator"),
        ("POST", "/check", "operator"),
        ("POST", "/jobs/totals/stop", "operator"),
        ("POST", "/jobs/totals/savepoints", "operator"),
        ("DELETE", "/jobs/totals", "admin"),
    ],
)
def test_each_route_asks_for_its_role(guarded: TestClient, method: str, path: str, least: str) -> None:
    roles = ["viewer", "operator", "admin"]
    for role in roles:
        json = SUBMIT if path in ("/jobs", "/check") and method == "POST" else None
        status = guarded.request(method, path, headers=_bearer(role), json=json).status_code
        assert (status == 403) == (roles.index(role) < roles.index(least)), (role, status)
    assert guarded.request(method, path).status_code == 401


def test_every_route_needs_a_token_but_those_that_say_so(guarded: TestClient) -> None:
    schema = guarded.get("/openapi.json").json()
    free = {"/healthz", "/readyz", "/session"}
    asked = [
        (method, path, guarded.request(method.upper(), path.replace("{", "").replace("}", ""), json={}).status_code)
        for path, item in schema["paths"].items()
        for method in item
        if path not in free
    ]
    assert len(asked) > 20
    assert not [each for each in asked if each[2] != 401]


@pytest.mark.parametrize(
    "header", ["Bearer wrong-token", "Bearer", "Basic YTpi", "bearer  ", "Bearer \xe4", "x" * 5000]
)
def test_wrong_tokens(guarded: TestClient, header: str) -> None:
    answer = guarded.get("/jobs", headers={"Authorization": header.encode("latin-1")})  # type: ignore[dict-item]
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "token"


def test_a_browser_signs_in_acts_and_signs_out(guarded: TestClient) -> None:
    assert guarded.get("/session").status_code == 401
    assert guarded.post("/session", json={"token": "wrong"}).status_code == 401
    signed = guarded.post("/session", json={"token": "operator-token"})
    cookie = signed.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
    csrf = signed.json()["csrf"]
    assert guarded.get("/session").json() == {"role": "operator", "csrf": csrf, "open": False}
    assert guarded.get("/jobs").status_code == 200
    refused = guarded.post("/jobs/totals/stop")
    assert (refused.status_code, refused.json()["code"]) == (403, "csrf")
    assert guarded.post("/jobs/totals/stop", headers={"X-CSRF-Token": "0" * 64}).status_code == 403
    assert guarded.post("/jobs/totals/stop", headers={"X-CSRF-Token": csrf}).status_code == 200
    assert guarded.delete("/jobs/totals", headers={"X-CSRF-Token": csrf}).json()["code"] == "role"
    guarded.delete("/session")
    assert guarded.get("/jobs").status_code == 401


def test_a_session_is_good_for_a_time_and_for_these_tokens_alone(access: Access) -> None:
    cookie = access.session(Role.VIEWER, now=1000)
    assert access.session_role(cookie, now=1000 + 3600) is Role.VIEWER
    assert access.session_role(cookie, now=1000 + 13 * 3600) is None
    same = access_of(variables={"WHORL_TOKENS": "admin:admin-token,viewer:viewer-token,operator:operator-token"})
    assert same.session_role(cookie, now=1000) is Role.VIEWER, "after a restart, and on a standby"
    assert access_of(variables={"WHORL_TOKENS": "admin:admin-token"}).session_role(cookie, now=1000) is None
    forged = cookie.replace("viewer", "admin")
    for wrong in (forged, "", ".", "a.b.c.d", cookie[:-1], cookie + "0", "admin.9999999999.x."):
        assert access.session_role(wrong, now=1000) is None
    assert OPEN.session_role(OPEN.session(Role.ADMIN)) is None, "without tokens nothing is signed for later"


def test_the_servers_own_task_managers_have_a_token_for_that_alone(guarded: TestClient, access: Access) -> None:
    own = {"Authorization": f"Bearer {access.manager_token}"}
    assert guarded.delete("/taskmanagers/tm-1", headers=own).status_code == 204
    assert guarded.get("/jobs", headers=own).status_code == 401
    for role, status in (("operator", 403), ("admin", 204)):
        assert guarded.delete("/taskmanagers/tm-1", headers=_bearer(role)).status_code == status
    assert not OPEN.is_manager(OPEN.manager_token)


# -- without tokens: what a web page that someone has open could try ---------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:8765", "", "evil.example:8765", "localhost.evil"]
)
def test_another_name_that_leads_here_is_refused(client: TestClient, host: str) -> None:
    answer = client.get("/jobs", headers={"Host": host})
    assert (answer.status_code, answer.json()["code"]) == (403, "host")


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "localhost", "[::1]:8765", "LOCALHOST:1"])
def test_names_of_this_machine_are_not(client: TestClient, host: str) -> None:
    assert client.get("/jobs", headers={"Host": host}).status_code == 200


def test_names_can_be_allowed_and_all_are_where_none_is_given(server: FakeServer, access: Access) -> None:
    named = client_of(server, hosts=("whorl.example",))
    assert named.get("/jobs", headers={"Host": "whorl.example:8765"}).status_code == 200
    anyone = client_of(server, access, hosts=())
    assert anyone.get("/jobs", headers={"Host": "anything", **_bearer("viewer")}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_another_site_cannot_act(client: TestClient, server: FakeServer, headers: dict[str, str]) -> None:
    answer = client.post("/jobs/totals/stop", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "csrf")
    assert server.job("totals").status == "RUNNING"


def test_the_servers_own_pages_can(client: TestClient) -> None:
    headers = {"Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/jobs/totals/stop", headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/jobs", "/nope", "/docs", "/jobs/x"])
def test_every_answer_has_the_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "unsafe" not in headers["content-security-policy"]
    assert "access-control-allow-origin" not in headers


def test_with_tls_browsers_are_told_to_stay_with_it(server: FakeServer, access: Access) -> None:
    client = client_of(server, access)
    client.base_url = "https://127.0.0.1:8765"
    assert "strict-transport-security" in client.get("/healthz").headers
    assert "Secure" in client.post("/session", json={"token": "viewer-token"}).headers["set-cookie"]
