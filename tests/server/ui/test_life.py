"""The life of a job in a real browser: submitted, seen at work, asked for a key, saved, rescaled, stopped and resumed; nothing is lost or doubled.

WHORL_SCREENSHOTS=1 takes pictures of it for docs/images.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Browser, Locator, Page, expect
from tests.server.running_server import Serving

from whorl.broker import Broker

PICTURES = Path(__file__).parents[3] / "docs" / "images"
CUSTOMERS = 40
PATIENCE_MS = 150_000
PIPELINE = """\
# What each customer has spent, and who has become a regular.
name: shop
sources:
  orders:
    type: kafka
    topic: shop-orders
    key: id
    schema: {id: long, customer: string, amount: long}
operators:
  - {id: paid, type: filter, where: amount > 0}
  - {id: spent, type: sum, from: paid, key: customer, of: amount, as: spent, count: orders}
  - {id: regular, type: filter, from: spent, where: spent > 5000}
sinks:
  totals: {type: kafka, topic: totals, from: spent, key: customer}
  regulars: {type: kafka, topic: regulars, from: regular, key: customer}
settings:
  tasks: 1
"""


class Shop:
    """Orders, some hundred a second, until it is closed; and what the pipeline should make of them."""

    def __init__(self, address: str) -> None:
        self.spent, self.orders = Counter[str](), Counter[str]()
        self._producer = Producer({"bootstrap.servers": address})
        self._over, self._thread = threading.Event(), threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._over.wait(0.05):
            for number in range(number + 1, number + 11):  # noqa: B020
                order = {"id": number, "customer": f"customer-{number % CUSTOMERS}", "amount": number % 7}
                self.spent[order["customer"]] += order["amount"]
                self.orders[order["customer"]] += order["amount"] > 0
                self._producer.produce("shop-orders", json.dumps(order), str(number))
            self._producer.poll(0)

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self._producer.flush(60)


def picture(page: Page, name: str) -> None:
    """Only where they are wanted: a test run leaves the tree as it was."""
    if os.environ.get("WHORL_SCREENSHOTS"):
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / f"{name}.png")


def act(page: Page, name: str, sure: str, done: str, pictured: str = "") -> None:
    page.get_by_role("group", name="Acts").get_by_role("button", name=name, exact=True).click()
    dialog = page.get_by_role("dialog")
    if name == "Rescale":
        dialog.get_by_label("Tasks of each component").fill("2")
        dialog.get_by_role("button", name="Dry run").click()
        expect(dialog).to_contain_text("Dry run: this would be done", timeout=PATIENCE_MS)
    if pictured:
        picture(page, pictured)
    dialog.get_by_role("button", name=sure, exact=True).click()
    ended(dialog, done)
    page.keyboard.press("Escape")


def ended(dialog: Locator, done: str) -> None:
    """With what was refused, where it was: a wait in vain would tell less."""
    outcome = dialog.locator(".box.good, .box.bad")
    expect(outcome).to_be_visible(timeout=PATIENCE_MS)
    expect(outcome).to_contain_text(done)


def flowing(page: Page) -> None:
    """The job runs, and its edges show that records pass."""
    expect(page.get_by_role("heading", name="shop")).to_contain_text("RUNNING", timeout=PATIENCE_MS)
    expect(page.locator(".component-name").first).to_contain_text("running", timeout=PATIENCE_MS)
    expect(page.locator(".edge path.moving").first).to_be_attached(timeout=PATIENCE_MS)
    expect(page.locator(".edge-label").first).to_contain_text("/s")


def looked_up(page: Page, url: str, customer: str) -> Locator:
    page.goto(f"{url}/ui/#/jobs/shop/state?operator=spent")
    page.get_by_label("Key", exact=True).fill(customer)
    page.get_by_role("button", name="Look up").click()
    return page.locator(".entry pre")


@pytest.mark.kafka
@pytest.mark.spark
def test_a_job_lives_in_the_browser(browser: Browser, broker: Broker, tmp_path: Path) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.create_topics([NewTopic("shop-orders", 4, 1)])["shop-orders"].result(60)
    shop, serving = Shop(broker.address), Serving(tmp_path / "server", broker.address, "--heartbeat", "5")
    page = browser.new_page(viewport={"width": 1280, "height": 760}, color_scheme="light")
    page.set_default_timeout(PATIENCE_MS)
    try:
        _live(page, serving.url, shop)
    finally:
        page.close()
        shop.close()
        serving.end()


def _live(page: Page, url: str, shop: Shop) -> None:
    _submit(page, url)
    flowing(page)
    page.wait_for_timeout(4000)
    picture(page, "graph")
    entry = looked_up(page, url, "customer-7")
    expect(entry).to_contain_text("[", timeout=60_000)
    picture(page, "state")
    page.goto(f"{url}/ui/#/jobs/shop")
    act(page, "Savepoint", "Take it", "The savepoint is complete.")
    act(page, "Rescale", "Rescale", "The job has its new size.", pictured="rescale")
    flowing(page)
    expect(page.locator(".component-facts").first).to_contain_text("2 tasks", timeout=60_000)
    _look_around(page, url)
    act(page, "Stop", "Stop", "The job has stopped.")
    expect(page.get_by_role("heading", name="shop")).to_contain_text("SUSPENDED")
    act(page, "Resume", "Resume", "The job is resumed.")
    flowing(page)
    shop.close()
    entry = looked_up(page, url, "customer-7")
    expect(entry).to_have_text(f"[{shop.spent['customer-7']},{shop.orders['customer-7']}]", timeout=PATIENCE_MS)


def _submit(page: Page, url: str) -> None:
    page.goto(f"{url}/ui/#/submit")
    text = page.get_by_label("Text of pipeline.yaml")
    text.fill(PIPELINE.replace("where: amount", "wher: amount").replace("type: sum", "type: summ"))
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".row.wrong").first).to_contain_text("wher", timeout=60_000)
    picture(page, "submit")
    text.fill(PIPELINE)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="shop")).to_be_visible()


def _look_around(page: Page, url: str) -> None:
    """All that was written down of the job meanwhile is on its pages."""
    for tab, shows in {
        "components": "spent",
        "partitions": "spent",
        "offsets": "shop.paid_spent",
        "charts": "Throughput",
        "checkpoints": "commit",
        "config": "amount > 0",
    }.items():
        page.goto(f"{url}/ui/#/jobs/shop/{tab}")
        expect(page.locator(".tab")).to_contain_text(shows)
        picture(page, tab)
    for where in ("jobs", "taskmanagers"):
        page.goto(f"{url}/ui/#/{where}")
        expect(page.locator("tbody tr").first).to_be_visible()
        picture(page, where)
    page.emulate_media(color_scheme="dark")
    page.goto(f"{url}/ui/#/jobs/shop")
    flowing(page)
    picture(page, "graph-dark")
    page.set_viewport_size({"width": 390, "height": 844})
    flowing(page)
    picture(page, "graph-phone")
    page.set_viewport_size({"width": 1280, "height": 760})
    page.emulate_media(color_scheme="light")
