"""One story in a real browser, on a real server, store and workers: what an operator sees and does at 3 a.m."""

import json
import re
import signal
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.dashboard.shop import SLOW, Shop, opened, shop_in

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]
#: In one step, for the page may find its server by itself and take the button away.
_TRY_NOW = "[...document.querySelectorAll('button')].find((one) => one.textContent === 'Try now')?.click()"
_REDRIVE_ALL = """async () => {
  const headers = { "Content-Type": "application/json" };
  return (await fetch("/api/v1/dead/redrive", { method: "POST", headers, body: '{"all":true}' })).status;
}"""


def _open(browser: Browser, shop: Shop, path: str) -> tuple[Page, list[str]]:
    return opened(browser, shop.address + path)


def test_submit_hold_kill_return_overdue_dead_edit_redrive_done(browser: Browser, tmp_path: Path) -> None:
    with shop_in(tmp_path, sweep_interval=8) as shop, shop.serving():
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
        left = list[str]()
        while not _was_lengthened(left):
            assert len(left) < 100, left
            left.append(_row(page).locator("td").nth(5).inner_text())
            page.wait_for_timeout(100)
        assert not [one for one in left if one.startswith("\N{MINUS SIGN}")], left
        _row(page).click()
        expect(_panel(page).get_by_role("heading", name=re.compile("transcode"))).to_be_visible()
        _panel(page).get_by_role("button", name="Stack now").click()
        expect(_panel(page)).to_contain_text("jobs.py")
        worker.send(signal.SIGKILL)
        worker.ends()
    expect(page.get_by_text("Nothing is leased")).to_be_visible()
    expect(_panel(page)).to_contain_text(re.compile("Worker died|Returned"))
    return id


def _was_lengthened(left: list[str]) -> bool:
    """Whether it fell, and then rose."""
    seconds = [int(one.split()[0]) for one in left]
    fell = next((at for at in range(1, len(seconds)) if seconds[at] < seconds[at - 1]), len(seconds))
    return any(seconds[at] > seconds[at - 1] for at in range(fell + 1, len(seconds)))


def _see_it_overdue(page: Page, shop: Shop) -> None:
    """A frozen worker cannot be proven dead: its lease runs out in everybody's sight, and the sweep returns it."""
    with shop.working() as worker:
        expect(_row(page)).to_contain_text("Held")
        # Just after a sweep: the lease has at most 4 seconds left, and the next sweep comes after it. The one with
        # which the worker began does not count: it keeps no rhythm.
        sweeps = page.get_by_role("region", name="Sweeps")
        expect(sweeps).to_contain_text(re.compile("next sweep in [1-5] s"))
        expect(sweeps).to_contain_text(re.compile("next sweep in [78] s"))
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
        shop.mail(*(f"{number}@nowhere" for number in range(7)))
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
        shop.mail(*(f"ada{number}" for number in range(3)))
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
        shop.mail("a@nowhere")
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
            streams = list[str]()
            page.on("request", lambda request: streams.append(request.url) if "/events/stream" in request.url else None)
            shop.mail("first@nowhere")
            expect(page.get_by_text("no such mailbox: first@nowhere").first).to_be_visible()
            server.send(signal.SIGKILL)
            server.ends()
        expect(page.get_by_text("The server does not answer")).to_be_visible()
        expect(page.get_by_text("no such mailbox: first@nowhere").first).to_be_visible()
        shop.mail(*(f"while-away-{number}@nowhere" for number in range(3)))
        with shop.serving(port):
            page.evaluate(_TRY_NOW)
            for number in range(3):
                expect(page.get_by_text(f"no such mailbox: while-away-{number}@nowhere").first).to_be_visible()
            expect(page.get_by_text("The server does not answer")).to_have_count(0)
            _has_every_event(page, shop)
            # The stream goes on where it was cut; the page does not only read its list anew.
            assert re.search(r"[?&]after=[1-9]\d*", streams[-1]), streams
        page.close()


def _has_every_event(page: Page, shop: Shop) -> None:
    """Each dead letter of the journal has one row, those of the time without a server too; none has two."""
    told = httpx.get(f"{shop.address}/api/v1/events?kind=dead&limit=100").raise_for_status().json()["events"]
    ids = [one["message_id"] for one in told if one["kind"] == "dead"]
    assert len(ids) == 4
    rows = page.locator("tr[data-row]", has_text="dead")
    expect(rows).to_have_count(len(ids))
    for id in ids:
        expect(rows.locator(f'a[href*="{id}"]')).to_have_count(1)


def test_tabs_of_one_browser_share_one_stream(browser: Browser, tmp_path: Path) -> None:
    with shop_in(tmp_path) as shop, shop.serving(), shop.working():
        context = browser.new_context()
        pages = [context.new_page() for _ in range(3)]
        streams = []
        for page in pages:
            page.set_default_timeout(SLOW)
            page.on("request", lambda request: streams.append(request.url) if "/events/stream" in request.url else None)
            page.goto(f"{shop.address}/events")
        shop.mail("all@nowhere")
        for page in pages:
            expect(page.get_by_text("no such mailbox: all@nowhere").first).to_be_visible()
        assert len(streams) == 1
        # The tab that has the stream is closed: another one takes over.
        pages[0].close()
        shop.mail("later@nowhere")
        for page in pages[1:]:
            expect(page.get_by_text("no such mailbox: later@nowhere").first).to_be_visible()
        assert len(streams) == 2
        context.close()
