"""What can be done, by mouse and by keyboard: each act says what will happen, how it goes, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.server.ui.conftest import Open, Site
from tests.server.ui.world import EXAMPLES, World

from whorl.errors import WorldError
from whorl.server.access import access_of

Ids = Callable[[str], str]
BROKEN = EXAMPLES / "broken.yaml"
GOOD = """
name: good
sources:
  numbers: {type: kafka, topic: numbers, key: k, schema: {k: string, n: long}}
operators:
  - {id: total, type: sum, of: n, from: numbers, key: k}
sinks:
  totals: {type: kafka, topic: totals, from: total}
"""
HOSTILE = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>'


def pressed(page: Page, act: str, sure: str | None = None) -> None:
    page.locator("main").get_by_role("button", name=act, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=sure or act, exact=True).click()


def test_stop_with_a_savepoint_and_resume(world: World, visit: Open, job: Ids) -> None:
    world.takes = 1.5
    page = visit(f"#/jobs/{job('payments')}")
    page.get_by_role("button", name="Stop", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("finishes the batch that it is at, and then stops")
    expect(dialog).to_contain_text("A savepoint is taken")
    dialog.get_by_label("Take a savepoint").uncheck()
    expect(dialog).to_contain_text("No savepoint is taken")
    dialog.get_by_label("Take a savepoint").check()
    dialog.get_by_role("button", name="Stop").click()
    expect(dialog).to_contain_text("You may close this: it goes on.")
    expect(dialog).to_contain_text("The job has stopped.")
    expect(dialog.locator("dl")).to_contain_text(".whorl/savepoints/")
    dialog.get_by_role("button", name="Close").last.click()
    expect(page.get_by_role("heading", name="payments")).to_contain_text("SUSPENDED")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(dialog.get_by_label("From").locator("option")).to_contain_text(["where it stopped", "before-noon"])
    dialog.get_by_label("From").select_option(index=1)
    expect(dialog).to_contain_text("An older savepoint takes state and positions back.")
    dialog.get_by_role("button", name="Resume").click()
    expect(dialog).to_contain_text("The job is resumed.")
    assert list(world.operations.values())[-1].result == {"savepoint": ".whorl/savepoints/payments/before-noon"}


def test_an_act_that_goes_on_after_its_dialog_was_closed_says_how_it_ended(world: World, visit: Open, job: Ids) -> None:
    world.takes = 2
    page = visit(f"#/jobs/{job('payments')}")
    page.get_by_role("button", name="Savepoint", exact=True).click()
    page.get_by_label("Name").fill("by-hand")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Taking the savepoint.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".toast")).to_contain_text("The savepoint is complete.")
    assert [each.name for each in world.saved[job("payments")]] == ["before-noon", "by-hand"]


def test_a_refusal_is_told_with_code_and_hint(world: World, visit: Open, job: Ids) -> None:
    world.refuse["savepoint"] = WorldError("the disk is full", hint="make room in .whorl/savepoints", code="disk-full")
    page = visit(f"#/jobs/{job('payments')}", may_fail=True)
    pressed(page, "Savepoint", "Take it")
    told = page.get_by_role("dialog").get_by_role("alert")
    expect(told).to_contain_text("the disk is full")
    expect(told).to_contain_text("make room in .whorl/savepoints")
    expect(told).to_contain_text("disk-full")


def test_rescale_is_tried_first(world: World, visit: Open, job: Ids) -> None:
    page = visit(f"#/jobs/{job('payments')}", may_fail=True)
    page.get_by_role("button", name="Rescale", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Rescale")).to_be_disabled()
    dialog.get_by_label("Tasks of each component").fill("99")
    dialog.get_by_role("button", name="Dry run").click()
    expect(dialog).to_contain_text("99 tasks need 99 slots, there are 8")
    dialog.get_by_label("Tasks of each component").fill("4")
    dialog.get_by_role("button", name="Dry run").click()
    expect(dialog).to_contain_text("Dry run: this would be done, nothing has been.")
    assert world.job("payments").tasks is None
    dialog.get_by_role("button", name="Rescale").click()
    expect(dialog).to_contain_text("The job has its new size.")
    assert world.job("payments").tasks == 4


def test_restart_cancel_and_delete(world: World, visit: Open, job: Ids) -> None:
    id = job("graphstream")
    page = visit(f"#/jobs/{id}/components", may_fail=True)
    page.get_by_role("button", name="Restart", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The other components go on.")
    dialog.get_by_role("button", name="Leave it").click()
    assert not world.operations or all(each.kind != "restart" for each in world.operations.values())
    pressed(page, "Restart")
    expect(dialog).to_contain_text("The component has been started again.")
    page.keyboard.press("Escape")
    pressed(page, "Cancel", "Cancel the job")
    expect(dialog).to_contain_text("The job is canceled.")
    page.keyboard.press("Escape")
    pressed(page, "Delete")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    assert id not in world.kept


def test_findings_stand_on_their_lines_and_the_repaired_pipeline_is_submitted(world: World, visit: Open) -> None:
    page = visit("#/submit")
    text = page.get_by_label("Text of pipeline.yaml")
    text.fill(BROKEN.read_text())
    page.get_by_role("button", name="Check").click()
    findings = page.get_by_role("alert", name="Findings")
    expect(findings).to_contain_text("17 findings")
    wrong = page.locator(".row.wrong")
    expect(wrong.first).to_contain_text("unknown key 'formt' in source 'orders'")
    expect(wrong.first.locator(".line-number")).to_have_text("8")
    findings.get_by_role("button").nth(1).click()
    line = "document.activeElement.value.slice(0, document.activeElement.selectionStart).split('\\n').length"
    assert page.evaluate(line) == 13
    text.fill(GOOD)
    expect(findings).to_have_count(0)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("become a job of this server")
    page.get_by_role("dialog").get_by_role("button", name="Submit").click()
    expect(page.get_by_role("navigation", name="Views of the job")).to_be_visible()
    expect(page.locator(".toast")).to_contain_text("is submitted")


def test_several_files_are_brought_and_the_pipeline_is_found_among_them(world: World, visit: Open) -> None:
    page = visit("#/submit")
    files = [EXAMPLES / "greenhouse" / name for name in ("advice.py", "pipeline.yaml", "pipeline.test.yaml")]
    world.kept.clear()
    page.get_by_label("Add files").set_input_files(files)
    expect(page.get_by_label("Pipeline file")).to_have_value("pipeline.yaml")
    page.get_by_label("Name of the job").fill("from the browser")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="from the browser")).to_be_visible()
    assert [each.name for each in world.kept.values()] == ["from the browser"]


def test_the_keyboard_alone_is_enough(visit: Open, job: Ids) -> None:
    page = visit()
    expect(page.get_by_role("table", name="Jobs")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("payments")
    expect(page.locator("tbody tr")).to_have_count(1)
    for _ in range(3):
        page.keyboard.press("Tab")
    page.get_by_role("link", name="payments").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="payments")).to_be_visible()
    page.keyboard.press("]")
    expect(page.get_by_role("link", name="Components")).to_have_attribute("aria-current", "page")
    page.keyboard.press("[")
    page.keyboard.press("[")
    expect(page.get_by_role("link", name="Config")).to_have_attribute("aria-current", "page")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Stop", exact=True).press("Enter")
    expect(page.get_by_label("Take a savepoint")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Stop", exact=True), "focus goes back to where it was").to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page.get_by_role("heading", name="Task managers")).to_be_visible()


def test_names_and_errors_are_text_and_never_markup(world: World, visit: Open) -> None:
    id = "job0001"
    hostile = {
        "name": HOSTILE,
        "reason": HOSTILE,
        "notices": [HOSTILE],
        "text": HOSTILE,
        "spark_ui": "javascript:window.hurt=1",
        "file": HOSTILE,
    }
    failed = [
        each.model_copy(update={"error": HOSTILE, "where": HOSTILE, "trace": HOSTILE}) for each in world.exceptions(id)
    ]
    world.kept[id] = world.kept[id].model_copy(update=hostile)
    world.exceptions = lambda id: failed  # type: ignore[method-assign]
    world.log(id, HOSTILE)
    page = visit("#/jobs")
    expect(page.get_by_role("link", name=HOSTILE)).to_be_visible()
    for tab in ("graph", "partitions", "exceptions", "logs", "state", "config"):
        page.evaluate("where => location.hash = where", f"#/jobs/{id}/{tab}")
        expect(page.get_by_role("heading", name=HOSTILE).first).to_be_visible()
        expect(page.locator("main .loading")).to_have_count(0)
    assert page.get_by_role("link", name="javascript:").count() == 0
    assert page.evaluate("window.hurt") is None
    assert page.locator("main img, main script").count() == 0


@pytest.fixture
def guarded(world: World) -> Iterator[Site]:
    site = Site(world, access_of(variables={"WHORL_TOKENS": "viewer:viewer-token,admin:admin-token"}))
    yield site
    site.stop()


def test_a_token_is_asked_for_and_a_viewer_may_not_act(guarded: Site, visit: Open, job: Ids) -> None:
    page = visit(f"#/jobs/{job('payments')}", at=guarded, may_fail=True)
    dialog = page.get_by_role("dialog", name="This server wants a token")
    dialog.get_by_label("Token").fill("wrong-token")
    dialog.get_by_role("button", name="Log in").click()
    expect(dialog.get_by_role("alert")).to_contain_text("this token is not known")
    dialog.get_by_label("Token").fill("viewer-token")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="payments")).to_be_visible()
    pressed(page, "Savepoint", "Take it")
    expect(page.get_by_role("dialog")).to_contain_text("is for the role operator, this token is of a viewer")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="viewer · log out").click()
    dialog.get_by_label("Token").fill("admin-token")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="admin · log out")).to_be_visible()
    page.reload()
    pressed(page, "Savepoint", "Take it")
    expect(page.get_by_role("dialog"), "the CSRF token is known after a reload").to_contain_text(
        "The savepoint is complete."
    )
