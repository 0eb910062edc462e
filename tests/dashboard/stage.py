"""The stage: the built dashboard in a browser, with the invented store behind it, at a moment that stands still.

No server runs: each request is answered here. For pictures (`screenshots.py`), for looks at every page
(`test_pages.py`), and for what a real store shows seldom.
"""

import contextlib
import mimetypes
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
from playwright.sync_api import Browser, Page, Route
from tests.dashboard import (
    invented_clients,
    invented_findings,
    invented_groups,
    invented_records,
    invented_store,
    invented_timing,
    invented_webhooks,
)
from tests.dashboard.invented_groups import GROUP_ID, MEMBER_ID
from tests.dashboard.invented_store import DEAD_ID, NOW, OVERDUE_ID

import tenure
from tenure.server.guard.headers import CONTENT_SECURITY_POLICY
from tenure.server.snapshots.lease_changes import changes

STATIC = Path(tenure.__file__).parent / "server" / "static"
ORIGIN = "http://dashboard.test"
#: Each page, with what is opened on it.
PAGES = {
    "overview": "/",
    "queues": "/queues",
    "queue": "/queues/transcode",
    "task": "/queues/publish-site?task=publish_site",
    "clients": "/clients",
    "client": "/clients/acme",
    "leases": "/leases",
    "lease": f"/leases?open={OVERDUE_ID}",
    "messages": "/messages",
    "message": f"/messages/{OVERDUE_ID}",
    "message-dead": f"/messages/{DEAD_ID}",
    "message-member": f"/messages/{MEMBER_ID}",
    "group": f"/groups/{GROUP_ID}",
    "dead": "/dead?group=c4dd7a1131b2116e",
    "workers": "/workers?worker=gpu-3%2F9f21b0b0",
    "schedules": "/schedules",
    "schedule": "/schedules?schedule=invoices",
    "webhooks": "/webhooks",
    "webhook": "/webhooks?endpoint=northwind&show=failed",
    "findings": "/findings?finding=oldest_age%40transcode",
    "events": "/events",
    "system": "/system",
}

Answer = Callable[[Mapping[str, list[str]]], Any]


def _figures(query: Mapping[str, list[str]]) -> Any:
    given = {name: values[0] for name, values in query.items()}
    step = int(given.get("step", "0")) or 60
    return invented_store.figures(
        int(float(given.get("seconds", "3600"))), step, given.get("queue"), given.get("task") or None
    )


def _stream(_query: Mapping[str, list[str]]) -> bytes:
    """What a stream says first; then it ends, as if the time stood still."""
    times = {
        name: getattr(invented_store.leases(), name)
        for name in ("server_now", "made_at", "next_snapshot_in", "last_sweep_at", "next_sweep_at")
    }
    first = changes(None, invented_store.leases().leases, is_cut=False)
    payload = {"times": times, "overview": invented_store.overview(), "leases": first}
    tick = msgspec.json.encode({"type": "snapshot", "timestamp": int(NOW * 1000), "payload": payload})
    return b"retry: 2000\nid: 4711\n\nevent: snapshot\ndata: " + tick + b"\n\n"


def _always(value: Any) -> Answer:
    return lambda _: value


ANSWERS: dict[str, Answer] = {
    "/session": lambda _: invented_store.session(),
    "/snapshots/overview": lambda _: invented_store.overview(),
    "/snapshots/queues": lambda _: invented_store.queues(),
    "/snapshots/leases": lambda _: invented_store.leases(),
    "/figures": _figures,
    "/tasks": lambda _: invented_store.tasks(),
    "/messages": lambda _: invented_store.messages(),
    f"/messages/{OVERDUE_ID}": lambda _: invented_records.overdue_message(),
    f"/messages/{DEAD_ID}": lambda _: invented_records.dead_message(),
    f"/messages/{MEMBER_ID}": lambda _: invented_groups.member(),
    f"/messages/{MEMBER_ID}/children": lambda _: invented_timing.children(MEMBER_ID),
    f"/groups/{GROUP_ID}": lambda _: invented_groups.group(),
    f"/messages/{OVERDUE_ID}/stack": lambda _: invented_records.stack(),
    f"/messages/{OVERDUE_ID}/children": lambda _: invented_timing.children(OVERDUE_ID),
    f"/messages/{DEAD_ID}/children": lambda _: invented_timing.children(DEAD_ID),
    "/scaling": lambda _: invented_timing.scaling(),
    "/timing": invented_timing.timing,
    "/dead/groups": lambda _: invented_store.dead_groups(),
    "/workers": lambda _: invented_store.workers(),
    "/schedules": lambda _: invented_store.schedules(),
    "/clients": lambda _: invented_clients.clients(),
    "/clients/acme": lambda _: invented_clients.client("acme"),
    "/clients/acme/forget": lambda _: invented_clients.looked(),
    "/webhooks/endpoints": lambda _: invented_webhooks.endpoints(),
    "/webhooks/deliveries": invented_webhooks.deliveries,
    "/findings": lambda _: invented_findings.findings(),
    "/events": lambda query: invented_records.ticks() if query.get("kind") == ["ticked"] else invented_records.events(),
    **{f"/messages/{id}/status": _always(status) for id, status in invented_records.statuses().items()},
    "/acts": lambda _: invented_records.acts(),
    "/settings": lambda _: invented_records.settings(),
    "/events/stream": _stream,
}


class Stage:
    """One page of a browser, and what is answered to it."""

    def __init__(self, page: Page, answers: Mapping[str, Answer]) -> None:
        """`answers`: other ones than usual, by path."""
        self.page = page
        self.answers = {**ANSWERS, **answers}
        #: What the page complained of.
        self.complaints: list[str] = []
        #: Paths that it asked for, without `/api/v1`.
        self.asked: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.route("**/*", self._answer)

    def open(self, path: str) -> None:
        """Show a page, with everything that it loads."""
        self.page.goto(ORIGIN + path)
        self.page.wait_for_selector("h1, h2, dialog")
        self.settle()

    def settle(self) -> None:
        """Until nothing is loading any more, and what is drawn is drawn."""
        self.page.wait_for_function("() => !document.querySelector('.skeleton')")
        self.page.wait_for_function(
            "() => document.querySelectorAll('.uplot').length === document.querySelectorAll('[data-plot]').length"
        )
        for _ in range(2):
            self.page.wait_for_load_state("load")
            self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60)))")

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _answer(self, route: Route) -> None:
        url = urlsplit(route.request.url)
        path = unquote(url.path)
        if not route.request.url.startswith(ORIGIN):
            self.complaints.append(f"asked another server: {route.request.url}")
            route.abort()
        elif path.startswith("/api/v1"):
            self._answer_data(route, path.removeprefix("/api/v1"), parse_qs(url.query))
        else:
            self._answer_file(route, path)

    def _answer_data(self, route: Route, path: str, query: Mapping[str, list[str]]) -> None:
        self.asked.append(path)
        answer = self.answers.get(path)
        found = None if answer is None else answer(query)
        if isinstance(found, tuple):
            route.fulfill(status=found[0], body=msgspec.json.encode(found[1]), content_type="application/problem+json")
        elif isinstance(found, bytes):
            route.fulfill(body=found, content_type="text/event-stream")
        elif found is None:
            problem = {
                "code": "message_not_found",
                "detail": "there is no such message",
                "title": "Not Found",
                "status": 404,
            }
            route.fulfill(status=404, body=msgspec.json.encode(problem), content_type="application/problem+json")
        else:
            route.fulfill(body=msgspec.json.encode(found), content_type="application/json")

    def _answer_file(self, route: Route, path: str) -> None:
        file = STATIC / path.lstrip("/")
        if file.is_file():
            route.fulfill(body=file.read_bytes(), content_type=mimetypes.guess_type(file.name)[0] or "text/plain")
            return
        page = (STATIC / "index.html").read_text(encoding="utf-8").replace('="./', '="/')
        headers = {"Content-Security-Policy": CONTENT_SECURITY_POLICY, "Content-Type": "text/html"}
        route.fulfill(body=page, headers=headers)


@contextlib.contextmanager
def staged(
    browser: Browser, *, theme: str = "light", width: int = 1360, height: int = 860,
    answers: Mapping[str, Answer] | None = None, is_still: bool = True, **options: Any,
) -> Iterator[Stage]:  # fmt: skip
    """A page at the invented moment. `is_still`: time stands still, else it goes on as everywhere."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if theme == "dark" else "light",
        timezone_id="UTC",
        locale="en-GB",
        reduced_motion="reduce",
        **options,
    )
    try:
        page = context.new_page()
        if is_still:
            # Timers go on, but every clock shows the same moment.
            page.clock.set_fixed_time(NOW)
            page.add_init_script("performance.now = () => 1000")
        yield Stage(page, answers or {})
    finally:
        context.close()
