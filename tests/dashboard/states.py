"""What a page shows when it is not at rest: dialogs, and everything that can be wrong. For pictures and for axe.

Each is a page of the stage, other answers than usual, and what is done until it is there.
"""

# ruff: noqa: E501 - one state a line, however long

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from playwright.sync_api import Page, expect
from tests.dashboard import invented_store
from tests.dashboard.invented_store import DEAD_ID, NOW, OVERDUE_ID
from tests.dashboard.stage import ORIGIN, Answer, Stage

from tenure.client.operations.bulk import BulkResult
from tenure.client.operations.dead_groups import DeadGroups
from tenure.client.operations.difference import Change
from tenure.client.operations.resend import EditResult


class State(NamedTuple):
    """One of them."""

    path: str
    #: What is there when it is shown.
    words: str
    answers: Mapping[str, Answer] = {}
    act: Callable[[Page], None] | None = None


def problem(status: int, code: str, detail: str, **more: str) -> tuple[int, dict[str, Any]]:
    """A problem document, as the stage answers it."""
    return status, {"status": status, "code": code, "detail": detail, **more}


def _wrong(status: int, code: str, detail: str, **more: str) -> Mapping[str, Answer]:
    found = problem(status, code, detail, **more)
    return {"/snapshots/overview": lambda _: found, "/events/stream": lambda _: found}


def _pressed(*names: str) -> Callable[[Page], None]:
    def press(page: Page) -> None:
        for name in names:
            page.get_by_role("button", name=name, exact=True).last.click()

    return press


def _edit(page: Page) -> None:
    page.get_by_role("button", name="Edit and redrive…").click()
    payload = page.get_by_label("Payload, as JSON")
    payload.fill(payload.input_value().replace("ada@example.org", "grace@example.org"))
    page.get_by_role("button", name="Check and compare").click()


def _choose(page: Page) -> None:
    boxes = page.locator("tr[data-row] input")
    for place in (7, 8, 9, 18):
        boxes.nth(place).click()


_NOTHING = msgspec.structs.replace(
    invented_store.overview(well=True), queue_count=0, queues=(), tasks=(), task_count=0, leases=(), lease_count=0
)
_NO_DEAD = DeadGroups(groups=(), looked_at=0, more=False, hours_since=int(NOW))
_FOUND = BulkResult(found=4, done=0, skipped=0, dry_run=True, kinds={"send_mail (max_attempts)": 4})
_EDITED = EditResult(
    id=DEAD_ID, new_id=None, queue="mail", checked=True, dry_run=True, redacted=False,
    changes=(Change(path="payload.to", kind="changed", before="ada@example.org", after="grace@example.org"),),
)  # fmt: skip

STATES: Mapping[str, State] = {
    "login": State("/", "Log in", {"/session": lambda _: problem(401, "unauthenticated", "no token")}),
    "empty": State("/", "No queues yet", {"/snapshots/overview": lambda _: _NOTHING, "/dead/groups": lambda _: _NO_DEAD,
                                          "/events/stream": lambda _: None}),
    "no-dead": State("/dead", "No dead letters", {"/dead/groups": lambda _: _NO_DEAD}),
    "forbidden": State("/", "You may not see this", _wrong(403, "forbidden_scope", "this needs the scope 'read'")),
    "older": State("/", "This server is older", _wrong(404, "route_not_found", "no such route")),
    "store-away": State("/", "The store does not answer", _wrong(503, "broker_unavailable", "the store cannot be reached: connection refused")),
    "broken": State("/", "Something went wrong", _wrong(500, "internal", "a mistake", request_id="4f2a9c")),
    "disconnected": State("/leases", "The server does not answer", {"/events/stream": lambda _: problem(500, "internal", "")}),
    "not-found": State("/nowhere", "There is nothing here"),
    "keys": State("/leases", "Keyboard", act=lambda page: page.keyboard.press("?")),
    "touch": State(f"/messages/{OVERDUE_ID}", "Touch the lease", act=_pressed("Touch…")),
    "cancel": State(f"/messages/{OVERDUE_ID}", "Cancel this message?", act=_pressed("Cancel…")),
    "redrive-group": State("/dead?group=c4dd7a1131b2116e", "4 messages match now", {"/dead/redrive": lambda _: _FOUND}, _pressed("Redrive all…")),
    "delete-group": State("/dead?group=c4dd7a1131b2116e", "4 messages match now", {"/dead/delete": lambda _: _FOUND}, _pressed("Delete all…")),
    "edit": State(f"/messages/{DEAD_ID}", "What changes", {f"/messages/{DEAD_ID}/edit": lambda _: _EDITED}, _edit),
    "chosen": State("/messages", "4 messages selected", act=_choose),
    "comfortable": State("/queues", "publish-site", act=lambda page: page.keyboard.press("r")),
}  # fmt: skip


#: A request that fails is tried again twice before it is said.
_SOON = 20_000


def show(stage: Stage, state: State) -> None:
    """Open it, and do what it takes until it is there."""
    stage.page.goto(ORIGIN + state.path)
    stage.page.wait_for_selector("h1, h2, [role=alert]")
    if state.act is not None:
        stage.settle()
        state.act(stage.page)
    expect(stage.page.get_by_text(state.words).first).to_be_visible(timeout=_SOON)
    stage.settle()
