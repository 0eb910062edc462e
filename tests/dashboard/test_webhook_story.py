"""Webhooks in a real browser, on a real server and store, with a real receiver that fails and comes back."""

import contextlib
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.dashboard.shop import SLOW, Shop, opened, shop_in

from tenure.webhooks import WebhookError, verify

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]
_WAITING = 'async () => (await (await fetch("/api/v1/webhooks/deliveries?limit=1")).json()).waiting'


class Receiver(ThreadingHTTPServer):
    """Answers as it is told, and keeps what it got."""

    def __init__(self) -> None:
        """On a free port."""
        super().__init__(("127.0.0.1", 0), _Hook)
        self.status = 200
        self.got: list[tuple[str, bytes, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/notify"


class _Hook(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): one for name, one in self.headers.items()}
        self.server.got.append((headers["webhook-id"], body, headers))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on loopback."""
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def _looking(browser: Browser, address: str) -> Iterator[Page]:
    """A page whose console stays clean."""
    page, complaints = opened(browser, address)
    yield page
    assert complaints == []
    page.close()


def test_an_endpoint_is_added_tested_fails_is_enabled_and_its_deliveries_replayed(
    browser: Browser, tmp_path: Path
) -> None:
    with shop_in(tmp_path) as shop, receiving() as receiver:
        shop.environment |= {"TENURE_SECRET_KEY": "k" * 64, "TENURE_WEBHOOK_ALLOW": "127.0.0.1"}
        with shop.serving(), _looking(browser, f"{shop.address}/webhooks") as page:
            expect(page.get_by_text("No webhook endpoints")).to_be_visible()
            secret = _add(page, receiver)
            _test(page, receiver, secret)
            with shop.working():
                id = _see_it_arrive(page, shop)
                _see_it_fail(page, shop, receiver)
            _replay(page)
            # Each was tried under one id, however often, and every signature was good.
            by_message = {body: {one for one, other, _ in receiver.got if other == body} for _, body, _ in receiver.got}
            assert {len(ids) for ids in by_message.values()} == {1}
            assert any(id.encode() in body for body in by_message)
            for _, body, headers in receiver.got:
                verify(body, headers, secret)
            with pytest.raises(WebhookError):
                verify(b"{}", receiver.got[0][2], secret)
            _disable_and_remove(page)
            page.goto(f"{shop.address}/system")
            expect(page.get_by_role("row", name=re.compile("webhook removed.*orders"))).to_be_visible()


def _add(page: Page, receiver: Receiver) -> str:
    """Refused with the reason in the dialog, then added; its secret, shown once."""
    page.get_by_role("button", name="Add an endpoint…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("orders")
    dialog.get_by_label("URL", exact=True).fill(receiver.url)
    dialog.get_by_role("button", name="Add the endpoint").click()
    expect(page.get_by_role("dialog", name="The secret of orders")).to_be_visible()
    # Neither Escape nor a click beside it loses it.
    page.keyboard.press("Escape")
    page.mouse.click(5, 400)
    secret = dialog.locator("p.mono").inner_text()
    assert secret.startswith("whsec_")
    dialog.get_by_role("button", name="Copy the secret").click()
    expect(dialog.get_by_role("button", name="Copied", exact=True)).to_be_visible()
    dialog.get_by_role("button", name="I have copied it").click()
    expect(page).to_have_url(re.compile(r"\?endpoint=orders$"))
    expect(page.get_by_role("row", name=re.compile("orders.*answers"))).to_be_visible()
    assert secret not in page.content()
    return secret


def _test(page: Page, receiver: Receiver, secret: str) -> None:
    page.get_by_role("button", name="Test", exact=True).click()
    said = page.get_by_role("status").filter(has_text=re.compile(r"Tested orders: 200 in [\d.]+ m?s"))
    expect(said).to_be_visible()
    _, body, headers = receiver.got[-1]
    assert b'"test"' in body
    verify(body, headers, secret)


def _submit(shop: Shop, to: str) -> str:
    return shop.run("submit", "jobs:app", "send", f'{{"to":"{to}"}}', "--webhook", "orders").split()[0]


def _deliveries(page: Page, show: str) -> None:
    page.get_by_role("group", name="Deliveries shown").get_by_role("button", name=show).click()


def _see_it_arrive(page: Page, shop: Shop) -> str:
    id = _submit(shop, "ada")
    _deliveries(page, "Arrived")
    table = page.get_by_role("table", name="Deliveries")
    row = table.get_by_role("row", name=re.compile("orders Arrived .* completed 1 200 in "))
    expect(row).to_be_visible()
    row.get_by_role("link").click()
    expect(page).to_have_url(re.compile(f"/messages/{id}$"))
    page.go_back()
    return id


def _see_it_fail(page: Page, shop: Shop, receiver: Receiver) -> None:
    receiver.status = 410
    for to in ("bob", "eve@nowhere"):
        _submit(shop, to)
    endpoint = page.get_by_role("table", name="Endpoints").get_by_role("row", name=re.compile("orders"))
    expect(endpoint).to_contain_text("disabled: it answered that it is gone for good")
    _deliveries(page, "Failed")
    table = page.get_by_role("table", name="Deliveries")
    expect(table.get_by_role("row", name=re.compile(r"Failed .* 410 in ")).first).to_be_visible()
    # A delivery is a message: it opens beside the list, with its life.
    table.locator("tr[data-row]").first.get_by_text("orders").click()
    panel = page.get_by_role("complementary", name="message")
    expect(panel.get_by_role("heading", name=re.compile("webhook.deliver"))).to_be_visible()
    expect(panel).to_contain_text("HTTP 410")
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    # What ends now waits, and is counted: as soon as every process has read that the endpoint is disabled.
    receiver.status = 204
    for number in range(20):
        _submit(shop, f"zoe{number}")
        # One alone may be on its way.
        if page.evaluate(_WAITING).get("orders", 0) > 1:
            break
        page.wait_for_timeout(500)  # twenty of them at once may all be made before the disabling is known
    expect(page.get_by_role("button", name=re.compile(r"orders \d+ endings?"))).to_be_visible()
    _deliveries(page, "Failed")


def _replay(page: Page) -> None:
    failed = page.get_by_role("table", name="Deliveries").get_by_role("link").first.inner_text()
    page.get_by_role("button", name="Enable").click()
    expect(page.get_by_role("status").filter(has_text="Enabled orders")).to_be_visible()
    page.get_by_role("button", name="Replay all…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(re.compile(r"\d deliver(y matches|ies match) now\."))
    expect(dialog).to_contain_text("endpoint: orders")
    dialog.get_by_role("button", name=re.compile(r"Replay \d")).click()
    expect(page.get_by_role("status").filter(has_text=re.compile(r"\d deliver(y|ies) replayed"))).to_be_visible()
    expect(page.get_by_text("No delivery has failed")).to_be_visible()
    _deliveries(page, "Arrived")
    expect(page.get_by_role("table", name="Deliveries").get_by_role("link", name=failed)).to_be_visible()
    # What waited goes out too, at the next look from the start.
    expect(page.get_by_text("Endings that wait to be sent:")).to_have_count(0, timeout=3 * SLOW)


def _disable_and_remove(page: Page) -> None:
    page.get_by_role("button", name="Disable…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason", exact=True).fill("moves to another host")
    dialog.get_by_role("button", name="Disable the endpoint").click()
    expect(page.get_by_role("table", name="Endpoints")).to_contain_text(
        re.compile("disabled by .*: moves to another host")
    )
    page.get_by_role("button", name="Remove…").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove the endpoint").click()
    expect(page.get_by_text("No webhook endpoints")).to_be_visible()
