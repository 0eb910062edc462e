"""One story in a real browser, on a real server, store and workers: what an operator sees and does at 3 a.m."""

import json
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.dashboard.shop import Shop, shop_in

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]
_REDRIVE_ALL = """async () => {
  const headers = { "Content-Type": "application/json" };
  return (await fetch("/api/v1/dead/redrive", { method: "POST", headers, body: '{"all":true}' })).status;
}"""
#: So long anything may take on a slow machine.
SOON = 30_000


def _open(browser: Browser, shop: Shop, path: str) -> tuple[Page, list[str]]:
    page = browser.new_page(viewport={"width": 1360, "height": 860})
    page.set_default_timeout(SOON)
    expect.set_options(timeout=SOON)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(shop.address + path)
    return page, complaints


def test_submit_hold_kill_return_overdue_dead_edit_redrive_done(browser: Browser, tmp_path: Path) -> None:
    with shop_in(tmp_path) as shop, shop.serving():
        page, complaints = _open(browser, shop, "/leases")
        expect(page.get_by_text("Nothing is leased")).to_be_visible()
        id = _watch_a_lease(page, shop)
        _see_it_overdue(page, shop)
        shop.end_films()
        with shop.working():
            expect(_panel(page).get_by_text("Dead", exact=True).first).to_be_visible()
            expect(_panel(page)).to_contain_text("no video stream in broken.mkv")
            page.get_by_role("link", name=re.compile("Dead letters")).click()
            expect(page.get_by_role("table")).to_contain_text("ValueError")
            _edit_and_redrive(page, shop, id)
            expect(page.get_by_text("Completed", exact=True).first).to_be_visible()
            expect(page.locator("pre", has_text="frames")).to_contain_text("12345678901234567890")
        # The payload that was refused on purpose is the only thing a browser complains of.
        assert [one for one in complaints if "422" not in one] == []
        page.close()


def _panel(page: Page) -> Locator:
    return page.get_by_role("complementary", name="message")


def _row(page: Page) -> Locator:
    return page.locator("tr[data-row]", has_text="transcode")


def _watch_a_lease(page: Page, shop: Shop) -> str:
    """Submit, hold, countdown, what its handler does, kill -9, returned."""
    with shop.working() as worker:
        id = shop.submit("transcode", film="broken.mkv", minutes=90)
        expect(_row(page)).to_contain_text("Held")
        # It counts down by the server's clock, and each beat lengthens it again.
        left = set[str]()
        for _ in range(30):
            left.add(_row(page).locator("td").nth(5).inner_text())
            page.wait_for_timeout(200)
        assert {"4 s", "3 s"} & left, left
        assert not {one for one in left if one.startswith("\N{MINUS SIGN}")}, left
        _row(page).click()
        expect(_panel(page).get_by_role("heading", name=re.compile("transcode"))).to_be_visible()
        _panel(page).get_by_role("button", name="Stack now").click()
        expect(_panel(page)).to_contain_text("jobs.py")
        worker.send(signal.SIGKILL)
        worker.ends()
    expect(page.get_by_text("Nothing is leased")).to_be_visible()
    expect(_panel(page)).to_contain_text(re.compile("Worker died|Returned"))
    return id


def _see_it_overdue(page: Page, shop: Shop) -> None:
    """A frozen worker cannot be proven dead: its lease runs out in everybody's sight, and the sweep returns it."""
    with shop.working() as worker:
        expect(_row(page)).to_contain_text("Held")
        worker.send(signal.SIGSTOP)
        expect(_row(page)).to_contain_text("Overdue")
        expect(page.locator("tr.section")).to_contain_text(re.compile("Overdue 1 — the sweep"))
        expect(page.get_by_text("Nothing is leased")).to_be_visible()
        worker.send(signal.SIGKILL)
        worker.ends()


def _edit_and_redrive(page: Page, shop: Shop, id: str) -> None:
    page.goto(f"{shop.address}/messages/{id}")
    page.get_by_role("button", name="Edit and redrive…").click()
    payload, dialog = page.get_by_label("Payload, as JSON"), page.get_by_role("dialog")
    assert json.loads(payload.input_value()) == {"film": "broken.mkv", "minutes": 90}
    payload.fill('{"film": "mended.mkv", "minutes": "ninety"}')
    page.get_by_role("button", name="Check and compare").click()
    expect(dialog).to_contain_text("minutes")
    payload.fill('{"film": "mended.mkv", "minutes": 90}')
    page.get_by_role("button", name="Check and compare").click()
    expect(dialog).to_contain_text('"mended.mkv"')
    page.get_by_role("button", name="Redrive the edited message").click()
    expect(page).not_to_have_url(re.compile(id))


def test_many_are_redriven_by_filter_with_the_count_first(browser: Browser, tmp_path: Path) -> None:
    with shop_in(tmp_path) as shop, shop.serving(), shop.working():
        for number in range(7):
            shop.submit("send", to=f"{number}@nowhere")
        page, complaints = _open(browser, shop, "/dead")
        expect(page.get_by_role("row", name=re.compile("ConnectionError.*7"))).to_be_visible()
        page.get_by_role("row", name=re.compile("ConnectionError")).click()
        group = page.get_by_role("button", name="Redrive all…").last
        group.click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("7 messages match now.")
        expect(dialog).to_contain_text("counters at zero")
        dialog.get_by_role("button", name="Redrive 7").click()
        expect(page.get_by_role("status").filter(has_text="7 messages redriven")).to_be_visible()
        page.goto(f"{shop.address}/system")
        expect(page.get_by_role("row", name=re.compile("redriven.*7 messages"))).to_be_visible()
        assert complaints == []
        page.close()


def test_a_queue_is_paused_and_purged_and_all_of_it_is_asked_first(browser: Browser, tmp_path: Path) -> None:
    with shop_in(tmp_path) as shop, shop.serving():
        for number in range(3):
            shop.submit("send", to=f"ada{number}")
        page, _ = _open(browser, shop, "/queues/mail")
        page.get_by_role("button", name="Pause", exact=True).click()
        expect(page.get_by_role("dialog")).to_contain_text("3 waiting")
        page.get_by_role("dialog").get_by_role("button", name="Pause").click()
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
        page.get_by_role("button", name="Purge…").click()
        page.get_by_role("button", name="Purge 3 messages").click()
        expect(page.get_by_role("status").filter(has_text="3 messages removed")).to_be_visible()
        page.get_by_role("button", name="Resume").click()
        expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
        page.close()


def test_a_token_logs_in_and_what_it_may_not_do_is_refused(browser: Browser, tmp_path: Path) -> None:
    with shop_in(tmp_path) as shop, shop.serving(), shop.working():
        shop.submit("send", to="a@nowhere")
        made = json.loads(shop.run("token", "create", "jobs:app", "viewer", "--scope", "read", "--json"))
        page, _ = _open(browser, shop, "/dead")
        expect(page.get_by_role("heading", name="Log in")).to_be_visible()
        page.get_by_label("Access token").fill("tnr_000000000000_" + "0" * 64)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_contain_text("not valid here")
        page.get_by_label("Access token").fill(made["token"])
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("button", name="Redrive all…").first).to_be_disabled()
        page.get_by_role("row", name=re.compile("ConnectionError|max_attempts")).click()
        expect(page.get_by_text("not shown to you").first).to_be_visible()
        # Also past the page's own buttons.
        assert page.evaluate(_REDRIVE_ALL) == 403
        page.close()


def test_the_page_outlives_its_server_and_misses_nothing(browser: Browser, tmp_path: Path) -> None:
    with shop_in(tmp_path) as shop, shop.working():
        with shop.serving() as server:
            port = int(shop.address.rpartition(":")[2])
            page, _ = _open(browser, shop, "/events")
            shop.submit("send", to="first@nowhere")
            expect(page.get_by_text("no such mailbox: first@nowhere").first).to_be_visible()
            server.send(signal.SIGKILL)
            server.ends()
        expect(page.get_by_text("The server does not answer")).to_be_visible()
        expect(page.get_by_text("no such mailbox: first@nowhere").first).to_be_visible()
        for number in range(3):
            shop.submit("send", to=f"while-away-{number}@nowhere")
        with shop.serving(port):
            page.get_by_role("button", name="Try now").click()
            for number in range(3):
                expect(page.get_by_text(f"no such mailbox: while-away-{number}@nowhere").first).to_be_visible()
            expect(page.get_by_text("The server does not answer")).to_have_count(0)
        page.close()


def test_tabs_of_one_browser_share_one_stream(browser: Browser, tmp_path: Path) -> None:
    with shop_in(tmp_path) as shop, shop.serving(), shop.working():
        context = browser.new_context()
        pages = [context.new_page() for _ in range(3)]
        streams = []
        for page in pages:
            page.set_default_timeout(SOON)
            page.on("request", lambda request: streams.append(request.url) if "/events/stream" in request.url else None)
            page.goto(f"{shop.address}/events")
        shop.submit("send", to="all@nowhere")
        for page in pages:
            expect(page.get_by_text("no such mailbox: all@nowhere").first).to_be_visible()
        assert len(streams) == 1
        # The tab that has the stream is closed: another one takes over.
        pages[0].close()
        shop.submit("send", to="later@nowhere")
        for page in pages[1:]:
            expect(page.get_by_text("no such mailbox: later@nowhere").first).to_be_visible()
        assert len(streams) == 2
        context.close()
