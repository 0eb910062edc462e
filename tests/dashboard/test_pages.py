"""Every page, looked at: accessible, quiet, nothing cut off, nothing moving, in both themes and on a phone."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from tests.dashboard import invented_store
from tests.dashboard.stage import ANSWERS, PAGES, Stage, staged

_AXE = Path(__file__).parents[2] / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"
#: Whatever can be scrolled sideways: nothing but JSON and tracebacks may.
_SCROLLED_SIDEWAYS = """() => [...document.querySelectorAll("#content, #content *")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "auto")
  .map((one) => one.className)"""
_EVERY = pytest.mark.parametrize("name", PAGES)
#: A window of 1,360 pixels at 200 % has room for so many.
_ZOOMED, _PHONE = 680, 390

pytestmark = pytest.mark.timeout(180)


def _findings(stage: Stage) -> list[str]:
    if not _AXE.exists():
        pytest.skip("dashboard/node_modules is not installed: make dashboard")
    stage.page.evaluate(_AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = stage.page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['impact']}: {one['id']}: {[node['target'] for node in one['nodes']][:4]}" for one in found["violations"]
    ]


@_EVERY
def test_a_page_is_accessible_in_both_themes_fits_every_width_and_complains_of_nothing(
    browser: Browser, name: str
) -> None:
    with staged(browser) as stage:
        stage.open(PAGES[name])
        page = stage.page
        assert _findings(stage) == []
        page.emulate_media(color_scheme="dark")
        assert _findings(stage) == []
        for width in (_ZOOMED, _PHONE):
            page.set_viewport_size({"width": width, "height": 844})
            stage.settle()
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), width
            assert [one for one in page.evaluate(_SCROLLED_SIDEWAYS) if "json" not in one] == [], width
        assert _findings(stage) == []
        assert stage.complaints == []


_DIFFERENCE = """async (pictures) => {
  const [one, other] = await Promise.all(pictures.map(async (text) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${text}`)).blob());
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height).data;
  }));
  if (one.length !== other.length) return 256;
  return one.reduce((most, value, at) => Math.max(most, Math.abs(value - other[at])), 0);
}"""


@pytest.mark.parametrize("name", ["overview", "leases", "message-dead"])
def test_the_same_store_at_the_same_moment_is_the_same_picture(browser: Browser, name: str) -> None:
    pictures = []
    for _ in range(2):
        with staged(browser) as stage:
            stage.open(PAGES[name])
            stage.page.wait_for_timeout(300)
            pictures.append(base64.b64encode(stage.page.screenshot()).decode())
    with staged(browser) as stage:
        # Round corners are blended by rounding: a difference of one in 255 is none.
        assert stage.page.evaluate(_DIFFERENCE, pictures) <= 1


def test_overdue_late_and_held_stand_apart_and_the_longest_run_comes_first(browser: Browser) -> None:
    with staged(browser) as stage:
        stage.open("/leases")
        text = stage.page.locator("table").inner_text()
        assert re.search(r"Overdue 2 — the sweep takes them in 3 s.*Late beat 1.*Held 16", text, re.DOTALL)
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


def _problem(status: int, code: str, detail: str, **more: str) -> tuple[int, dict[str, Any]]:
    return status, {"status": status, "code": code, "detail": detail, **more}


_OVERVIEW = "/snapshots/overview"


@pytest.mark.parametrize(
    ("path", "answer", "words"),
    [
        ("/session", _problem(401, "unauthenticated", "no token"), "Log in"),
        (_OVERVIEW, _problem(403, "forbidden_scope", "this needs the scope 'read'"), "You may not see this"),
        (_OVERVIEW, _problem(404, "route_not_found", "no such route"), "This server is older than this page"),
        (_OVERVIEW, _problem(503, "broker_unavailable", "the store cannot be reached"), "The store does not answer"),
        (_OVERVIEW, _problem(500, "internal", "a mistake", request_id="4f2a"), "4f2a"),
    ],
)
def test_what_can_be_wrong_is_said_in_words(browser: Browser, path: str, answer: Any, words: str) -> None:
    answers = {path: lambda _: answer, "/events/stream": lambda _: answer if path != "/session" else None}
    with staged(browser, answers=answers) as stage:
        stage.page.goto("http://dashboard.test/")
        expect(stage.page.get_by_text(words).first).to_be_visible(timeout=20_000)
        assert [one for one in _findings(stage) if one.startswith(("serious", "critical"))] == []


def test_an_empty_store_says_what_to_do(browser: Browser) -> None:
    import msgspec

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


def test_large_numbers_of_a_payload_are_shown_as_they_were_sent(browser: Browser) -> None:
    with staged(browser) as stage:
        stage.open(PAGES["message"])
        expect(stage.page.locator("pre").first).to_contain_text("12345678901234567890")


def test_the_answers_of_the_stage_are_those_of_real_routes() -> None:
    from tenure.server.routes import ROUTES

    shapes = {route.path: route.answer for route in ROUTES if route.method in ("GET", "POST")}
    for path, answer in ANSWERS.items():
        given = answer({})
        route = next((one for one in shapes if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", one), path)), None)
        assert route is not None, path
        if not isinstance(given, bytes):
            assert isinstance(given, shapes[route]) or issubclass(shapes[route], type(given)), path
