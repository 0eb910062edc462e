"""The page Findings: what fires first, what is done about one, and what it says where nothing judges."""

import re
from typing import Any

import msgspec
from playwright.sync_api import Browser, expect
from tests.dashboard.invented_findings import findings
from tests.dashboard.invented_store import NOW
from tests.dashboard.stage import staged


def test_the_worst_comes_first_and_one_opens_with_what_to_do(browser: Browser) -> None:
    with staged(browser) as stage:
        stage.open("/findings")
        page = stage.page
        rows = page.locator("tr[data-row]")
        expect(rows.first).to_contain_text("Messages wait too long")
        expect(page.get_by_role("navigation").get_by_role("link", name="Findings")).to_contain_text("3")
        rows.first.click()
        expect(page).to_have_url(re.compile(r"finding=oldest_age%40transcode|finding=oldest_age@transcode"))
        expect(page.get_by_text("Start more workers")).to_be_visible()
        expect(page.get_by_role("link", name="Runbook")).to_have_attribute("href", re.compile("/runbooks/oldest_age$"))
        assert stage.complaints == []


def test_a_finding_is_acknowledged_and_silenced(browser: Browser) -> None:
    first = findings().findings[0]
    seen = msgspec.structs.replace(first, acked_by="me")
    path = f"/findings/{first.id}"
    answers: dict[str, Any] = {f"{path}/ack": lambda _: seen, f"{path}/silence": lambda _: seen}
    with staged(browser, answers=answers) as stage:
        stage.open(f"/findings?finding={first.id}")
        page = stage.page
        page.get_by_role("button", name="I have seen it").click()
        expect(page.get_by_text(f"Seen: {first.id}")).to_be_visible()
        page.get_by_role("button", name="Silence…").click()
        page.get_by_label("For").select_option("86400")
        page.get_by_role("button", name="Silence it").click()
        expect(page.get_by_text(f"Silenced {first.id}")).to_be_visible()
        assert {f"{path}/ack", f"{path}/silence"} <= {one.replace("%40", "@") for one in stage.asked}


def test_it_says_when_nothing_is_wrong_and_when_nothing_judges(browser: Browser) -> None:
    empty = {"findings": [], "open": 0, "judged_at": None, "is_judged": False, "after": None}
    with staged(browser, answers={"/findings": lambda _: empty}) as stage:
        stage.open("/findings")
        expect(stage.page.get_by_text("Nothing judges alerts here")).to_be_visible()
    with staged(browser, answers={"/findings": lambda _: {**empty, "is_judged": True, "judged_at": 1.0}}) as stage:
        stage.open("/findings")
        expect(stage.page.get_by_text("Nothing is wrong", exact=True)).to_be_visible()
    settling = {**empty, "is_judged": True, "judged_at": NOW - 5, "settling_until": NOW + 100}
    with staged(browser, answers={"/findings": lambda _: settling}) as stage:
        stage.open("/findings")
        expect(stage.page.get_by_text("Nothing is wrong so far")).to_be_visible()
        expect(stage.page.get_by_text("Some alerts are judged in")).to_be_visible()
