"""Each page shows what the server knows, in light, dark and on a phone."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from tests.server.ui.conftest import Open, Site
from tests.server.ui.world import World

from whorl.server.schemas import Health

Job = Callable[[str], str]
TABS = [
    "graph",
    "components",
    "partitions",
    "offsets",
    "checkpoints",
    "charts",
    "feedback",
    "exceptions",
    "logs",
    "state",
    "config",
]


def figure(text: str | None) -> int:
    """The first number of a text, without its commas."""
    found = re.search(r"[\d,]+", text or "")
    return int(found[0].replace(",", "")) if found else 0


def no_wider_than_the_screen(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_the_list_shows_jobs_worst_first_and_is_sorted_and_filtered(visit: Open) -> None:
    page = visit()
    rows = page.get_by_role("table", name="Jobs").locator("tbody tr")
    expect(rows).to_have_count(5)
    expect(rows.first).to_contain_text("greenhouse")
    expect(rows.first).to_contain_text("gave up after 5 attempts: KeyError: 'moss' (advice.py:7)")
    page.get_by_role("button", name="Job", exact=True).click()
    expect(rows.first).to_contain_text("assembly")
    page.get_by_label("Filter by name, id or reason").fill("graph")
    expect(rows).to_have_count(1)
    page.reload()
    expect(rows).to_have_count(1)
    page.get_by_label("Filter by name, id or reason").fill("")
    page.get_by_role("button", name="suspended").click()
    expect(rows).to_contain_text(["cards"])


def test_a_hundred_jobs_stay_fluent(world: World, visit: Open) -> None:
    world.many(100)
    page = visit()
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(105)
    began = time.monotonic()
    for word in ("feed-0", "feed-01", "feed-019"):
        page.get_by_label("Filter by name, id or reason").fill(word)
    expect(rows).to_have_count(1)
    assert time.monotonic() - began < 5
    took = page.evaluate(
        """() => new Promise(done => { const began = performance.now(); document.querySelector('#filter').value = '';
        document.querySelector('#filter').dispatchEvent(new Event('input')); done(performance.now() - began) })"""
    )
    expect(rows).to_have_count(105)
    assert took < 500, "drawing all rows again takes less than half a second, even on a busy machine"


def test_records_flow_on_the_graph_and_a_loop_is_drawn_as_one(visit: Open, job: Job) -> None:
    page = visit(f"#/jobs/{job('graphstream')}")
    expect(
        page.get_by_role("group", name="Pipeline graphstream: links to rings, rings to rings (loop)")
    ).to_be_visible()
    expect(page.locator(".edge.back path").first).to_be_visible()
    expect(page.locator(".edge-label.back")).to_contain_text("↺ loop")
    expect(page.locator(".edge path.moving").first).to_be_attached()
    label = page.locator(".edge-label:not(.back) text").first
    expect(label).to_contain_text("/s")
    assert 900 < figure(label.text_content()) < 1700, "four partitions of 310 a second"
    expect(page.locator(".component-name")).to_contain_text("rings · running")


def test_a_box_of_the_graph_tells_more(visit: Open, job: Job) -> None:
    page = visit(f"#/jobs/{job('payments')}")
    page.get_by_role("button", name="operator judge, python").press("Enter")
    detail = page.locator(".node-detail")
    expect(detail).to_contain_text("'judge' is python, which runs in tasks")
    expect(detail.get_by_role("link", name="Look up state")).to_be_visible()
    page.get_by_role("button", name="source payments, kafka").click()
    expect(detail).to_contain_text("amount decimal(12,2)")


def test_components_say_where_they_run(visit: Open, job: Job) -> None:
    page = visit(f"#/jobs/{job('payments')}/components")
    judge = page.locator("tbody tr", has=page.get_by_text("judge", exact=True))
    expect(judge).to_contain_text(["tm-1"])
    expect(judge).to_contain_text(["2 tasks · 12 lps · layout 3"])
    expect(page.locator("tr.more", has_text="KeyError: 'XB'")).to_contain_text("p99 12 ms")


def test_partitions_tell_how_often_when_where_and_of_what_they_failed(visit: Open, job: Job) -> None:
    page = visit(f"#/jobs/{job('payments')}/partitions")
    worst = page.get_by_role("table", name="Logical partitions").locator("tbody tr").first
    expect(worst).to_contain_text("judge")
    expect(worst).to_contain_text("worker-1 · pid 4712")
    expect(worst.locator("td").nth(5)).to_have_text("5")
    page.get_by_role("button", name="partition 3: 5 failures").click()
    told = page.locator("tr.more")
    expect(told).to_contain_text("Partition 3 of judge: failed 5 times; 5 of them known in full")
    expect(told.locator(".failure-where")).to_contain_text(["judging.py:14"] * 4)
    expect(told).to_contain_text("the broker did not answer in 30 s")
    page.get_by_role("button", name="only with failures").click()
    expect(page.locator("tbody tr:not(.more)")).to_have_count(2)


def test_offsets_checkpoints_and_settings(visit: Open, job: Job) -> None:
    page = visit(f"#/jobs/{job('payments')}/offsets")
    expect(page.get_by_role("table", name="Topics").locator("tbody tr")).to_have_count(3)
    expect(page.get_by_role("table", name="Topic partitions").locator("tbody tr")).to_have_count(12)
    page.get_by_role("link", name="Checkpoints").click()
    expect(page.get_by_role("table", name="Savepoints")).to_contain_text("before-noon")
    expect(page.get_by_role("table", name="Checkpoints")).to_contain_text("layout 3 of judge")
    page.get_by_role("link", name="Config").click()
    settings = page.get_by_role("table", name="Settings").locator("tbody tr")
    expect(settings.filter(has_text="tasks")).to_contain_text("pipeline.yaml:32:3")
    expect(settings.filter(has_text="kafka")).to_contain_text('{"sasl.password":"***"}')
    page.get_by_role("button", name="only what is set").click()
    expect(settings).to_have_count(3)
    expect(page.get_by_label("Pipeline file")).to_contain_text("CAST(amount * CASE currency")


def test_the_users_line_comes_first_and_repetition_is_counted(visit: Open, job: Job) -> None:
    page = visit(f"#/jobs/{job('payments')}/exceptions")
    failed = page.locator(".failure-group", has_text="KeyError: 'XB'")
    expect(failed).to_contain_text("4 times")
    assert (failed.locator(".failure").text_content() or "").startswith("judging.py:14")
    failed.get_by_text("Stack trace").click()
    expect(failed.locator("pre")).to_be_visible()
    page.wait_for_timeout(2500)
    expect(failed.locator("pre"), "what was opened stays open while the page goes on").to_be_visible()


def test_charts_show_values_under_the_pointer_and_the_arrow_keys(visit: Open, job: Job) -> None:
    page = visit(f"#/jobs/{job('payments')}/charts")
    charts = page.locator("figure.chart")
    expect(charts).to_have_count(4)
    throughput = charts.filter(has_text="Throughput")
    expect(throughput.locator(".values")).to_contain_text("now")
    throughput.locator("svg").focus()
    page.keyboard.press("ArrowLeft")
    expect(throughput.locator(".values time")).not_to_have_text("now")


def test_feedback_says_what_was_seen_and_what_to_change(visit: Open, job: Job) -> None:
    page = visit(f"#/jobs/{job('payments')}/feedback", may_fail=True)
    advice = page.locator(".advice")
    expect(advice).to_have_count(2)
    expect(advice.first.get_by_role("heading")).to_have_text("judge: it reads more slowly than records arrive")
    expect(advice.first).to_contain_text("lag went from 12 to 4,310 records in 5 min")
    expect(advice.first.locator("dd code")).to_have_text("tasks")
    expect(advice.last.get_by_role("heading")).to_have_text("the driver's memory is close to its limit")
    page.goto(page.url.replace(job("payments"), job("graphstream")))
    expect(page.get_by_text("Nothing to change.")).to_be_visible()
    page.goto(page.url.replace(job("graphstream"), job("assembly")))
    expect(page.get_by_text("Nothing is known yet of how the job runs.")).to_be_visible()
    expect(page.get_by_role("heading", name="assembly"), "the rest of the page is there").to_be_visible()


def test_the_log_follows_its_end_and_is_filtered(world: World, visit: Open, job: Job) -> None:
    page = visit(f"#/jobs/{job('payments')}/logs")
    log = page.get_by_role("log")
    expect(log).to_contain_text("commit 159")
    world.log(job("payments"), "a line that came later")
    expect(log.get_by_text("a line that came later")).to_be_in_viewport()
    page.get_by_role("button", name="error", exact=True).click()
    expect(log.locator(".log-line")).to_have_count(3)


def test_a_key_is_looked_up_and_stays_live(visit: Open, job: Job) -> None:
    page = visit(f"#/jobs/{job('payments')}/state?operator=judge", may_fail=True)
    expect(page.get_by_label("Operator")).to_have_value("judge")
    page.get_by_label("Key", exact=True).fill("acc-7")
    page.get_by_label("Key", exact=True).press("Enter")
    entry = page.locator(".entry")
    expect(entry).to_contain_text('"euros": "2417.96"')
    expect(entry).to_contain_text("logical partition 3")
    first = figure(entry.locator("pre").text_content())
    expect(entry.locator("pre")).not_to_contain_text(f'"payments": {first},')
    page.get_by_label("Key", exact=True).fill("nobody")
    page.get_by_role("button", name="Look up").click()
    expect(page.get_by_text("Nothing is kept for this key.")).to_be_visible()


def test_task_managers(visit: Open) -> None:
    page = visit("#/taskmanagers")
    lost = page.locator("tbody tr", has_text="tm-9")
    expect(lost).to_contain_text("lost")
    expect(lost).to_contain_text("14.2 s ago")
    expect(page.locator("tbody tr", has_text="tm-1")).to_contain_text("euros, judge, account")


def test_a_table_is_live_as_bars_lines_and_rows(visit: Open) -> None:
    page = visit("#/tables")
    page.get_by_role("table", name="Tables").get_by_role("link", name="pages").click()
    bars = page.locator(".bars li")
    expect(bars).to_have_count(5)
    expect(bars.first).to_contain_text("home")
    views = bars.first.locator("b")
    first = figure(views.text_content())
    expect(views).not_to_have_text(f"{first:,}")
    assert figure(views.text_content()) > first
    expect(page.locator("figure.chart", has_text="views over time").locator(".series")).to_have_count(4)
    expect(page.get_by_role("status").filter(has_text="5 rows")).to_be_visible()
    rows = page.get_by_role("table", name="Rows of pages")
    expect(rows.locator("tbody tr").first).to_contain_text("home")
    expect(rows.get_by_role("columnheader")).to_have_text(["Key", "views", "millis", "paid", "latest"])
    page.get_by_role("group", name="Column").get_by_role("button", name="paid").click()
    expect(bars.first).to_contain_text("checkout")
    expect(bars.first).to_contain_text("16,800")
    page.reload()
    expect(bars.first, "the address says what is shown").to_contain_text("checkout")


def test_tables_that_are_large_plain_empty_or_gone(visit: Open) -> None:
    page = visit("#/tables/many", may_fail=True)
    expect(page.get_by_text("the first 200 of 500")).to_be_visible()
    page.evaluate("location.hash = '#/tables/plain'")
    rows = page.get_by_role("table", name="Rows of plain").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first, "what the server says is never markup").to_contain_text("<b>a</b>")
    expect(page.locator(".bars")).to_have_count(0)
    page.evaluate("location.hash = '#/tables/empty'")
    expect(page.get_by_text("The table is empty.")).to_be_visible()
    page.evaluate("location.hash = '#/tables/nothing'")
    expect(page.get_by_text("There is no such table.")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_a_phone(visit: Open, job: Job, scheme: str) -> None:
    page = visit(width=390, color_scheme=scheme)
    for where in [
        "#/jobs",
        "#/tables",
        "#/tables/pages",
        "#/taskmanagers",
        "#/submit",
        *(f"#/jobs/{job('payments')}/{tab}" for tab in TABS),
    ]:
        page.evaluate("where => location.hash = where", where)
        expect(page.locator("main .loading")).to_have_count(0)
        no_wider_than_the_screen(page)


def test_the_theme_is_the_systems_until_it_is_chosen(visit: Open) -> None:
    page = visit(color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Colours: system").click()
    expect(page.get_by_role("button", name="Colours: light")).to_be_visible()
    assert page.evaluate(ground) != dark
    page.reload()
    expect(page.get_by_role("button", name="Colours: light")).to_be_visible()


def test_nothing_there_and_a_job_that_is_gone(world: World, visit: Open) -> None:
    page = visit("#/jobs/nobody", may_fail=True)
    expect(page.get_by_text("There is no such job.")).to_be_visible()
    world.kept.clear()
    page.get_by_role("link", name="All jobs").click()
    expect(page.get_by_text("No job yet.")).to_be_visible()


def test_a_job_that_is_deleted_meanwhile_says_so(world: World, visit: Open, job: Job) -> None:
    page = visit(f"#/jobs/{job('cards')}", may_fail=True)
    expect(page.get_by_role("heading", name="cards")).to_be_visible()
    del world.kept[job("cards")]
    expect(page.get_by_text("There is no such job.")).to_be_visible()


def test_a_browser_left_open_over_a_restart_goes_on(site: Site, world: World, visit: Open, job: Job) -> None:
    page = visit(f"#/jobs/{job('payments')}/components", may_fail=True)
    expect(page.locator("tbody tr").first).to_be_visible()
    site.stop()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer since")
    expect(page.locator("tbody tr").first, "what was said last stays").to_be_visible()
    id = job("payments")
    world.kept[id] = world.kept[id].model_copy(update={"health": Health.FAILED, "reason": "after the restart"})
    site.start()
    expect(page.get_by_text("after the restart")).to_be_visible()
    expect(page.get_by_text("does not answer")).to_have_count(0)
