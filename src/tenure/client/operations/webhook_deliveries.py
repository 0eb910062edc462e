"""Webhook deliveries: what went out, what waits, what failed; replay what failed.

A delivery is a message on the reserved queue, so it has attempts, a reason and a dead letter like any other. Endings of
an endpoint that rests or is disabled are not deliveries yet: they wait, and are counted.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from tenure import envelope
from tenure.announcement import READ_LIMIT, WEBHOOK_TARGET
from tenure.broker import Query
from tenure.client.browse_all import browse_all
from tenure.client.operations.access import Access
from tenure.client.operations.browsable import hidden_states
from tenure.client.operations.bulk import MOST_AT_ONCE, BulkResult, bulk_result, carry_out, check_bounds
from tenure.client.operations.message_list import Listing, listing
from tenure.client.operations.operations import Operations
from tenure.errors import BadArgument, BodyUndecodable
from tenure.message import MessageState
from tenure.query import Browsed
from tenure.record import Record
from tenure.rules.reserved_queue import reserved_queue
from tenure.webhooks.deliver import Delivered
from tenure.webhooks.delivery import Payload, payload_of
from tenure.webhooks.outcome import attempt_in

#: So many endings that wait are counted.
_MOST_COUNTED = 10_000
_STATES: tuple[MessageState, ...] = (MessageState.LEASED, MessageState.READY, MessageState.DELAYED, MessageState.DEAD)


class DeliveryQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which deliveries. Where several things are given, all of them must hold."""

    #: `completed` alone, or any of the others. Empty: all but what arrived.
    states: tuple[MessageState, ...] = _STATES
    #: Of what arrived the endpoint is not a filter.
    endpoint: str | None = None
    #: Unix seconds: made, or arrived, not before this.
    since: float | None = None
    #: And before this.
    before: float | None = None
    limit: int = 50
    #: `DeliveryPage.after` of the page before.
    after: str = ""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One delivery, as it stands."""

    #: Also its `webhook-id`.
    id: str
    state: MessageState
    #: None: it was made by a newer Tenure, or its payload is kept elsewhere.
    endpoint: str | None
    #: Set: another URL than the endpoint's own.
    url: str | None
    #: The message whose end it tells.
    message_id: str | None
    #: completed, failed or cancelled.
    status: str | None
    attempts: int
    #: What the receiver answered last. None: nothing, or it was not asked yet.
    answer_status: int | None
    answer_seconds: float | None
    #: Why the last attempt failed; of a dead letter, why it was given up.
    error: str | None
    made_at: float | None
    #: Seconds until the next attempt. None: it is not waiting for one.
    next_in: float | None
    finished_at: float | None


class DeliveryPage(msgspec.Struct, frozen=True, kw_only=True):
    """The deliveries that were found."""

    deliveries: tuple[Delivery, ...]
    more: bool
    #: Where to go on. None: at the end.
    after: str | None = None
    #: Endings that wait to become deliveries, by endpoint; those of which there are very many are not all counted.
    waiting: dict[str, int]


class _Body(msgspec.Struct):
    task_id: str | None = None
    status: str | None = None


class WebhookDeliveryOperations(Operations):
    """Operations on webhook deliveries."""

    async def deliveries(self, query: DeliveryQuery | None = None) -> DeliveryPage:
        """Return one page of deliveries: what waits and what failed, or with `completed` what arrived."""
        query = DeliveryQuery() if query is None else query
        check_bounds(limit=query.limit)
        access = await self._opened()
        queue = reserved_queue(access.namespace)
        if not access.sees(queue):
            return DeliveryPage(deliveries=(), more=False, waiting={})
        states = query.states or _STATES
        if MessageState.COMPLETED in states and len(states) > 1:
            msg = "what arrived has another order than the rest; ask for completed alone. Nothing was read"
            raise BadArgument(msg)
        # Deliveries are few, so a scan is cheap where one is needed.
        hidden = hidden_states(access.broker, states, scan=True)
        states = tuple(state for state in states if state not in hidden)
        if not states:
            return DeliveryPage(deliveries=(), more=False, waiting=await _waiting(access))
        asked = Query(
            states=states, scan=True, queues=(queue,), since=query.since, until=query.before, limit=query.limit,
            cursor=query.after,
        )  # fmt: skip
        if states == (MessageState.COMPLETED,):
            found = await listing(access, asked)
            rows = tuple([await _arrived(access, one.id) for one in found.messages])
            rows = tuple(row for row in rows if query.endpoint in (None, row.endpoint))
        else:
            found, rows = await _open(access, asked, query.endpoint)
        return DeliveryPage(deliveries=rows, more=found.is_more, after=found.cursor, waiting=await _waiting(access))

    async def replay(
        self,
        ids: Sequence[str] = (),
        *,
        endpoint: str | None = None,
        since: float | None = None,
        before: float | None = None,
        rate: float | None = None,
        dry_run: bool = False,
        limit: int = MOST_AT_ONCE,
    ) -> BulkResult:
        """Send failed deliveries once more: these, or all of an endpoint or a time.

        Their `webhook-id` stays, so a receiver that has them already knows them.

        - `rate`: At most so many a second.
        - `dry_run`: Only say how many.
        - `limit`: At most so many; `more` says whether there are others, and the same call goes on.
        """
        check_bounds(limit=limit)
        access = await self._opened()
        queue = reserved_queue(access.namespace)
        found: dict[str, str] = {}
        more = False
        if access.sees(queue):
            asked = Query(states=(MessageState.DEAD,), queues=(queue,), since=since, until=before)
            async for one in browse_all(access.broker, asked):
                if (not ids or one.id in ids) and (endpoint is None or _payload(one.envelope).endpoint == endpoint):
                    if len(found) >= limit:
                        more = True
                        break
                    found[one.id] = queue
        done = [] if dry_run else await carry_out(access, found, access.operator().redrive, rate=rate)
        return bulk_result(found, done, {}, dry_run=dry_run, more=more)


async def _open(access: Access, asked: Query, endpoint: str | None) -> tuple[Listing, tuple[Delivery, ...]]:
    """Deliveries that have not arrived, with what their envelopes say."""
    payloads: dict[str, Payload] = {}

    def keep(one: Browsed) -> bool:
        payloads[one.id] = _payload(one.envelope)
        return endpoint is None or payloads[one.id].endpoint == endpoint

    found = await listing(access, asked, keep=keep)
    rows = []
    for one in found.messages:
        payload = payloads.get(one.id, _UNREADABLE)
        body = _body(payload)
        text = None if one.reason is None else one.reason.text
        attempt = None if text is None else attempt_in(text)
        rows.append(Delivery(
            id=one.id, state=one.state, endpoint=payload.endpoint or None, url=payload.url, message_id=body.task_id,
            status=body.status, attempts=one.counters.attempts,
            answer_status=None if attempt is None else attempt.status,
            answer_seconds=None if attempt is None else attempt.seconds,
            error=text, made_at=one.sent_at, next_in=one.due_in, finished_at=one.finished_at,
        ))  # fmt: skip
    return found, tuple(rows)


async def _arrived(access: Access, id: str) -> Delivery:
    """A delivery that arrived: its envelope is gone, and its result says the rest."""
    record: Record | None = await access.state.records.get(id, reserved_queue(access.namespace))
    told = Delivered(status=0, seconds=0.0)
    if record is not None and record.result:
        told = msgspec.json.decode(record.result, type=Delivered)
    return Delivery(
        id=id, state=MessageState.COMPLETED, endpoint=told.endpoint, url=told.url, message_id=told.task_id,
        status=told.told, attempts=0 if record is None else record.counters.attempts + 1,
        answer_status=told.status or None, answer_seconds=told.seconds, error=None,
        made_at=None if record is None else record.sent_at, next_in=None,
        finished_at=None if record is None else record.finished_at,
    )  # fmt: skip


async def _waiting(access: Access) -> dict[str, int]:
    """Endings that are not deliveries yet, by the endpoint that they ask for."""
    found: Counter[str] = Counter()
    place = ""
    for _ in range(_MOST_COUNTED // READ_LIMIT):
        page = await access.broker.announcements(place, READ_LIMIT)
        for one in page:
            if access.registry.sees(one.queue):
                found.update(
                    target.removeprefix(WEBHOOK_TARGET).partition(" ")[0]
                    for target in one.targets
                    if target.startswith(WEBHOOK_TARGET)
                )
        if len(page) < READ_LIMIT:
            break
        place = page[-1].place
    return dict(sorted(found.items()))


_UNREADABLE = Payload(endpoint="", webhook_id="", body=msgspec.Raw(b"null"))


def _payload(raw: bytes) -> Payload:
    try:
        return payload_of(envelope.decode(raw))
    except (BodyUndecodable, msgspec.MsgspecError):
        return _UNREADABLE


def _body(payload: Payload) -> _Body:
    try:
        return msgspec.json.decode(bytes(payload.body), type=_Body)
    except msgspec.MsgspecError:
        return _Body()
