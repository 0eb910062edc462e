"""The example service in a real browser: submit, live status, kills, and two clients that see nothing of each other."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.dashboard.browser import launched
from tests.standalone.environment import azure_environment

from .service_run import Service, service_in

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]
_SLOW = 60_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        expect.set_options(timeout=_SLOW)
        yield found


def _signed_in(browser: Browser, service: Service, client: str) -> tuple[Page, list[str]]:
    """The page of a client, opened by its link; and what the browser complains of."""
    page = browser.new_context(locale="en-GB").new_page()
    page.set_default_timeout(_SLOW)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(service.links[client])
    expect(page.locator("#client")).to_have_text(client)
    expect(page.locator("#live")).to_have_text("live")
    return page, complaints


def _submit(page: Page, kind: str, *, document: str = "", question: str = "") -> None:
    page.get_by_text(kind, exact=True).first.click()
    if document:
        page.get_by_label("Document").select_option(document)
    if question:
        page.get_by_label("Question").fill(question)
    with page.expect_response(lambda answer: answer.url.endswith("/tasks")) as answer:
        page.get_by_role("button", name="Submit").click()
    assert answer.value.status == 202


def test_two_clients_work_side_by_side(browser: Browser, tmp_path: Path) -> None:
    with service_in(tmp_path) as service:
        _two_clients_work(browser, service)
        assert service.stop() == 0
        assert all(not Path(f"/proc/{pid}").exists() for pid in service.pids.values())
        assert "Traceback" not in service.logs()


def test_two_clients_work_on_azurite(browser: Browser, tmp_path: Path) -> None:
    more = azure_environment() | {"TENURE_URL": "azure://devstoreaccount1?create=yes&prefix=service"}
    with service_in(tmp_path, **more) as service:
        _two_clients_work(browser, service)
        assert service.stop() == 0


def _two_clients_work(browser: Browser, service: Service) -> None:
    page, complaints = _signed_in(browser, service, "southhaven")
    other, _ = _signed_in(browser, service, "demo")
    _submit(page, "Ingest", document="harbour-rules.md")
    expect(page.locator(".task[data-status=completed]")).to_contain_text("6 passages are searchable.")
    _submit(page, "Ask", question="Where are the berths for visitors?")
    newest = page.locator(".task", has_text="Where are")
    expect(newest).to_contain_text("Berths for visitors are at the north pier.")
    expect(newest.locator(".source")).to_have_text("harbour-rules.md")
    expect(page.locator("#figures")).to_have_text("2 completed")
    # What a worker cannot do is shown with its reason.
    _submit(other, "Summarize", document="receipt-scan.png")
    expect(other.locator(".task[data-status=failed]")).to_contain_text("receipt-scan.png is not text")
    expect(other.locator(".task")).to_have_count(1)
    # Another one's documents are not in the list, and nothing of the index is found.
    expect(other.locator("option")).to_have_text(["espresso-machine.md", "receipt-scan.png"])
    _submit(other, "Ingest", document="espresso-machine.md")
    expect(other.locator(".task", has_text="espresso")).to_contain_text("5 passages")
    _submit(other, "Ask", question="Where are the berths for visitors?")
    expect(other.locator(".task", has_text="Where are")).to_contain_text("Your documents do not say.")
    assert complaints == []


def test_a_killed_worker_a_killed_front_end_and_a_cancel(browser: Browser, tmp_path: Path) -> None:
    with service_in(tmp_path, SERVICE_PACE="1") as service:
        page, _ = _signed_in(browser, service, "southhaven")
        _submit(page, "Ingest", document="harbour-rules.md")
        row = page.locator(".task").first
        expect(row.locator(".note")).to_have_text(re.compile("passage . of 6"))
        _submit(page, "Summarize", document="council-minutes.md")
        cancelled = page.locator(".task", has_text="council-minutes.md")
        cancelled.get_by_role("button", name="Cancel").click()
        expect(cancelled).to_have_attribute("data-status", "cancelled")
        # The page comes back by itself with the front end, and has missed nothing.
        os.kill(service.pids["front end"], signal.SIGKILL)
        expect(page.locator("#live")).to_have_text("reconnecting")
        os.kill(service.pids["worker of southhaven"], signal.SIGKILL)
        service.read_until("worker of southhaven ended (-9)")
        expect(page.locator("#live")).to_have_text("live")
        done = page.locator(".task", has_text="harbour-rules.md")
        expect(done).to_contain_text("6 passages are searchable.")
        expect(page.locator("#figures")).to_have_text("1 completed · 1 cancelled")
        assert service.stop() == 0
