"""What a reader sees: nothing is fetched from elsewhere, search works without a server, both themes, on a phone too."""

import mimetypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from website.tree import grow

from .conftest import ROOT

ORIGIN = "http://docs.test"
_AXE = ROOT / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"
#: One page of each kind: first page, code with output, long table, drawings, wide table, README, map, nothing there.
KINDS = [
    "index.html", "tutorial.html", "reference/settings.html", "explanation/pictures.html",
    "explanation/comparison.html", "readme.html", "architecture.html", "404.html",
]  # fmt: skip

pytestmark = pytest.mark.timeout(180)


@contextmanager
def _reader(browser: Browser, site: Path, asked: list[str] | None = None, **options: Any) -> Iterator[Page]:
    """A page of a browser for which `docs.test` is the built site, with 404.html as servers have it."""

    def answer(route: Route) -> None:
        if asked is not None:
            asked.append(route.request.url)
        if not route.request.url.startswith(ORIGIN):
            route.abort()
            return
        file = site / (unquote(urlsplit(route.request.url).path).lstrip("/") or "index.html")
        status, file = (200, file) if file.is_file() else (404, site / "404.html")
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        route.fulfill(status=status, body=file.read_bytes(), content_type=kind)

    context = browser.new_context(reduced_motion="reduce", **options)
    context.route("**/*", answer)
    yield context.new_page()
    context.close()


def test_no_page_asks_anybody_else_for_anything(browser: Browser, site: Path) -> None:
    asked: list[str] = []
    complaints: list[str] = []
    with _reader(browser, site, asked) as page:
        page.on("console", lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        for kind in KINDS:
            page.goto(f"{ORIGIN}/{kind}")
        page.keyboard.press("Control+k")
    assert len(asked) > len(KINDS)
    assert [url for url in asked if not url.startswith(f"{ORIGIN}/")] == []
    assert complaints == []


def test_a_page_of_each_kind_does_not_scroll_sideways_on_a_phone(browser: Browser, site: Path) -> None:
    assert _too_wide(browser, site, KINDS) == []


def test_no_page_scrolls_sideways_on_a_phone(browser: Browser, site: Path) -> None:
    assert _too_wide(browser, site, [page.address for page in grow(ROOT).pages]) == []


def _too_wide(browser: Browser, site: Path, addresses: list[str]) -> list[str]:
    wide = []
    with _reader(browser, site, viewport={"width": 360, "height": 740}) as page:
        for address in addresses:
            page.goto(f"{ORIGIN}/{address}", wait_until="domcontentloaded")
            if page.evaluate("() => document.documentElement.scrollWidth > innerWidth"):
                wide.append(address)
    return wide


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_accessible_and_its_text_has_contrast_in_both_themes(browser: Browser, site: Path, kind: str) -> None:
    if not _AXE.exists():
        pytest.skip("dashboard/node_modules is not installed: make dashboard")
    with _reader(browser, site, viewport={"width": 1360, "height": 900}) as page:
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.goto(f"{ORIGIN}/{kind}")
            page.evaluate("() => document.querySelectorAll('details').forEach((one) => (one.open = true))")
            page.evaluate(_AXE.read_text("utf-8"))
            # The same page: only its colours are others.
            rules = {"runOnly": ["color-contrast", "link-in-text-block"]} if theme == "dark" else {}
            options = {"resultTypes": ["violations"], **rules}
            found: dict[str, Any] = page.evaluate("(options) => axe.run(document, options)", options)
            assert [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in found["violations"]] == []


def test_search_finds_a_page_from_a_folder_without_a_server(browser: Browser, site: Path) -> None:
    page = browser.new_page()
    page.goto((site / "how-to" / "schedule-work.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("webhook signature")
    first = page.locator("#found li").first
    expect(first).to_be_visible()
    expect(first).to_contain_text("ebhook", ignore_case=True)
    page.keyboard.press("ArrowDown")
    expect(page.locator("#found li").nth(1)).to_have_attribute("aria-selected", "true")
    page.locator("dialog.search input").fill("run on amazon sqs")
    expect(page.locator("#found li").first).to_contain_text("Run on Amazon SQS")
    page.keyboard.press("Enter")
    expect(page).to_have_url((site / "how-to" / "run-on-sqs.html").as_uri())
    page.close()


def test_search_puts_the_page_that_is_meant_first(browser: Browser, site: Path) -> None:
    meant = {
        "lease": "Leases",
        "webhook": "Send webhooks",
        "cron": "Cron lines",
        "sqlite backup": "Back up and restore a SQLite queue",
        "kubernetes": "Run on Kubernetes",
        "TENURE_LEASE": "Settings",
        "dead redrive": "tenure dead redrive",
    }
    with _reader(browser, site) as page:
        page.goto(f"{ORIGIN}/index.html")
        page.keyboard.press("/")
        for asked, title in meant.items():
            page.locator("dialog.search input").fill(asked)
            expect(page.locator("#found li b").first).to_have_text(title)


def test_search_says_when_nothing_is_found(browser: Browser, site: Path) -> None:
    with _reader(browser, site) as page:
        page.goto(f"{ORIGIN}/index.html")
        page.get_by_role("button", name="Search").click()
        page.keyboard.type("xylophone quartz")
        expect(page.get_by_role("status")).to_have_text("Nothing found. Try fewer words.")
        page.keyboard.press("Escape")
        expect(page.locator("dialog.search")).to_be_hidden()


def test_the_theme_is_the_systems_until_the_reader_chooses_one(browser: Browser, site: Path) -> None:
    ground = "() => getComputedStyle(document.documentElement).backgroundColor"
    box = "() => getComputedStyle(document.querySelector('#picture-states .box')).fill"
    with _reader(browser, site, color_scheme="dark") as page:
        page.goto(f"{ORIGIN}/explanation/pictures.html")
        dark, drawn = page.evaluate(ground), page.evaluate(box)
        page.get_by_role("button", name="Dark or light").click()
        assert page.evaluate(ground) != dark
        assert page.evaluate(box) != drawn, "a drawing follows its page"
        page.goto(f"{ORIGIN}/tutorial.html")
        assert page.evaluate(ground) != dark, "the choice holds on the next page"
    with _reader(browser, site, color_scheme="light") as page:
        page.goto(f"{ORIGIN}/index.html")
        assert page.evaluate(ground) != dark
        assert page.locator("img.in-light").is_visible()
        assert not page.locator("img.in-dark").is_visible()


def test_a_block_of_code_is_copied_as_it_is(browser: Browser, site: Path) -> None:
    with _reader(browser, site) as page:
        page.goto(f"{ORIGIN}/tutorial.html")
        # Plain HTTP: without the clipboard that only secure pages have.
        page.evaluate("() => document.addEventListener('copy', () => (window.copied = document.activeElement.value))")
        block = page.locator(".code.sh").first
        block.hover()
        block.get_by_role("button", name="Copy").click()
        expect(block.locator("button")).to_have_text("Copied")
        assert page.evaluate("() => window.copied").startswith('tenure submit jobs:app greet \'{"name": "Ada"}\'\n')


def test_the_pages_are_a_menu_on_a_phone(browser: Browser, site: Path) -> None:
    with _reader(browser, site, viewport={"width": 390, "height": 844}, has_touch=True) as page:
        page.goto(f"{ORIGIN}/how-to/schedule-work.html")
        expect(page.locator(".rail")).to_be_hidden()
        page.get_by_role("button", name="Pages").click()
        expect(page.locator(".rail [aria-current]")).to_be_in_viewport()
        page.locator(".rail").get_by_role("link", name="Cancel and inspect").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Cancel and inspect")
        expect(page.locator(".rail")).to_be_hidden()


def test_an_address_that_is_not_there_leads_back_from_any_depth(browser: Browser, site: Path) -> None:
    with _reader(browser, site) as page:
        page.goto(f"{ORIGIN}/how-to/long/gone.html")
        expect(page.get_by_role("heading", level=1)).to_have_text("This page is not here")
        page.get_by_role("link", name="To the first page").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Queue messages")


def test_a_page_can_be_read_without_scripts(browser: Browser, site: Path) -> None:
    with _reader(browser, site, java_script_enabled=False) as page:
        page.goto(f"{ORIGIN}/tutorial.html")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("button").first).to_be_hidden()
        page.locator(".rail summary", has_text="Reference").first.click()
        expect(page.locator(".rail").get_by_text("In Python")).to_be_visible()
