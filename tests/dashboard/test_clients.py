"""The page Clients: what it says, what it offers to whom, what it sends. Its look: `test_pages.py`."""

import re
from functools import partial
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, Request, expect
from tests.dashboard import invented_store
from tests.dashboard.invented_clients import client, looked
from tests.dashboard.stage import staged

pytestmark = pytest.mark.timeout(180)


def test_each_client_says_what_it_has_and_how_much_of_its_quota_it_uses(browser: Browser) -> None:
    with staged(browser) as stage:
        stage.open("/clients")
        table = stage.page.get_by_role("table", name="Clients")
        for words in (
            "acme .*full 5,000 8 0 2 min",
            "default 15 2 1 1 s 9.8 9.8 0 % .* none",
            r"northwind 4,430 5 7 41 s .*×3",
            "southhaven .*Paused 240",
            r"zephyr 0 0 0 .* 2 at once, 1.10s",
        ):
            expect(table.get_by_role("row", name=re.compile(words))).to_be_visible()
        table.get_by_role("row", name=re.compile("acme")).click()
        expect(stage.page).to_have_url(re.compile("/clients/acme$"))
        expect(stage.page.get_by_text("full: further messages are refused")).to_be_visible()


def test_the_rail_names_the_page_where_there_are_several_clients(browser: Browser) -> None:
    link = "Clients"
    with staged(browser) as stage:
        stage.open("/")
        rail = stage.page.get_by_role("navigation", name="Pages")
        expect(rail.get_by_role("link", name=link)).to_have_count(0)
        stage.page.keyboard.press("g")
        stage.page.keyboard.press("n")
        expect(stage.page).to_have_url(re.compile("/clients$"))
        expect(rail.get_by_role("link", name=link)).to_have_count(1)
    queues = invented_store.overview().queues
    clients = tuple(msgspec.structs.replace(queues[0], queue=f"{name}-tasks") for name in ("acme", "default"))
    several = msgspec.structs.replace(invented_store.overview(), queues=clients)
    with staged(browser, answers={"/snapshots/overview": lambda _: several, "/events/stream": lambda _: b""}) as stage:
        stage.open("/queues")
        expect(stage.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Clients")).to_be_visible()


def test_acts_are_offered_to_those_who_may_and_ask_first(browser: Browser) -> None:
    def session(*scopes: str) -> Any:
        return msgspec.structs.replace(invented_store.session(), scopes=scopes)

    names = {"operate": ("Pause", "Purge…"), "admin": ("Quota…", "Forget…")}
    for scope, on in names.items():
        seen = session("read", scope)
        with staged(browser, answers={"/session": partial(_same, seen)}) as stage:
            stage.open("/clients/acme")
            for name in (*names["operate"], *names["admin"]):
                button = stage.page.get_by_role("button", name=name, exact=True)
                expect(button).to_be_enabled() if name in on else expect(button).to_be_disabled()


def test_a_client_is_forgotten_only_when_its_name_was_typed(browser: Browser) -> None:
    done = msgspec.structs.replace(looked(), dry_run=False, removed={"waiting": 5_000, "records": 31})
    steps, asked = [msgspec.structs.replace(done, after="records|m:1"), done], list[Any]()

    def forget_or_look(_: Any) -> Any:
        return looked() if asked[-1].get("dry_run") else steps.pop(0)

    with staged(browser, answers={"/clients/acme/forget": forget_or_look}) as stage:
        page = stage.page
        page.on("request", partial(_note, asked))
        stage.open("/clients/acme")
        page.get_by_role("button", name="Forget…").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("5,008 messages wait, run or are dead now")
        forget = dialog.get_by_role("button", name="Forget it")
        expect(forget).to_be_disabled()
        dialog.get_by_role("textbox").fill("acme")
        forget.click()
        expect(page).to_have_url(re.compile("/clients$"))
        expect(page.get_by_text("acme is forgotten: 10,062 removed")).to_be_visible()
    assert [one for one in asked if not one.get("dry_run")] == [{"after": ""}, {"after": "records|m:1"}]


def test_a_quota_is_sent_as_it_was_written(browser: Browser) -> None:
    changed = {"client": "acme", "queue": "acme-tasks", "changed": True, "quota": client("acme").quota}
    with staged(browser, answers={"/clients/acme/quota": lambda _: changed}) as stage:
        bodies: list[Any] = []
        stage.page.on("request", lambda request: bodies.append((request.method, request.post_data))
                      if request.url.endswith("/quota") else None)  # fmt: skip
        stage.open("/clients/acme")
        stage.page.get_by_role("button", name="Quota…").click()
        dialog = stage.page.get_by_role("dialog")
        expect(dialog.get_by_label("May wait")).to_have_value("5000")
        dialog.get_by_label("May wait").fill("20,000")
        dialog.get_by_label("Largest payload").fill("64KiB")
        dialog.get_by_role("button", name="Set the quota").click()
        expect(stage.page.get_by_text("acme has a new quota")).to_be_visible()
    assert [method for method, _ in bodies] == ["PUT"]
    assert msgspec.json.decode(bodies[0][1]) == {
        "waiting": 20_000, "running": 8, "rate": "100/m", "payload": "64KiB", "must_exist": False,
    }  # fmt: skip


def _same(value: Any, _query: Any) -> Any:
    return value


def _note(asked: list[Any], request: Request) -> None:
    if request.url.endswith("/forget"):
        asked.append(msgspec.json.decode(request.post_data or "{}"))
