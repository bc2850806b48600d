"""A server that is told of rows, and notes what it was told; it can refuse, and be away."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Webhook:
    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []
        """Idempotency-Key and body of each request that was taken."""
        self.answer: Callable[[Any], int] = lambda body: 200
        hook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status = hook.answer(body)
                if status < 300:
                    hook.told.append((self.headers["Idempotency-Key"], body))
                data = b"no such account" if 400 <= status < 500 else b""
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/told"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
