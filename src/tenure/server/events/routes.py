"""Events over HTTP: one page of the journal, and the stream."""

from typing import Annotated

import msgspec
from starlette.responses import Response

from tenure.client.operations.access import Access
from tenure.client.operations.event_choice import EventChoice
from tenure.client.operations.events import EventPage, EventQuery
from tenure.client.operations.naming import full_pattern
from tenure.event import EventKind
from tenure.server.errors import RequestInvalid, TooManyStreams
from tenure.server.events.event_rights import EventRights
from tenure.server.events.response import HEADERS, StreamResponse, last_event_id
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
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
    after: Annotated[int, msgspec.Meta(ge=0, le=_MOST_PLACE)] | None = None
    #: Of these kinds only; repeat it for more.
    kind: tuple[EventKind, ...] = ()
    #: Names, or patterns such as `acme-*`; repeat it for more.
    queue: tuple[str, ...] = ()
    #: Of this client's queue too, `{client}-tasks`.
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
    #: This many leases, those that end soonest.
    leases: Annotated[int, msgspec.Meta(ge=1, le=_MOST_LEASES)] = 20


class EventPageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which events of the journal. Where several things are given, all of them must hold."""

    #: Events behind this place, the oldest first.
    after: Annotated[int, msgspec.Meta(ge=0, le=_MOST_PLACE)] | None = None
    #: The last events before this place; `before` of a page goes back further. Null, without `after`: the newest.
    before: Annotated[int, msgspec.Meta(ge=1, le=_MOST_PLACE)] | None = None
    #: At most this many events.
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    #: Of these kinds only; repeat it for more.
    kind: tuple[EventKind, ...] = ()
    #: Names, or patterns such as `acme-*`; repeat it for more.
    queue: tuple[str, ...] = ()
    #: Of this client's queue too, `{client}-tasks`.
    client: str | None = None
    task: str | None = None
    #: About this message only.
    message: str | None = None
    #: About this worker only: its id, or its name.
    owner: str | None = None


async def list_events(ask: Ask[EventPageQuery, None]) -> Reply:
    """List one page of the journal."""
    query = ask.query
    if query.after is not None and query.before is not None:
        msg = "before: give after or before, not both"
        raise RequestInvalid(msg, field="before")
    wanted = EventQuery(
        after=query.after or 0,
        before=None if query.after is not None else query.before or 0,
        limit=query.limit,
        kinds=query.kind,
        queues=query.queue,
        client=query.client,
        task=query.task,
        message=query.message,
        owner=query.owner,
    )
    return Reply(value=await ask.operate.events(wanted))


async def follow_events(ask: Ask[EventStreamQuery, None]) -> Response:
    """Follow what happens."""
    query, access = ask.query, ask.operate.access
    choice = EventChoice(
        kinds=frozenset(query.kind),
        queues=_queues(access, query),
        task=query.task,
        message=query.message,
        owner=query.owner,
        everything=query.completed,
    )
    if ask.request.method == "HEAD":
        return Response(None, 200, HEADERS)
    came_back = last_event_id(ask.request)
    parts = frozenset(query.snapshot)
    ticks = SnapshotTicks(ask.server.snapshots, access, parts, query.leases) if parts else None
    return StreamResponse(
        ask.server,
        ask.principal,
        ask.request,
        choice,
        rights_of(access),
        after=query.after if came_back is None else came_back,
        ticks=ticks,
    )


def rights_of(access: Access) -> EventRights:
    """The part of the journal that an identity sees."""
    return EventRights(
        prefix="" if access.namespace is None else f"{access.namespace}/",
        queues=None if access.sees_every_queue else access.selection,
        sees_payload=access.sees_payload,
    )


def _queues(access: Access, query: EventStreamQuery) -> tuple[str, ...] | None:
    queues = (*query.queue, *(() if query.client is None else (f"{query.client}-tasks",)))
    return tuple(sorted({full_pattern(access, one) for one in queues})) or None


ROUTES = (
    Route(
        method="GET", path="/events", scope=AccessScope.READ, handler=list_events, query=EventPageQuery,
        answer=EventPage, summary="List what happened",
        description=(
            "Without `after` and `before`: the newest events. The page's `before` goes back further, its `after` goes "
            "on. A page looks at a bounded number of events, so an empty one may still lead on. Completed messages are "
            "among them."
        ),
        example={
            "events": [{
                "seq": 4711, "kind": "requeue", "at": 1767225600.0, "queue": "mail", "task": None, "message_id": None,
                "owner": None, "attempt": None, "seconds": None, "redacted": False,
                "data": {"count": 3, "dlq_count": 0, "ids": ["0197b2c0"], "triggered_by": "scheduler"},
            }],
            "after": 4711, "before": 4711, "first": 1, "last": 4711, "gap": False,
        },
    ),
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
