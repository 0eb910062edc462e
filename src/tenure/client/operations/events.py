"""Events: one page of the journal."""

from typing import Any

import msgspec

from tenure.client.operations.operations import Operations
from tenure.event import EventKind


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
    #: The places of the oldest and the newest event that are kept; 0: there is none.
    first: int
    last: int
    #: Events between the asked place and `first` were forgotten before they were read.
    gap: bool


class EventOperations(Operations):
    """What can be asked of the journal."""

    async def events(self, query: EventQuery | None = None) -> EventPage:
        """Return one page of events; looks at a bounded number of them."""
        raise NotImplementedError
