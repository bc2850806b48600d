"""The two use cases, as a user runs them: what comes out is what plain Python makes of the same records."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from examples.alerts.generate import transactions
from examples.dashboard.generate import views
from playwright.sync_api import Browser, Page, expect
from tests.server.running_server import Serving
from tests.server.ui.conftest import browser
from tests.server.ui.test_life import picture
from tests.servers.webhook import Webhook

from whorl import read_table
from whorl.broker import Broker
from whorl.kafka.clients import KafkaClients
from whorl.kafka.reading import read_to_end

__all__ = ["browser"]
EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def own(broker: Broker, topic: Any) -> dict[str, str]:
    """Topics of its own for each that the examples name."""
    return {name: topic() for name in ("transactions", "alerts", "views", "pages")}


def _example(folder: Path, name: str, own: dict[str, str], pipeline: str) -> None:
    """A copy that reads and writes topics of its own."""
    for file in (EXAMPLES / name).iterdir():
        if file.suffix in (".yaml", ".py"):
            (folder / file.name).write_text(file.read_text())
    text = (folder / "pipeline.yaml").read_text().replace(f"name: {name}", f"name: {pipeline}")
    for word, instead in own.items():
        text = text.replace(f"topic: {word}", f"topic: {instead}")
    (folder / "pipeline.yaml").write_text(text)


def _whorl(folder: Path, broker: Broker, *words: str, given: str = "", **variables: str) -> str:
    command = [sys.executable, "-m", "whorl", *words, "--broker", broker.address]
    env = {**os.environ, **variables}
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, text=True, timeout=600, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _lines(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def expected_alerts(rows: Iterable[dict[str, Any]]) -> list[tuple[int, str]]:
    found, seen, times = [], set(), defaultdict(list)
    for row in rows:
        if row["amount"] <= 0 or row["id"] in seen:
            continue
        seen.add(row["id"])
        if row["amount"] >= 500 or row["country"] == "XK" or (row["shop"] == "casino" and row["amount"] > 100):
            found.append(
                (row["id"], "amount" if row["amount"] >= 500 else "country" if row["country"] == "XK" else "shop")
            )
        at = datetime.fromisoformat(row["at"])
        near = [time for time in times[row["card"]] if abs((at - time).total_seconds()) < 60]
        times[row["card"]] = [*near, at]
        if len(near) >= 4:
            found.append((row["id"], "velocity"))
    return sorted(found)


def test_the_same_seed_makes_the_same_records() -> None:
    assert list(transactions(300)) == list(transactions(300)) != list(transactions(300, 12))
    assert list(views(300)) == list(views(300)) != list(views(300, 6))
    rules = {rule for _, rule in expected_alerts(transactions(500))}
    assert rules == {"amount", "country", "shop", "velocity"}


@pytest.fixture
def hook() -> Iterator[Webhook]:
    server = Webhook()
    yield server
    server.stop()


@pytest.mark.long
def test_alerts(tmp_path: Path, broker: Broker, own: dict[str, str], hook: Webhook) -> None:
    """Rules by SQL and the check with state, each transaction once, whatever is sent twice; what makes no sense is a dead letter."""
    _example(tmp_path, "alerts", own, own["alerts"])
    rows = list(transactions(500))
    _whorl(tmp_path, broker, "produce", own["transactions"], "-", "--key", "card", given=_lines(rows))
    run = ("run", "pipeline.yaml", "--until-caught-up", "--set", "partitions=1")
    told = _whorl(tmp_path, broker, *run, "--log-format", "json", "--set", "logging.dir=logs", ALERTS_URL=hook.url)
    messages = read_to_end(KafkaClients(broker.address), [(own["alerts"], 0)])
    found = [json.loads(message.value()) for message in messages]
    assert sorted((row["id"], row["rule"]) for row in found) == expected_alerts(rows)
    fast = [id for id, rule in expected_alerts(rows) if rule == "velocity"]
    assert sorted(body["id"] for _, body in hook.told) == fast and len({key for key, _ in hook.told}) == len(fast)
    wrong = sum(row["amount"] <= 0 for row in rows)
    dead = _whorl(tmp_path, broker, "dead", "list", "pipeline.yaml")
    assert f"{wrong} of {wrong} dead records" in dead
    events = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    assert {"running", "ended"} <= {event["message"] for event in events}
    assert all(event["job"] == own["alerts"] for event in events)
    logged = (tmp_path / "logs" / f"{own['alerts']}.log").read_text().splitlines()
    assert len(logged) == len(events)
    advised = _whorl(tmp_path, broker, "feedback", "pipeline.yaml")
    assert own["alerts"] in advised


def expected_pages(rows: Iterable[dict[str, Any]]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        counts[row["page"]] += 1
    return dict(counts)


@pytest.fixture
def serving(tmp_path: Path, broker: Broker) -> Iterator[Serving]:
    serving = Serving(tmp_path / "server", broker.address)
    yield serving
    serving.end()


@pytest.mark.long
def test_dashboard(tmp_path: Path, broker: Broker, own: dict[str, str], serving: Serving, browser: Browser) -> None:
    """Submitted to the job server: the table holds what was counted, and the server's page shows it and follows."""
    _example(tmp_path, "dashboard", own, own["pages"])
    rows = list(views(1500))
    _whorl(tmp_path, broker, "produce", own["views"], "-", given=_lines(rows))
    submitted = [sys.executable, "-m", "whorl", "submit", "pipeline.yaml", "--server", serving.url]
    subprocess.run(submitted, cwd=tmp_path, check=True, capture_output=True)
    expected = expected_pages(rows)
    page = browser.new_page(viewport={"width": 1100, "height": 700}, color_scheme="light")
    page.goto(f"{serving.url}/ui/#/tables/{own['pages']}?value=views")
    expect(page.locator(".bars li")).to_have_count(len(expected), timeout=120_000)
    _counted(page, expected)
    table = read_table(broker.address, own["pages"])
    assert {key: row["views"] for key, row in table.items()} == expected
    more = list(views(3000))[1500:]
    for part in range(0, len(more), 500):
        _whorl(tmp_path, broker, "produce", own["views"], "-", given=_lines(more[part : part + 500]))
    _counted(page, expected_pages(views(3000)))
    page.get_by_role("heading", name=own["pages"]).evaluate("it => it.textContent = 'pages'")
    picture(page, "dashboard")
    assert isinstance(serving.ask("GET", f"/jobs/{own['pages']}/feedback"), list)
    page.goto(f"{serving.url}/ui/#/jobs/{own['pages']}/feedback")
    expect(page.locator(".advice, .empty").first).to_be_visible(timeout=60_000)
    page.close()


def _counted(page: Page, expected: dict[str, int]) -> None:
    """Bars, the largest first."""
    said = [f"{key}{count:,}" for key, count in sorted(expected.items(), key=lambda each: -each[1])]
    expect(page.locator(".bars li")).to_have_text(said, timeout=60_000)
