"""What `make serve` runs: a broker, the job server, and two of the examples as jobs with records flowing through them; until Ctrl-C.

python examples/serve.py [PORT]
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from confluent_kafka import Producer
from graphstream.generate import links
from payments.generate import payments

from whorl.broker import Broker

HERE = Path(__file__).parent
FOREVER = 1 << 40
TOPICS = {"payments": 4, "links": 4}
BEAT_S = 0.1
A_BEAT = {"payments": 20, "links": 2}
"""Records of each topic in a tenth of a second."""
STARTS_WITHIN_S = 120


def main(port: int = 8765) -> int:
    with tempfile.TemporaryDirectory(prefix="whorl-serve-", ignore_cleanup_errors=True) as folder:
        print("starting a broker and the job server …", flush=True)
        with _broker(Path(folder)) as broker, _server(Path(folder), broker.address, port) as url, _data(broker.address):
            _submit_all(url)
            print(
                f"\nopen {url}/ui/\n\njobs: payments, graphstream; they start within a minute. Ctrl-C ends everything.",
                flush=True,
            )
            _until_told()
            print("\nstopping …", flush=True)
    return 0


def _until_told() -> None:
    over = threading.Event()
    for told in (signal.SIGINT, signal.SIGTERM):
        signal.signal(told, lambda *_: over.set())
    over.wait()


@contextmanager
def _broker(folder: Path) -> Iterator[Broker]:
    broker = Broker.start(folder / "broker")
    try:
        for topic, partitions in TOPICS.items():
            words = ["topics", "create", topic, "--partitions", str(partitions), "--broker", broker.address]
            subprocess.run([sys.executable, "-m", "whorl", *words], check=True, stdout=subprocess.DEVNULL)
        yield broker
    finally:
        broker.stop()


@contextmanager
def _server(folder: Path, address: str, port: int) -> Iterator[str]:
    """Its jobs would go on without it, so they are canceled first, and its task managers end with it."""
    command = [
        sys.executable,
        "-m",
        "whorl",
        "serve",
        "--port",
        str(port),
        "--data",
        str(folder / "server"),
        "--broker",
        address,
    ]
    server = subprocess.Popen(command, cwd=folder, start_new_session=True)  # Ctrl-C is for this process alone
    url = f"http://127.0.0.1:{port}"
    try:
        _await_answer(server, url)
        yield url
    finally:
        with suppress(httpx.HTTPError):
            _end_jobs(url)
        server.terminate()
        server.wait(60)


def _await_answer(server: subprocess.Popen[bytes], url: str) -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and server.poll() is None:
        with suppress(httpx.HTTPError):
            if httpx.get(f"{url}/readyz").is_success:
                return
        time.sleep(0.2)
    raise SystemExit(f"the job server did not start at {url}")


def _submit_all(url: str) -> None:
    for name in ("payments", "graphstream"):
        files = {
            path.name: path.read_text("utf-8") for path in (HERE / name).iterdir() if path.suffix in (".yaml", ".py")
        }
        httpx.post(f"{url}/jobs", json={"file": "pipeline.yaml", "files": files}, timeout=60).raise_for_status()


def _end_jobs(url: str) -> None:
    for job in httpx.get(f"{url}/jobs").json()["jobs"]:
        httpx.post(f"{url}/jobs/{job['id']}/cancel?wait=30", timeout=60)
    for manager in httpx.get(f"{url}/taskmanagers").json():
        with suppress(ProcessLookupError):
            os.kill(manager["pid"], signal.SIGTERM)


@contextmanager
def _data(address: str) -> Iterator[None]:
    """Records into the topics, on a thread, while the block lasts."""
    over = threading.Event()
    feeding = threading.Thread(target=_feed, args=(address, over))
    feeding.start()
    try:
        yield
    finally:
        over.set()
        feeding.join()


def _feed(address: str, over: threading.Event) -> None:
    producer = Producer({"bootstrap.servers": address})
    rows: dict[str, tuple[str, Iterator[dict[str, Any]]]] = {
        "payments": ("account", payments(FOREVER)),
        "links": ("one", links(FOREVER)),
    }
    while not over.wait(BEAT_S):
        for topic, (key, source) in rows.items():
            for row in itertools.islice(source, A_BEAT[topic]):
                producer.produce(topic, json.dumps(row), row[key])
        producer.poll(0)
    producer.flush(10)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
