"""A schema registry for tests, over real HTTP: what of its REST protocol readers and writers of Avro use, answers and errors as it gives them."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


class Registry:
    def __init__(self) -> None:
        self.schemas: list[str] = []
        self.subjects: dict[str, list[int]] = {}
        self.asked: list[str] = []
        self.status = 0
        """If set, every answer is this one."""
        self.url = ""

    def register(self, subject: str, schema: object) -> int:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        if text not in self.schemas:
            self.schemas.append(text)
        id = self.schemas.index(text) + 1
        versions = self.subjects.setdefault(subject, [])
        if id not in versions:
            versions.append(id)
        return id

    def answer(self, method: str, path: str, body: str) -> tuple[int, object]:
        self.asked.append(f"{method} {path}")
        if self.status:
            return self.status, {"error_code": self.status, "message": "not now"}
        if found := re.fullmatch(r"/schemas/ids/(\d+)", path):
            id = int(found[1])
            known = 0 < id <= len(self.schemas)
            return (200, {"schema": self.schemas[id - 1]}) if known else _missing(40403, "Schema not found")
        if found := re.fullmatch(r"/subjects/([^/]+)/versions/latest", path):
            versions = self.subjects.get(unquote(found[1]))
            if not versions:
                return _missing(40401, f"Subject '{unquote(found[1])}' not found.")
            return 200, {
                "subject": found[1],
                "version": len(versions),
                "id": versions[-1],
                "schema": self.schemas[versions[-1] - 1],
            }
        if (found := re.fullmatch(r"/subjects/([^/]+)/versions", path)) and method == "POST":
            return 200, {"id": self.register(unquote(found[1]), json.loads(body)["schema"])}
        return _missing(404, "HTTP 404 Not Found")


def _missing(code: int, message: str) -> tuple[int, object]:
    return 404, {"error_code": code, "message": message}


@contextmanager
def running_registry() -> Iterator[Registry]:
    registry = Registry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def _answer(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            status, content = registry.answer(method, self.path, body)
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
