"""Events: one page of the journal."""

from typing import Any

import msgspec

from tenure.client.operations.access import Access
from tenure.client.operations.bulk import check_bounds
from tenure.client.operations.event_choice import EventChoice
from tenure.client.operations.naming import wanted_queues
from tenure.client.operations.operations import Operations
from tenure.client.operations.redaction import safe_data
from tenure.event import Event, EventKind, StoredEvent

_PAGE = 1_000
#: One call looks at this many events.
_MOST_LOOKED_AT = 20_000


class EventEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One event, with its place in the journal."""

    #: Its place in the journal; grows.
    seq: int
    kind: EventKind
    at: float
    queue: str | None = None
    task: str | None = None
    message_id: str | None = None
    #: The worker.
    owner: str | None = None
    #: Number of the run.
    attempt: int | None = None
    #: How long the handler ran.
    seconds: float | None = None
    #: What else this kind says.
    data: dict[str, Any] = {}
    redacted: bool = False


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which events."""

    #: Events behind this place; 0: from the first that is kept.
    after: int = 0
    #: The last events before this place, instead of those behind `after`. 0: the newest.
    before: int | None = None
    limit: int = 100
    kinds: tuple[EventKind, ...] = ()
    #: Names, or patterns.
    queues: tuple[str, ...] = ()
    #: A client's queue is `{client}-tasks`.
    client: str | None = None
    task: str | None = None
    message: str | None = None
    owner: str | None = None


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page, oldest first."""

    events: tuple[EventEntry, ...]
    #: Where to go on: `EventQuery.after` of the next page. All before it was looked at.
    after: int
    #: Where to go back further: `EventQuery.before`. None: `before` was not asked for, or there is nothing older.
    before: int | None = None
    #: The places of the oldest and the newest event that are kept; 0: there is none.
    first: int
    last: int
    #: Events between the asked place and `first` were forgotten before they were read.
    gap: bool


class EventOperations(Operations):
    """Operations on the journal."""

    async def events(self, query: EventQuery | None = None) -> EventPage:
        """Return one page of events; looks at a bounded number of them."""
        query = EventQuery() if query is None else query
        check_bounds(limit=query.limit)
        access = await self._opened()
        choice = await event_choice(access, query)
        first, last = await access.state.journal.first(), await access.state.journal.last()
        if choice is None:
            return EventPage(events=(), after=last, first=first, last=last, gap=False)
        if choice.message is not None:
            return await _about(access, choice, query, first, last)
        if query.before is not None:
            return await _last_before(access, choice, query, first, last)
        found: list[StoredEvent] = []
        after, looked_at = max(query.after, first - 1), 0
        while len(found) < query.limit and looked_at < _MOST_LOOKED_AT:
            page = await access.state.journal.read(after, _PAGE)
            for one in page:
                after, looked_at = one.seq, looked_at + 1
                if choice.means(one.event) and is_theirs(access, one.event):
                    found.append(one)
                    if len(found) == query.limit:
                        break
            if len(page) < _PAGE:
                break
        gap = 0 < query.after < first - 1 or query.after > last
        entries = tuple(event_entry(one, sees_payload=access.sees_payload) for one in found)
        return EventPage(events=entries, after=min(after, last), first=first, last=last, gap=gap)


async def event_choice(access: Access, query: EventQuery) -> EventChoice | None:
    """Make the choice of events. None: this identity sees none of the queues."""
    wanted = [*query.queues, *([f"{query.client}-tasks"] if query.client else [])]
    queues = await wanted_queues(access, wanted) if wanted else None
    if queues == ():
        return None
    return EventChoice(
        kinds=frozenset(query.kinds),
        queues=queues,
        task=query.task,
        message=query.message,
        owner=query.owner,
        everything=True,
    )


def is_theirs(access: Access, event: Event) -> bool:
    """Whether this identity sees an event. An event without a queue is visible to those who see every queue."""
    return access.sees_every_queue if event.queue is None else access.sees(event.queue)


def event_entry(stored: StoredEvent, *, sees_payload: bool) -> EventEntry:
    """An event as it is answered; without texts of handlers and errors for who may not see payloads."""
    event = stored.event
    return EventEntry(
        seq=stored.seq,
        kind=event.kind,
        at=event.at,
        queue=event.queue,
        task=event.task,
        message_id=event.message_id,
        owner=event.owner,
        attempt=event.attempt,
        seconds=event.seconds,
        data=event.data if sees_payload else safe_data(event.data),
        redacted=not sees_payload,
    )


async def _about(access: Access, choice: EventChoice, query: EventQuery, first: int, last: int) -> EventPage:
    """Events of one message, which the journal finds without reading all of it."""
    about = await access.state.journal.about(choice.message or "", limit=_PAGE)
    meant = [one for one in about if choice.means(one.event) and is_theirs(access, one.event)]
    if query.before is not None:
        older = [one for one in meant if not query.before or one.seq < query.before]
        found = older[-query.limit :]
        before = found[0].seq if len(found) < len(older) else None
        return _page(access, found, after=last, before=before, first=first, last=last)
    found = [one for one in meant if one.seq > query.after][: query.limit]
    after = found[-1].seq if len(found) == query.limit else last
    return _page(access, found, after=after, before=None, first=first, last=last)


async def _last_before(access: Access, choice: EventChoice, query: EventQuery, first: int, last: int) -> EventPage:
    """Reads back in pages, as far as one call may."""
    end = last + 1 if not query.before else min(query.before, last + 1)
    found: list[StoredEvent] = []
    place, looked_at = end, 0
    while first and place > first and len(found) < query.limit and looked_at < _MOST_LOOKED_AT:
        begin = max(first, place - _PAGE)
        page = [one for one in await access.state.journal.read(begin - 1, place - begin) if one.seq < place]
        looked_at += place - begin
        meant = [one for one in page if choice.means(one.event) and is_theirs(access, one.event)]
        room = query.limit - len(found)
        found = meant[-room:] + found
        place = meant[-room].seq if len(meant) > room else begin
    return _page(
        access, found, after=end - 1, before=place if first and place > first else None, first=first, last=last
    )


def _page(
    access: Access, found: list[StoredEvent], *, after: int, before: int | None, first: int, last: int
) -> EventPage:
    entries = tuple(event_entry(one, sees_payload=access.sees_payload) for one in found)
    return EventPage(events=entries, after=after, before=before, first=first, last=last, gap=False)
