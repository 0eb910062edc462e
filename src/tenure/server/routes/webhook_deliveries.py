"""Webhook deliveries over HTTP: what waits, what failed, what arrived; replay what failed."""

from typing import Literal

import msgspec
from starlette.responses import Response

from tenure.client.operations.bulk import BulkResult
from tenure.client.operations.webhook_deliveries import DeliveryPage, DeliveryQuery
from tenure.message import MessageState
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import ID, NOW
from tenure.server.routes.page import reply_list
from tenure.server.routes.parameters import BulkLimit, Limit, Moment, moment

_STATES: dict[str, tuple[MessageState, ...]] = {
    "open": (MessageState.LEASED, MessageState.READY, MessageState.DELAYED, MessageState.DEAD),
    "waiting": (MessageState.LEASED, MessageState.READY, MessageState.DELAYED),
    "failed": (MessageState.DEAD,),
    "done": (MessageState.COMPLETED,),
}


class DeliveriesQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which deliveries."""

    #: open: all that did not arrive. waiting: of these, those that are still tried. failed: given up. done: arrived.
    show: Literal["open", "waiting", "failed", "done"] = "open"
    #: Of this endpoint only.
    endpoint: str | None = None
    #: Made, or arrived, not before this.
    since: Moment | None = None
    #: And before this.
    before: Moment | None = None
    #: Rows of one page, at most.
    limit: Limit = 100
    #: `after` of the page before. Empty: the first page.
    after: str = ""


class ReplayRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which failed deliveries to send once more. Where several things are given, all of them must hold."""

    ids: tuple[str, ...] = ()
    endpoint: str | None = None
    since: float | None = None
    before: float | None = None
    #: At most so many a second.
    rate: float | None = None
    #: Only say how many.
    dry_run: bool = False
    #: At most so many in this request; the same request goes on.
    limit: BulkLimit = 1_000


async def list_deliveries(ask: Ask[DeliveriesQuery, None]) -> Reply | Response:
    """List deliveries."""
    query = ask.query
    since, before = moment(query.since, "since"), moment(query.before, "before")

    async def read(after: str) -> tuple[DeliveryPage, str | None]:
        page = await ask.operate.deliveries(DeliveryQuery(
            states=_STATES[query.show], endpoint=query.endpoint, since=since, before=before, limit=query.limit,
            after=after,
        ))  # fmt: skip
        return page, page.after

    return await reply_list(ask, "deliveries", read, after=query.after)


async def replay(ask: Ask[None, ReplayRequest]) -> Reply:
    """Send failed deliveries once more."""
    given = ask.body
    done = await ask.operate.replay(
        given.ids, endpoint=given.endpoint, since=given.since, before=given.before, rate=given.rate,
        dry_run=given.dry_run, limit=given.limit,
    )  # fmt: skip
    return Reply(value=done)


_DELIVERY = "whd_963f88fde18757e193eb8b2e25e5b28b"

ROUTES = (
    Route(
        method="GET", path="/webhooks/deliveries", scope=AccessScope.READ, handler=list_deliveries,
        query=DeliveriesQuery, answer=DeliveryPage, summary="List webhook deliveries",
        description="`waiting` counts the endings that are not deliveries yet, by the endpoint that they ask for.",
        example={
            "deliveries": [{
                "id": _DELIVERY, "state": "delayed", "endpoint": "orders", "url": None, "message_id": ID,
                "status": "completed", "attempts": 2, "answer_status": 503, "answer_seconds": 0.2,
                "error": "HTTP 503 after 0.200 s", "made_at": NOW - 60, "next_in": 118.5, "finished_at": None,
            }],
            "more": False, "after": None, "waiting": {"orders": 12},
        },
        rows="deliveries",
    ),
    Route(
        method="POST", path="/webhooks/deliveries/replay", scope=AccessScope.OPERATE, handler=replay,
        body=ReplayRequest, answer=BulkResult, summary="Send failed webhook deliveries once more",
        description="Their `webhook-id` stays, so a receiver that has them already can ignore them.",
        body_example={"endpoint": "orders", "dry_run": True},
        example={"found": 3, "done": 0, "skipped": 0, "dry_run": True, "more": False, "ids": [_DELIVERY], "kinds": {}},
    ),
)  # fmt: skip
