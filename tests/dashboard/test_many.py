"""Much of everything: 100,000 messages on a real server, and events without end. How fast it is: `make bench`."""

import asyncio
import itertools
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.cli.process import started
from tests.dashboard.stage import staged

from tenure import Tenure
from tenure.clock import SYSTEM_CLOCK
from tenure.message import Message, Outgoing, new_id

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]
_MESSAGES, _QUEUES, _AT_ONCE = 100_000, 12, 2_000
_SOON = 60_000
#: Of one answer of the stream.
_EVENTS = 3_000


def _fill(url: str) -> None:
    async def send() -> None:
        async with Tenure(url) as app:
            for start in range(0, _MESSAGES, _AT_ONCE):
                await app.broker.send([_outgoing(number) for number in range(start, start + _AT_ONCE)])

    # The browser has this thread's event loop.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, send()).result()


def _outgoing(number: int) -> Outgoing:
    wall = SYSTEM_CLOCK.wall()
    body = msgspec.Raw(b'{"order":%d}' % number)
    queue = f"client-{number % _QUEUES:02d}-tasks"
    return Outgoing(Message(id=new_id(wall), queue=queue, task="deliver", body=body, sent_at=wall))


def test_a_hundred_thousand_messages_are_paged_filtered_and_cancelled_by_filter(
    browser: Browser, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'many.db'}"
    _fill(url)
    with started("serve", url, "--port", "0") as server:
        assert server.process.stdout is not None
        address = server.process.stdout.readline().split(" at ")[1].split()[0].rstrip("/")
        page = browser.new_page(viewport={"width": 1360, "height": 860})
        expect.set_options(timeout=_SOON)
        page.set_default_timeout(_SOON)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.goto(f"{address}/messages")
        for shown in (100, 200, 300):
            expect(page.locator("table")).to_have_attribute("aria-rowcount", str(shown + 1))
            if shown < 300:
                page.get_by_role("button", name="Look further").click()
        assert page.locator("tr[data-row]").count() < 100
        page.get_by_role("button", name="Look further").scroll_into_view_if_needed()
        expect(page.locator('tr[aria-rowindex="301"]')).to_be_visible()
        _cancel_a_queue(page)
        assert complaints == []
        page.close()


def _cancel_a_queue(page: Page) -> None:
    """By filter: the count first, then all of them; the filter outlives a reload, and nothing matches it any more."""
    page.get_by_role("button", name="+ queue").click()
    page.keyboard.type("client-03-tasks")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("client-03-tasks"))
    expect(page.get_by_role("row", name=re.compile("client-04-tasks"))).to_have_count(0)
    page.get_by_role("button", name="Cancel…").click()
    expect(page.get_by_role("dialog")).to_contain_text("at least 1,000 messages match now.")
    page.get_by_role("dialog").get_by_role("button", name="Cancel at least 1,000").click()
    of_queue = f"{len(range(3, _MESSAGES, _QUEUES)):,}"
    expect(page.get_by_role("status").filter(has_text=f"{of_queue} messages cancelled")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="queue client-03-tasks")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel…")).to_have_count(0)


def test_events_without_end_are_not_kept(browser: Browser) -> None:
    answers = itertools.count()

    def stream(_query: Mapping[str, list[str]]) -> bytes:
        """Events; then the connection ends, and the page comes for more."""
        first = next(answers) * _EVENTS + 1
        rows = []
        for seq in range(first, first + _EVENTS):
            payload = {"queue": "mail", "task": "deliver", "message_id": f"{seq:032x}", "owner": "worker-1/4f2a"}
            event = msgspec.json.encode({"type": "retried", "timestamp": seq, "payload": payload})
            rows.append(b"id: %d\ndata: %b\n\n" % (seq, event))
        return b"".join(rows)

    with staged(browser, answers={"/events/stream": stream}, is_still=False) as stage:
        stage.open("/events")
        session = stage.page.context.new_cdp_session(stage.page)

        def kept_mb(count: int) -> float:
            while stage.asked.count("/events/stream") < count:
                stage.page.wait_for_timeout(50)
            session.send("HeapProfiler.collectGarbage")
            return float(session.send("Runtime.getHeapUsage")["usedSize"]) / 1e6

        early, late = kept_mb(3), kept_mb(8)
        # Five answers more, of 3,000 events each: kept, they would be 5 MB. One of them may just be read: 1 MB.
        assert late - early < 2.5, (early, late)
