"""A port at which a processor is asked how it is (`GET /`), and told to stop (`POST /stop`). It is heard on loopback unless told otherwise."""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import orjson

from whorl.errors import WorldError


class Door:
    def __init__(self, host: str, port: int, stop: Callable[[], None], figures: Callable[[], dict[str, Any]]) -> None:
        try:
            self._server = ThreadingHTTPServer((host, port), _handler(stop, figures))
        except OSError as error:
            hint = "take another, or 0: a free one is found"
            raise WorldError(f"port {port} of '{host}' cannot be had: {error}", code="port-in-use", hint=hint) from None
        self._server.daemon_threads = True
        self.url = f"http://{host}:{self._server.server_address[1]}"
        self._thread = Thread(target=self._server.serve_forever, args=(0.1,), name="whorl-processor-door", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def _handler(stop: Callable[[], None], figures: Callable[[], dict[str, Any]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/":
                self._say(200, figures())
            else:
                self._say(404, {"title": "there is GET / and POST /stop"})

        def do_POST(self) -> None:
            if self.path == "/stop":
                stop()
                self._say(202, figures())
            else:
                self._say(404, {"title": "there is GET / and POST /stop"})

        def _say(self, status: int, body: dict[str, Any]) -> None:
            data = orjson.dumps(body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None: ...

    return Handler
