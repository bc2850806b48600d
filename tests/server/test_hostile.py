"""Requests that mean no good, or that nobody meant: each gets a problem document, and nothing is written outside a job's folder."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from tests.server.conftest import client_of
from tests.server.fake import PIPELINE, FakeServer

from whorl.errors import UsageError
from whorl.server.uploads import MOST_FILES, submission, unpacked

YAML = PIPELINE.format(name="other")
ZIP = {"content-type": "application/zip"}


def _zip(*members: tuple[str | zipfile.ZipInfo, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


PATHS = [
    "../up.py",
    "a/../../up.py",
    "/etc/cron.d/x",
    "C:\\windows\\x",
    "C:/windows/x",
    "..\\up.py",
    "a/\x01b",
    "x" * 400,
    "ä" * 200,
    "",
    ".",
    "..",
    "\ud800.py",
]


@pytest.mark.parametrize("path", PATHS)
def test_paths_that_lead_elsewhere(client: TestClient, path: str) -> None:
    with pytest.raises(UsageError):
        submission({"pipeline.yaml": YAML.encode(), path: b"x"})
    if path.isprintable():
        answer = client.post("/jobs", json={"files": {"pipeline.yaml": YAML, path: "x"}})
        assert answer.status_code == 400
        assert answer.json()["code"] == "submission"


@pytest.mark.parametrize("path", ["../up.py", "/abs.py", "a\\..\\b.py"])
def test_paths_in_a_zip(client: TestClient, path: str) -> None:
    answer = client.post("/jobs", content=_zip(("pipeline.yaml", YAML.encode()), (path, b"x")), headers=ZIP)
    assert (answer.status_code, answer.json()["code"]) == (400, "submission")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_in_a_zip(client: TestClient, kind: int) -> None:
    link = zipfile.ZipInfo("steps.py")
    link.external_attr = (kind | 0o777) << 16
    answer = client.post("/jobs", content=_zip(("pipeline.yaml", YAML.encode()), (link, b"/etc/passwd")), headers=ZIP)
    assert answer.status_code == 400
    assert "link or device" in answer.json()["detail"]


def test_a_bomb(client: TestClient) -> None:
    bomb = _zip(("pipeline.yaml", YAML.encode()), ("zeros.csv", bytes(80 << 20)))
    assert len(bomb) < 1 << 20
    answer = client.post("/jobs", content=bomb, headers=ZIP)
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large")


def test_a_bomb_that_lies_about_its_size() -> None:
    honest = _zip(("pipeline.yaml", YAML.encode()), ("zeros.csv", bytes(20 << 20)))
    lying = honest.replace(struct.pack("<L", 20 << 20), struct.pack("<L", 10))
    with pytest.raises(UsageError):
        unpacked(lying)


def test_too_many_files(client: TestClient) -> None:
    files = [(f"f{number}.py", b"") for number in range(MOST_FILES + 1)]
    answer = client.post("/jobs", content=_zip(("pipeline.yaml", YAML.encode()), *files), headers=ZIP)
    assert answer.status_code == 413
    with pytest.raises(UsageError):
        submission(dict(files))


def test_a_file_twice_or_as_a_folder(client: TestClient) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = _zip(("pipeline.yaml", YAML.encode()), ("pipeline.yaml", b"name: y"))
    assert client.post("/jobs", content=twice, headers=ZIP).status_code == 400
    with pytest.raises(UsageError, match="a file and a folder"):
        submission({"pipeline.yaml": b"", "a": b"", "a/b": b""})
    with pytest.raises(UsageError, match="same path"):
        submission({"pipeline.yaml": b"", "a.py": b"", "./a.py": b""})


@pytest.mark.parametrize("body", [b"", b"PK", b"PK\x03\x04" + b"\xff" * 40, b"no zip", b"PK\x05\x06" + bytes(18)])
def test_a_zip_that_is_none(client: TestClient, body: bytes) -> None:
    assert client.post("/jobs", content=body, headers=ZIP).status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b'{"files": {}}',
        b'{"files": {"pipeline.yaml": 3}}',
        b'{"files": {"pipeline.yaml": "x"}, "more": 1}',
        b'{"files": {"\\ud800": "x"}}',
        b"\xff\xfe",
        b'{"a":' * 50_000,
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("path", ["/jobs", "/check", "/jobs/totals/rescale", "/jobs/totals/stop", "/session"])
def test_json_that_is_none_or_says_something_else(client: TestClient, path: str, body: bytes) -> None:
    answer = client.post(path, content=body, headers={"content-type": "application/json"})
    if body in (b"", b"null") and path == "/jobs/totals/stop":
        assert answer.status_code == 200, "its body may be left out"
        return
    assert answer.status_code in (400, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00",
        "name: [",
        "- " * 5000,
        "a: &a [*a]",
        "{" * 3000,
        "!!python/object/apply:os.system [id]",
        "include: /etc/passwd",
        "name: ../../x\nsources: {}\n",
    ],
)
def test_yaml_that_is_none_or_wants_more(client: TestClient, text: str) -> None:
    answer = client.post("/jobs", content=text, headers={"content-type": "application/yaml"})
    assert answer.status_code in (400, 422), answer.text
    assert "root:" not in answer.text


@pytest.mark.parametrize("kind", ["text/html", "application/x-tar", "image/png", "x", "multipart/mixed"])
def test_other_kinds_of_bodies(client: TestClient, kind: str) -> None:
    answer = client.post("/jobs", content=b"x", headers={"content-type": kind})
    assert (answer.status_code, answer.json()["code"]) == (415, "media")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=", b"x"),
        ("multipart/form-data; boundary=a", b"--b\r\n\r\n"),
        ("multipart/form-data; boundary=a", b"--a\r\nContent-Disposition: form-data\r\n\r\nx\r\n--a--"),
        ("multipart/form-data; boundary=a", b"--a\r\n" + b"X: y\r\n" * 3000 + b"\r\n"),
    ],
)
def test_forms_that_are_none(client: TestClient, kind: str, body: bytes) -> None:
    answer = client.post("/jobs", content=body, headers={"content-type": kind})
    assert answer.status_code in (400, 413), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_that_says_it_is_huge(client: TestClient) -> None:
    answer = client.post("/jobs", content=b"x", headers={"content-length": str(1 << 40)})
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large")


@pytest.mark.parametrize("path", ["/jobs", "/jobs/totals/stop", "/session"])
@pytest.mark.parametrize("kind", ["application/json", "application/zip", "multipart/form-data; boundary=a"])
def test_a_body_that_never_ends(server: FakeServer, path: str, kind: str) -> None:
    client = client_of(server, most_bytes=1 << 20)
    sent = 0

    def chunks() -> Iterator[bytes]:
        nonlocal sent
        yield b'--a\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n' if "form" in kind else b"["
        for _ in range(64):
            sent += 1
            yield bytes(1 << 17)

    answer = client.post(path, content=chunks(), headers={"content-type": kind})
    assert answer.status_code == 413, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("name", ["a\r\nSet-Cookie: x=1", "a\nb", "\r\n\r\n<script>"])
def test_nothing_of_a_request_becomes_a_header(client: TestClient, name: str) -> None:
    answers = [
        client.get("/jobs/" + name.replace("\r", "%0D").replace("\n", "%0A")),
        client.post("/jobs", params={"name": name}, json={"files": {"pipeline.yaml": YAML}}),
        client.post("/jobs/totals/savepoints", json={"name": name}),
        client.post("/session", json={"token": name}),
    ]
    for answer in answers:
        assert "x=1" not in answer.headers.get("set-cookie", "")
        assert "script" not in answer.headers.get("location", "")


@pytest.mark.parametrize("name", ["../../up", "a/b", ".hidden", "", "x" * 101, "a b", "ä"])
def test_names_of_savepoints_that_are_no_names(client: TestClient, name: str) -> None:
    for path in ("stop", "savepoints"):
        assert client.post(f"/jobs/totals/{path}", json={"name": name}).status_code == 422


@pytest.mark.parametrize(
    "query",
    [
        "after=-1",
        "after=x",
        "limit=0",
        "limit=100000000",
        "wait=-1",
        "wait=nan",
        "wait=inf",
        "wait=1e9",
        f"after={10**30}",
    ],
)
def test_numbers_that_are_none(client: TestClient, query: str) -> None:
    assert client.get(f"/jobs/totals/logs?{query}").status_code == 422


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "FOO"])
def test_other_methods(client: TestClient, method: str) -> None:
    answer = client.request(method, "/jobs")
    assert (answer.status_code, answer.json()["code"]) == (405, "method")
    assert answer.headers["allow"]


def test_what_fails_inside_is_told_without_a_trace(
    client: TestClient, server: FakeServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("password=hunter2")

    monkeypatch.setattr(server, "jobs", broken)
    answer = client.get("/jobs")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text
    assert "GET /jobs failed" in caplog.text
