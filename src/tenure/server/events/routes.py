"""Events over HTTP: one page of the journal, and the stream."""

import msgspec
from starlette.responses import Response

from tenure.client.operations.access import Access
from tenure.client.operations.naming import full_pattern
from tenure.event import EventKind
from tenure.server.errors import RequestInvalid, TooManyStreams
from tenure.server.events.event_filter import EventFilter, EventRights
from tenure.server.events.response import HEADERS, StreamResponse, last_event_id
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Route
from tenure.server.snapshots.parts import SnapshotPart
from tenure.server.snapshots.ticks import SnapshotTicks

#: Rows of leases that a stream follows, at most.
_MOST_LEASES = 200
#: Places in the journal fit into 64 bits.
_MOST_PLACE = 2**62


class EventStreamQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What to follow. Where several things are given, all of them must hold."""

    #: The place behind which to begin; 0: the oldest event that is kept. Null: with what comes now. `Last-Event-ID`,
    #: which browsers send when they come back, goes before it.
    after: int | None = None
    #: Of these kinds only; repeat it for more.
    kind: tuple[EventKind, ...] = ()
    #: Names, or patterns such as `acme-*`; repeat it for more.
    queue: tuple[str, ...] = ()
    #: Of this client's queue, `{client}-tasks`.
    client: str | None = None
    task: str | None = None
    #: About this message only; completed too.
    message: str | None = None
    #: About this worker only: its id, or its name.
    owner: str | None = None
    #: Also completed messages, at most 50 a second; the others are counted.
    completed: bool = False
    #: Also snapshots, as they are made; repeat it for more parts.
    snapshot: tuple[SnapshotPart, ...] = ()
    #: So many leases, those that end soonest.
    leases: int = 20


async def follow_events(ask: Ask[EventStreamQuery, None]) -> Response:
    """Follow what happens."""
    query, access = ask.query, ask.operate.access
    if query.after is not None and not 0 <= query.after <= _MOST_PLACE:
        msg = "after: a place in the journal is a number from 0"
        raise RequestInvalid(msg, field="after")
    if not 1 <= query.leases <= _MOST_LEASES:
        msg = f"leases: from 1 to {_MOST_LEASES}"
        raise RequestInvalid(msg, field="leases")
    event_filter = EventFilter(
        kinds=frozenset(query.kind), queues=_queues(access, query), task=query.task, message=query.message,
        owner=query.owner, completed=query.completed,
    )  # fmt: skip
    if ask.request.method == "HEAD":
        return Response(None, 200, HEADERS)
    came_back = last_event_id(ask.request)
    parts = frozenset(query.snapshot)
    ticks = SnapshotTicks(ask.server.snapshots, access, parts, query.leases) if parts else None
    return StreamResponse(
        ask.server, ask.principal, ask.request, event_filter, rights_of(access),
        after=query.after if came_back is None else came_back, ticks=ticks,
    )  # fmt: skip


def rights_of(access: Access) -> EventRights:
    """What of the journal exists for somebody."""
    return EventRights(
        prefix="" if access.namespace is None else f"{access.namespace}/",
        queues=None if access.sees_every_queue else access.selection,
        sees_payload=access.sees_payload,
    )


def _queues(access: Access, query: EventStreamQuery) -> tuple[str, ...] | None:
    if query.client is not None and query.queue:
        msg = "client: it names a queue, {client}-tasks; give either client or queue"
        raise RequestInvalid(msg, field="client")
    queues = query.queue if query.client is None else (f"{query.client}-tasks",)
    return tuple(sorted({full_pattern(access, one) for one in queues})) or None


ROUTES = (
    Route(
        method="GET", path="/events/stream", scope=AccessScope.READ, handler=follow_events, query=EventStreamQuery,
        summary="Follow what happens",
        description=(
            "Server-Sent Events. The data of each is a JSON document with `type`, `timestamp` (ms) and `payload`; its "
            "`id` is its place in the journal, on every server. A client that comes back with `Last-Event-ID` goes on "
            "behind it, or gets an event of type `gap` where the journal no longer reaches back."
        ),
        errors=(TooManyStreams,), media_type="text/event-stream",
    ),
)  # fmt: skip
