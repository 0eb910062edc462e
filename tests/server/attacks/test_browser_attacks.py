"""A real browser with a page of another origin: it can change nothing here, and read nothing.

The browser knows the server as its user does: open to this machine, or with a session in its cookies. The page lies on
another port of the same host, on another name of this machine, or on a host elsewhere; or its name points to this
machine (DNS rebinding), or a proxy shows the server under a name of its own.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..asking import bearer  # noqa: TID252 - the helpers of the folder above
from .browser import browsing
from .conftest import Target
from .other_site import other_site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.scenario

ATTACKS = (Path(__file__).parent / "page_attacks.js").read_text()
#: Names that are this machine for the browser only.
NAMES = ("evil.example", "rebound.example", "queue.example")
QUEUE = "acme-tasks"


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with browsing(NAMES) as browser:
        yield browser


@pytest.fixture
def page(browser: "Browser") -> "Iterator[Page]":
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def waiting(target: Target) -> str:
    """The id of a message that waits, before anybody made a token."""
    sent = target.client.post("/api/v1/tasks/resize/submit", json={"payload": {"image": "a.png"}})
    assert sent.status_code == 201
    return str(sent.json()["id"])


def facts(target: Target, **headers: str) -> dict[str, Any]:
    """All that an attack could have changed."""
    found = {}
    for path in ("/messages?state=ready&limit=100", "/queues", "/tokens", "/acts"):
        answer = target.client.get(f"/api/v1{path}", headers=headers)
        assert answer.status_code == 200
        found[path] = answer.json()
    return {
        "ids": [one["id"] for one in found["/messages?state=ready&limit=100"]["messages"]],
        "paused": [(one["queue"], one["paused_at"] if "paused_at" in one else one["paused"])
                   for one in found["/queues"]["queues"]],
        "tokens": [(one["id"], one["name"]) for one in found["/tokens"]["tokens"]],
        "acts": len(found["/acts"]["acts"]),
    }  # fmt: skip


def attack(page: "Page", base: str) -> list[tuple[str, str]]:
    """Run every attack from the page; what it could read. If the browser itself dies, once more from a new page."""
    try:
        return _attack(page, base)
    except Exception as error:
        if "Target crashed" not in str(error):
            raise
    again = page.context.new_page()
    again.goto(page.url)
    return _attack(again, base)


def _attack(page: "Page", base: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = page.evaluate(ATTACKS, {"base": base, "queue": QUEUE})
    return found


def test_the_attacks_arrive_at_a_server_that_believes_everything(page: "Page") -> None:
    with other_site() as site, other_site() as gullible:
        page.goto(f"http://evil.example:{site.port}/")
        attack(page, f"http://127.0.0.1:{gullible.port}")
        posts = [path for method, path in gullible.requests if method == "POST"]
        gets = [path for method, path in gullible.requests if method == "GET"]
        assert posts.count(f"/api/v1/queues/{QUEUE}/pause") >= 10  # fetch, beacons, forms
        assert gets.count("/api/v1/queues") >= 5  # fetch, an image, a script, frames
        assert any("events/stream" in path for path in gets)
        assert ("OPTIONS", f"/api/v1/queues/{QUEUE}/pause") in gullible.requests


def test_from_its_own_page_the_same_act_succeeds(page: "Page", target: Target, waiting: str) -> None:
    page.goto(f"http://127.0.0.1:{target.port}/api/v1/docs")
    before = facts(target)["acts"]
    for act in ("pause", "resume"):
        status = page.evaluate(
            "async path => (await fetch(path, {method: 'POST', body: '{}', "
            "headers: {'Content-Type': 'application/json'}})).status",
            f"/api/v1/queues/{QUEUE}/{act}",
        )
        assert status == 200
    assert facts(target)["acts"] == before + 2


@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
def test_another_page_changes_and_reads_nothing(page: "Page", target: Target, waiting: str, host: str) -> None:
    before = facts(target)
    assert waiting in before["ids"]
    with other_site() as site:
        page.goto(f"http://{host}:{site.port}/")
        read = attack(page, f"http://{'localhost' if host == 'evil.example' else '127.0.0.1'}:{target.port}")
    assert read == []
    assert facts(target) == before


def test_a_name_that_points_here_is_not_ours(page: "Page", target: Target, waiting: str) -> None:
    before = facts(target)
    base = f"http://rebound.example:{target.port}"
    page.goto(f"{base}/livez")  # probers may use any name; the page is one of this origin now
    read = dict(attack(page, base))
    told = {text for name, text in read.items() if not text.startswith('{"type":"urn:tenure:problem:host_refused"')}
    assert told == set()
    assert facts(target) == before


@pytest.mark.parametrize("speaks_http_1_0", [True, False], ids=["as nginx does", "a silent one"])
def test_a_proxy_that_rewrites_the_host_lets_no_page_act(
    page: "Page", target: Target, waiting: str, speaks_http_1_0: bool
) -> None:
    before = facts(target)
    with other_site(target.port, speaks_http_1_0=speaks_http_1_0) as proxy:
        base = f"http://queue.example:{proxy.port}"
        page.goto(f"{base}/livez")
        read = attack(page, base)
        if speaks_http_1_0:
            assert read
            codes = {text.partition(",")[0].rpartition(":")[2].strip('"') for _, text in read}
            assert codes == {"proxy_refused", "cross_origin"}
    assert facts(target) == before


def test_another_page_changes_and_reads_nothing_with_the_session_of_its_victim(
    page: "Page", target: Target, waiting: str
) -> None:
    scopes = ["admin", "read", "operate", "send"]
    token = target.client.post("/api/v1/tokens", json={"name": "me", "scopes": scopes}).json()["token"]
    before = facts(target, **bearer(token))
    page.goto(f"http://127.0.0.1:{target.port}/api/v1/docs")
    assert page.evaluate(_LOG_IN, token) == "me"
    with other_site() as site:
        page.goto(f"http://127.0.0.1:{site.port}/")  # another port is the same site: the cookie is sent
        read = attack(page, f"http://127.0.0.1:{target.port}")
    assert read == []
    assert facts(target, **bearer(token)) == before


_LOG_IN = """async token => {
    const headers = {'Content-Type': 'application/json'};
    await fetch('/api/v1/session', {method: 'POST', body: JSON.stringify({token}), headers});
    return (await (await fetch('/api/v1/session')).json()).name;
}"""
