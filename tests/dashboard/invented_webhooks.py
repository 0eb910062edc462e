"""Webhook endpoints and deliveries of the invented store: one endpoint in each state, one delivery in each."""

# ruff: noqa: E501 - one row of data a line, however long

from collections.abc import Mapping
from typing import Any

from tests.dashboard.invented_store import NOW

from tenure.client.operations.webhook_deliveries import Delivery, DeliveryPage
from tenure.client.operations.webhook_endpoints import EndpointDisabled, EndpointHealth, EndpointStatus
from tenure.message import MessageState
from tenure.server.routes.webhook_endpoints import EndpointPage
from tenure.webhooks.breaker import BreakerState
from tenure.webhooks.endpoint import ENDINGS

_NO_ANSWER = "no answer after 10.000 s: timed out while connecting to hooks.northwind.example.com"
_WELL = EndpointHealth(state=BreakerState.CLOSED, failures=0, failing_since=None, rests_until=None, error="")


def endpoints() -> EndpointPage:
    """Well, failing, resting, switched off, given up."""
    failing = EndpointHealth(
        state=BreakerState.CLOSED,
        failures=3,
        failing_since=NOW - 95,
        rests_until=None,
        error="HTTP 503 after 0.214 s: upstream is starting",
    )
    resting = EndpointHealth(
        state=BreakerState.OPEN, failures=41, failing_since=NOW - 7_460, rests_until=NOW + 173, error=_NO_ANSWER
    )
    gone = EndpointDisabled(
        code="gone", reason="it answered that it is gone for good (HTTP 410 after 0.090 s)", at=NOW - 260_000, by=""
    )
    moves = EndpointDisabled(code="operator", reason="moves to another host on Thursday", at=NOW - 5_400, by="ada")
    return EndpointPage(
        endpoints=(
            _endpoint("billing", "https://billing.example.com/hooks/tenure", secret="env:BILLING_HOOK_SECRET", events=(MessageState.COMPLETED,)),
            _endpoint("legacy-crm", "https://crm.example.net/callback?source=tenure", disabled=gone),
            _endpoint("northwind", "https://hooks.northwind.example.com/v2/notify", clients=("northwind-*",), health=resting),
            _endpoint("orders", "https://shop.example.com/internal/notify", rotating_until=NOW + 81_000, hosts=("staging.example.com",), clients=("shop", "shop-eu")),
            _endpoint("reports", "https://reports.example.com/done", health=failing, events=(MessageState.COMPLETED, MessageState.DEAD)),
            _endpoint("warehouse", "https://warehouse.example.com/hooks", disabled=moves),
        ),
        after=None,
    )  # fmt: skip


def _endpoint(name: str, url: str, **more: Any) -> EndpointStatus:
    given: dict[str, Any] = {
        "clients": (), "hosts": (), "events": ENDINGS, "created_at": NOW - 4_000_000, "created_by": "ada",
        "secret": "stored", "rotating_until": None, "disabled": None, "health": _WELL, **more,
    }  # fmt: skip
    return EndpointStatus(name=name, url=url, **given)


_D, _R, _L, _X, _C = (
    MessageState.DELAYED,
    MessageState.READY,
    MessageState.LEASED,
    MessageState.DEAD,
    MessageState.COMPLETED,
)

#: state, endpoint, message, tells, attempts, answer, seconds, error, made, next in, finished
_ROWS: tuple[tuple[Any, ...], ...] = (
    (
        _L,
        "reports",
        "01a1ea2f01",
        "completed",
        2,
        503,
        0.214,
        "HTTP 503 after 0.214 s: upstream is starting",
        60,
        None,
        None,
    ),
    (
        _D,
        "reports",
        "01a1ea2e77",
        "completed",
        3,
        503,
        0.198,
        "HTTP 503 after 0.198 s: upstream is starting",
        95,
        88.0,
        None,
    ),
    (_D, "reports", "01a1ea2e12", "failed", 1, 429, 0.041, "HTTP 429 after 0.041 s", 31, 17.4, None),
    (_R, "orders", "01a1ea3001", "completed", 0, None, None, None, 0.4, None, None),
    (_D, "northwind", "01a1e9c0f2", "completed", 7, None, 10.0, _NO_ANSWER, 7_460, 5_212.0, None),
    (_D, "northwind", "01a1e9c103", "cancelled", 7, None, 10.0, _NO_ANSWER, 7_455, 5_230.0, None),
    (_D, "northwind", "01a1e9c2aa", "failed", 6, None, 10.0, _NO_ANSWER, 7_300, 1_904.0, None),
    (
        _X,
        "legacy-crm",
        "01a1c0ffee",
        "completed",
        1,
        410,
        0.09,
        "gave up: the receiver is gone for good: HTTP 410 after 0.090 s",
        260_002,
        None,
        260_000,
    ),
    (
        _X,
        "legacy-crm",
        "01a1c0fff1",
        "failed",
        1,
        410,
        0.088,
        "gave up: the receiver is gone for good: HTTP 410 after 0.088 s",
        259_990,
        None,
        259_988,
    ),
    (
        _X,
        "northwind",
        "01a19b00b5",
        "completed",
        14,
        None,
        10.0,
        f"gave up after 3 days: {_NO_ANSWER}",
        350_000,
        None,
        90_800,
    ),
    (
        _X,
        None,
        None,
        None,
        0,
        None,
        None,
        "the payload cannot be read: it was made by a newer Tenure",
        410_000,
        None,
        409_000,
    ),
    (_C, "orders", "01a1ea2ff0", "completed", 1, 200, 0.041, None, 4, None, 3.9),
    (_C, "orders", "01a1ea2fe1", "completed", 1, 204, 0.038, None, 9, None, 8.9),
    (_C, "billing", "01a1ea2fd4", "completed", 1, 202, 0.311, None, 12, None, 11.6),
    (_C, "reports", "01a1ea2b03", "failed", 2, 200, 1.92, None, 140, None, 102),
)
_SHOWN = {"waiting": (_D, _R, _L), "failed": (_X,), "done": (_C,), "open": (_D, _R, _L, _X)}


def deliveries(query: Mapping[str, list[str]]) -> DeliveryPage:
    """What waits, failed or arrived, of one endpoint or of all."""
    show, endpoint = query.get("show", ["open"])[0], query.get("endpoint", [None])[0]
    rows = tuple(
        Delivery(
            id=f"whd_{place:032x}", state=state, endpoint=name, url=None, message_id=message, status=tells, attempts=attempts,
            answer_status=answer, answer_seconds=seconds, error=error, made_at=NOW - made, next_in=next_in,
            finished_at=None if finished is None else NOW - finished,
        )
        for place, (state, name, message, tells, attempts, answer, seconds, error, made, next_in, finished) in enumerate(_ROWS, 0xA1)
        if state in _SHOWN[show] and endpoint in (None, name)
    )  # fmt: skip
    return DeliveryPage(
        deliveries=rows, more=False, after=None, waiting={"northwind": 1_284, "old-shop": 3, "warehouse": 96}
    )
