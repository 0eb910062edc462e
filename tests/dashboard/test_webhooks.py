"""The page Webhooks: what it says, what it offers to whom, what it sends. Its look: `test_pages.py`."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.dashboard import invented_store
from tests.dashboard.invented_webhooks import deliveries, endpoints
from tests.dashboard.stage import staged

pytestmark = pytest.mark.timeout(180)

_ADMIN = ("Change…", "Rotate the secret…", "Remove…", "Add an endpoint…")
_OPERATE = ("Test", "Disable…", "Replay all…")
#: What is copied, as the browser would put it on the clipboard.
_KEEP_COPIED = """() => document.addEventListener("copy", () => {
  globalThis.copied = String(getSelection()) || document.activeElement.value
})"""
_FAILED = "/webhooks?endpoint=northwind&show=failed"


def _table(page: Page, name: str) -> Any:
    return page.get_by_role("table", name=name)


def test_each_endpoint_says_how_it_answers_and_how_much_waits_for_it(browser: Browser) -> None:
    with staged(browser) as stage:
        stage.open("/webhooks")
        table = _table(stage.page, "Endpoints")
        for words in (
            "billing .* completed env:BILLING_HOOK_SECRET answers 0",
            "legacy-crm .* every ending stored disabled: it answered that it is gone for good",
            r"northwind .* northwind-\* .* rests for 2 m 5\d s after 41 failures 1,284",
            "orders .* shop, shop-eu every ending stored · two valid answers 0",
            "reports .* completed, failed stored 3 failures since 14:30:32 0",
            "warehouse .* disabled by ada: moves to another host on Thursday 96",
        ):
            expect(table.get_by_role("row", name=re.compile(words))).to_be_visible()
        # Endings that wait for an endpoint that was removed are not lost from sight.
        expect(stage.page.get_by_role("button", name="old-shop 3 endings")).to_be_visible()


def test_the_endpoint_and_what_is_shown_stand_in_the_address(browser: Browser) -> None:
    with staged(browser) as stage:
        stage.open("/")
        page = stage.page
        page.keyboard.press("g")
        page.keyboard.press("h")
        expect(page).to_have_url(re.compile("/webhooks$"))
        _table(page, "Endpoints").get_by_role("row", name=re.compile("northwind")).click()
        page.get_by_role("button", name="Failed", exact=True).click()
        expect(page).to_have_url(re.compile(r"\?endpoint=northwind&show=failed$"))
        expect(_table(page, "Deliveries").locator("tr[data-row]")).to_have_count(1)
        page.reload()
        stage.settle()
        expect(page.get_by_role("heading", name="northwind")).to_be_visible()
        expect(_table(page, "Deliveries")).to_contain_text("no answer 10 s")
        page.get_by_role("button", name="Remove the filter endpoint").click()
        expect(_table(page, "Deliveries").locator("tr[data-row]")).to_have_count(4)
        page.get_by_role("button", name="Waiting", exact=True).click()
        expect(page).to_have_url(re.compile("/webhooks$"))
        expect(_table(page, "Deliveries").get_by_role("row", name=re.compile("503 in 0.2 s in 1 min"))).to_be_visible()
        link = _table(page, "Deliveries").get_by_role("link").first
        expect(link).to_have_attribute("href", "/messages/01a1ea2f01")


@pytest.mark.parametrize(
    ("scopes", "off", "on"),
    [
        (("read",), _ADMIN + _OPERATE, ()),
        (("read", "operate"), _ADMIN, _OPERATE),
        (("read", "admin"), _OPERATE, _ADMIN),
    ],
)
def test_acts_that_the_access_forbids_are_disabled_with_the_reason(
    browser: Browser, scopes: tuple[str, ...], off: tuple[str, ...], on: tuple[str, ...]
) -> None:
    with staged(browser, answers={"/session": lambda _: invented_store.session(*scopes)}) as stage:
        stage.open(_FAILED)
        for name in off:
            button = stage.page.get_by_role("button", name=name, exact=True)
            expect(button).to_be_disabled()
            scope = "admin" if name in _ADMIN else "operate"
            expect(button).to_have_attribute("title", f"Your access has no scope “{scope}”.")
        for name in on:
            expect(stage.page.get_by_role("button", name=name, exact=True)).to_be_enabled()


def test_a_read_only_server_offers_no_acts(browser: Browser) -> None:
    with staged(browser, answers={"/session": lambda _: invented_store.session(read_only=True)}) as stage:
        stage.open(_FAILED)
        for name in _ADMIN + _OPERATE:
            button = stage.page.get_by_role("button", name=name, exact=True)
            expect(button).to_be_disabled()
            expect(button).to_have_attribute("title", re.compile("read-only"))


def test_an_older_server_is_said_to_be_one(browser: Browser) -> None:
    problem = (404, {"status": 404, "code": "route_not_found", "detail": "no such route"})
    answers = {"/webhooks/endpoints": lambda _: problem, "/webhooks/deliveries": lambda _: problem}
    with staged(browser, answers=answers) as stage:
        stage.open("/webhooks")
        expect(stage.page.get_by_text("This server is older than this page")).to_have_count(1)
        expect(stage.page.get_by_role("button", name="Add an endpoint…")).to_have_count(0)


def test_without_endpoints_it_says_what_they_are_and_of_some_queues_that_they_are_hidden(browser: Browser) -> None:
    nothing: dict[str, Any] = {"/webhooks/endpoints": lambda _: {"endpoints": [], "after": None}}
    with staged(browser, answers=nothing) as stage:
        stage.open("/webhooks?show=failed&endpoint=orders")
        expect(stage.page.get_by_text("No webhook endpoints")).to_be_visible()
        expect(stage.page.get_by_text("tenure submit jobs:app greet --webhook orders")).to_be_visible()
        expect(stage.page.get_by_text("No delivery has failed")).to_be_visible()
    some = {**nothing, "/session": lambda _: {**_plain(invented_store.session()), "queues": ["shop-*"]}}
    with staged(browser, answers=some) as stage:
        stage.open("/webhooks")
        expect(stage.page.get_by_text("Your access sees only some queues.")).to_be_visible()


def test_what_the_scope_payload_hides_is_said_to_be_hidden(browser: Browser) -> None:
    def hidden(query: Any) -> Any:
        page = _plain(deliveries(query))
        rows = [{**one, "error": None, "answer_status": None, "answer_seconds": None} for one in page["deliveries"]]
        return {**page, "deliveries": rows}

    session = invented_store.session("read", "operate")
    answers = {"/webhooks/deliveries": hidden, "/session": lambda _: session}
    with staged(browser, answers=answers) as stage:
        stage.open("/webhooks?show=failed")
        expect(_table(stage.page, "Deliveries").get_by_text("not shown to you").first).to_be_visible()


def test_of_many_failed_some_are_chosen_counted_and_replayed_and_pages_are_read_on(browser: Browser) -> None:
    def paged(query: Any) -> Any:
        page = _plain(deliveries(query))
        rows = page["deliveries"]
        first = query.get("after", [""])[0] == ""
        return {**page, "deliveries": rows[:2] if first else rows[1:], "more": first, "after": "2" if first else None}

    replayed = {"found": 2, "done": 2, "skipped": 0, "dry_run": False, "more": False, "ids": [], "kinds": {}}
    # Without a stream: each time that one begins, all that is shown is read anew.
    answers = {
        "/webhooks/deliveries": paged, "/webhooks/deliveries/replay": lambda _: replayed,
        "/events/stream": lambda _: None,
    }  # fmt: skip
    with staged(browser, answers=answers) as stage:
        page = stage.page
        asked: list[dict[str, Any]] = []
        page.on("request", lambda one: asked.append(json.loads(one.post_data or "{}")) if "replay" in one.url else None)
        stage.open("/webhooks?show=failed")
        rows = _table(page, "Deliveries").locator("tr[data-row]")
        expect(rows).to_have_count(2)
        page.get_by_role("button", name="Show more").click()
        expect(rows).to_have_count(4)
        for place in (0, 2):
            rows.nth(place).get_by_role("checkbox").check()
        expect(page.get_by_text("2 deliveries selected")).to_be_visible()
        page.get_by_role("button", name="Replay…", exact=True).click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("2 deliveries match now.")
        dialog.get_by_role("button", name="Replay 2").click()
        expect(page.get_by_role("status").filter(has_text="2 deliveries replayed")).to_be_visible()
        ids = [one.id for one in deliveries({"show": ["failed"]}).deliveries]
        assert asked == [
            {"ids": [ids[0], ids[2]], "dry_run": True},
            {"ids": [ids[0], ids[2]], "dry_run": False},
        ]
        expect(page.get_by_text("deliveries selected")).to_have_count(0)
        # All of them, at a rate.
        page.get_by_role("button", name="Replay all…").click()
        expect(dialog).to_contain_text("every endpoint")
        expect(dialog).to_contain_text("deliveries a second")
        dialog.get_by_role("textbox").fill("5")
        dialog.get_by_role("button", name="Replay 2").click()
        expect(dialog).to_have_count(0)
        assert asked[2:] == [{"dry_run": True}, {"dry_run": False, "rate": 5}]


def test_a_refusal_stays_in_the_dialog_with_what_was_typed(browser: Browser) -> None:
    refused = {
        "status": 422, "code": "bad_argument", "remedy": "allow it by TENURE_WEBHOOK_ALLOW",
        "detail": "endpoint shop: 10.0.0.7 is no public address; nothing was stored",
    }  # fmt: skip
    with staged(browser) as stage:
        stage.open("/webhooks")
        page = stage.page
        page.get_by_role("button", name="Add an endpoint…").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("button", name="Add the endpoint")).to_be_disabled()
        dialog.get_by_label("Name", exact=True).fill("shop")
        dialog.get_by_label("URL", exact=True).fill("https://10.0.0.7/hook")
        dialog.get_by_label("Clients", exact=True).fill("shop, shop-eu")
        dialog.get_by_role("checkbox", name="cancelled").uncheck()
        stage.answers["/webhooks/endpoints"] = lambda _: (422, refused)
        with page.expect_request(lambda one: one.method == "POST") as sent:
            dialog.get_by_role("button", name="Add the endpoint").click()
        assert json.loads(sent.value.post_data or "") == {
            "url": "https://10.0.0.7/hook", "clients": ["shop", "shop-eu"], "events": ["completed", "dead"],
            "hosts": [], "name": "shop", "secret": None,
        }  # fmt: skip
        expect(dialog.get_by_role("alert")).to_contain_text("10.0.0.7 is no public address")
        expect(dialog.get_by_role("alert")).to_contain_text("TENURE_WEBHOOK_ALLOW")
        expect(dialog.get_by_label("URL", exact=True)).to_have_value("https://10.0.0.7/hook")


def test_a_secret_is_shown_until_its_button_closes_it(browser: Browser) -> None:
    secret = "whsec_" + "A" * 43 + "="
    answers = {
        "/webhooks/endpoints/northwind/rotate": lambda _: {"endpoint": endpoints().endpoints[2], "secret": secret}
    }
    with staged(browser, answers=answers) as stage:
        page = stage.page
        stage.open("/webhooks?endpoint=northwind")
        page.get_by_role("button", name="Rotate the secret…").click()
        page.get_by_label("The old one signs too for").select_option("no longer")
        with page.expect_request(re.compile("/rotate$")) as sent:
            page.get_by_role("button", name="Rotate the secret", exact=True).click()
        assert json.loads(sent.value.post_data or "") == {"secret": None, "overlap_seconds": 0}
        expect(page.get_by_role("dialog", name="The secret of northwind")).to_contain_text(secret)
        page.keyboard.press("Escape")
        # A page over plain HTTP, as this one: the browser has no clipboard API there.
        assert page.evaluate("() => isSecureContext") is False
        page.evaluate(_KEEP_COPIED)
        page.get_by_role("button", name="Copy the secret").click()
        expect(page.get_by_role("button", name="Copied", exact=True)).to_be_visible()
        assert page.evaluate("() => copied") == secret
        page.get_by_role("button", name="I have copied it").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert secret not in page.content()


def _plain(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value)
