"""Every page, looked at: accessible, quiet, nothing cut off, nothing moving, in both themes and on a phone."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from playwright.sync_api import Browser, expect
from tests.dashboard import invented_store, pictures
from tests.dashboard.browser import pinned_chromium
from tests.dashboard.stage import ANSWERS, PAGES, Stage, staged
from tests.dashboard.states import STATES, show

_OPENAPI = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"
_AXE = Path(__file__).parents[2] / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"
#: Whatever can be scrolled sideways: nothing but JSON and tracebacks may.
_SCROLLED_SIDEWAYS = """() => [...document.querySelectorAll("#content, #content *")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "auto")
  .map((one) => one.className)"""
_EVERY = pytest.mark.parametrize("name", PAGES)
#: A window of 1,360 pixels at 200 % has room for so many.
_ZOOMED, _PHONE = 680, 390
#: Rules of axe whose answer depends on the theme.
_OF_COLOURS = ("color-contrast", "link-in-text-block")

pytestmark = pytest.mark.timeout(180)


def _findings(stage: Stage, *rules: str) -> list[str]:
    """What axe finds; `rules`: by these alone."""
    if not _AXE.exists():
        pytest.skip("dashboard/node_modules is not installed: make dashboard")
    if not stage.page.evaluate("() => 'axe' in globalThis"):
        stage.page.evaluate(_AXE.read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    found: dict[str, Any] = stage.page.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{one['impact']}: {one['id']}: {[node['target'] for node in one['nodes']][:4]}" for one in found["violations"]
    ]


@_EVERY
def test_a_page_is_accessible_in_both_themes_fits_every_width_looks_as_it_did_and_complains_of_nothing(
    browser: Browser, name: str
) -> None:
    with staged(browser) as stage:
        stage.open(PAGES[name])
        page = stage.page
        _looks_as_it_did(stage, f"{name}-light")
        assert _findings(stage) == []
        page.emulate_media(color_scheme="dark")
        _looks_as_it_did(stage, f"{name}-dark")
        # The same page: only its colours are others.
        assert _findings(stage, *_OF_COLOURS) == []
        page.emulate_media(color_scheme="light")
        for width in (_ZOOMED, _PHONE):
            page.set_viewport_size({"width": width, "height": 844})
            stage.settle()
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), width
            assert [one for one in page.evaluate(_SCROLLED_SIDEWAYS) if "json" not in one] == [], width
        _looks_as_it_did(stage, f"{name}-phone")
        assert _findings(stage) == []
        assert stage.complaints == []


def _looks_as_it_did(stage: Stage, name: str) -> None:
    if name in pictures.PICTURES and pinned_chromium() is not None:
        pictures.assert_as_committed(stage, name)


def test_overdue_late_and_held_stand_apart_and_the_longest_run_comes_first(browser: Browser) -> None:
    with staged(browser) as stage:
        stage.open("/leases")
        text = stage.page.locator("table").inner_text()
        assert re.search(r"Overdue 2 — the sweep takes them in 3 s.*Late beat 1.*Held 88", text, re.DOTALL)
        assert "\N{MINUS SIGN}4 s" in text
        first = stage.page.locator("tr[data-row]").first
        expect(first).to_contain_text("transcode")
        expect(first).to_contain_text("31 m 40 s")


def test_filters_stand_in_the_address_and_outlive_a_reload(browser: Browser) -> None:
    with staged(browser) as stage:
        stage.open("/messages")
        stage.page.get_by_role("button", name="Dead").click()
        stage.page.get_by_role("button", name="+ task").click()
        stage.page.keyboard.type("send_mail")
        stage.page.keyboard.press("Enter")
        expect(stage.page).to_have_url(re.compile(r"state=dead&task=send_mail"))
        stage.page.reload()
        stage.settle()
        expect(stage.page.get_by_role("button", name="Dead")).to_have_attribute("aria-pressed", "true")
        expect(stage.page.get_by_role("button", name="task send_mail")).to_be_visible()


def test_the_keyboard_goes_to_pages_searches_and_opens_rows(browser: Browser) -> None:
    with staged(browser) as stage:
        stage.open("/")
        page = stage.page
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.keyboard.press("g")
        page.keyboard.press("l")
        expect(page).to_have_url(re.compile("/leases$"))
        stage.settle()
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("open=01a1ea20"))
        page.keyboard.press("Escape")
        expect(page).to_have_url(re.compile("/leases$"))
        page.keyboard.press("g")
        page.keyboard.press("m")
        page.keyboard.press("/")
        expect(page.get_by_label("Search messages").or_(page.get_by_role("searchbox"))).to_be_focused()


def test_ten_thousand_leases_are_not_all_in_the_page(browser: Browser) -> None:
    many = invented_store.many_leases(10_000)
    with staged(browser, answers={"/snapshots/leases": lambda _: many, "/events/stream": lambda _: None}) as stage:
        stage.open("/leases")
        page = stage.page
        expect(page.get_by_role("table")).to_contain_text("Held 10,000")
        assert page.locator("tr[data-row]").count() < 100
        page.evaluate("() => document.getElementById('content').scrollTo(0, 1e9)")
        expect(page.locator('tr[aria-rowindex="10002"]')).to_be_visible()


@pytest.mark.parametrize("name", STATES)
def test_what_is_asked_and_what_is_wrong_is_said_in_words_in_both_themes(browser: Browser, name: str) -> None:
    with staged(browser, answers=STATES[name].answers) as stage:
        show(stage, STATES[name])
        assert _findings(stage) == []
        stage.page.emulate_media(color_scheme="dark")
        stage.settle()
        assert _findings(stage, *_OF_COLOURS) == []
        stage.page.set_viewport_size({"width": _PHONE, "height": 844})
        stage.settle()
        assert stage.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_an_empty_store_says_what_to_do(browser: Browser) -> None:
    nothing = msgspec.structs.replace(
        invented_store.overview(well=True), queue_count=0, queues=(), tasks=(), task_count=0, leases=(), lease_count=0
    )
    answers = {"/snapshots/overview": lambda _: nothing, "/events/stream": lambda _: None}
    with staged(browser, answers=answers) as stage:
        stage.open("/")
        expect(stage.page.get_by_text("No queues yet")).to_be_visible()
        expect(stage.page.get_by_text("tenure submit")).to_be_visible()


def test_without_the_scope_for_acts_they_are_not_offered(browser: Browser) -> None:
    with staged(browser, answers={"/session": lambda _: invented_store.session("read")}) as stage:
        stage.open(PAGES["message-dead"])
        expect(stage.page.get_by_role("button", name="Redrive…", exact=True)).to_be_disabled()
        stage.open("/system")
        expect(stage.page.get_by_text("Settings need the scope “admin”.")).to_be_visible()
        assert "/settings" not in stage.asked


def test_a_browser_whose_language_is_none_shows_its_plots(browser: Browser) -> None:
    with staged(browser) as stage:
        # As Chromium says it where LANG is C.
        stage.page.add_init_script("Object.defineProperty(navigator, 'language', { get: () => 'en-US@posix' })")
        stage.open("/queues/transcode")
        expect(stage.page.locator(".uplot").first).to_be_visible()
        assert stage.complaints == []


def test_what_a_page_shows_first_is_asked_for_once(browser: Browser) -> None:
    for path in ("/", "/leases", "/queues"):
        with staged(browser) as stage:
            stage.open(path)
            early = stage.page.evaluate("() => Object.keys(tenureEarly)")
            assert early == [], f"public/start.js asks for what the page at {path} does not take"
            asked = [one for one in stage.asked if one != "/events/stream"]
            assert len(asked) == len(set(asked)), asked


def test_large_numbers_of_a_payload_are_shown_as_they_were_sent(browser: Browser) -> None:
    with staged(browser) as stage:
        stage.open(PAGES["message"])
        expect(stage.page.locator("pre").first).to_contain_text("12345678901234567890")


def test_the_answers_of_the_stage_are_those_of_real_routes() -> None:
    from tenure.server.routes import ROUTES

    shapes = {route.path: route.answer for method in ("POST", "GET") for route in ROUTES if route.method == method}
    for path, answer in ANSWERS.items():
        given = answer({})
        route = next((one for one in shapes if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", one), path)), None)
        assert route is not None, path
        if not isinstance(given, bytes):
            assert isinstance(given, shapes[route]) or issubclass(shapes[route], type(given)), path
            _assert_described(route, given)


def _assert_described(path: str, given: Any) -> None:
    """It is as the OpenAPI document, of which the page's types are made, says of this path."""
    document = json.loads(_OPENAPI.read_text(encoding="utf-8"))
    operations = document["paths"][path]
    answers = operations.get("get", operations.get("post"))["responses"]["200"]["content"]
    schema = answers["application/json"]["schema"]
    validator = jsonschema_rs.Draft202012Validator({**schema, "components": document["components"]})
    errors = [
        f"{error.instance_path}: {error.message[:200]}"
        for error in validator.iter_errors(json.loads(msgspec.json.encode(given)))
    ]
    assert errors == [], path
