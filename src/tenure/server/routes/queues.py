"""Queues: how many messages each holds; pause, resume, limit, purge, delete an empty one.

The limit of a client's queue is part of its quota, and changed by `admin` alone, as in `clients.py`.
"""

import asyncio
from typing import Any

import msgspec
from starlette.responses import Response

from tenure.client.operations.limits import LimitChange
from tenure.client.operations.queues import PurgeResult, QueueChange, QueueList, QueueStatus
from tenure.errors import BadArgument, NotBrowsable, QueueNotEmpty, UnknownQueue
from tenure.message import MessageState
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.page import cut, reply_list
from tenure.server.routes.parameters import MOST_AT_ONCE, BulkLimit, PageQuery

_STATUS = {
    "queue": "acme-tasks", "ready": 40, "delayed": 2, "leased": 8, "dead": 1, "oldest_age_seconds": 2.0,
    "estimated": False, "paused": None, "limit": None, "waits_for_limit": False,
}  # fmt: skip
_LIMIT = {
    "queue": "acme-tasks", "running": 5, "per_second": 1.6667, "rate": "100/m", "at": 1753430000.0, "by": "alice",
}  # fmt: skip
_CHANGE = {"queue": "acme-tasks", "changed": True}


class QueuePage(QueueList, frozen=True, kw_only=True):
    """One page of the queues, by name."""

    #: Where to go on. Null: at the end.
    after: str | None = None


class NewLimit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to limit. At least one of both; what is left out stays as it was."""

    #: At most so many run at once, over all workers.
    running: int | None = None
    #: At most so many start in a time, over all workers: `100/m`, `5/s`, `1/10s`.
    rate: str | None = None


class Purge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to remove from a queue."""

    #: Of `ready`, `delayed` and `dead`. What runs is cancelled, not purged.
    states: tuple[MessageState, ...] = (MessageState.READY, MessageState.DELAYED)
    #: Only count.
    dry_run: bool = False
    #: Remove about this many at most.
    limit: BulkLimit = MOST_AT_ONCE


async def list_queues(ask: Ask[PageQuery, None]) -> Reply | Response:
    """List the queues."""
    limit = ask.query.limit

    async def read(after: str) -> tuple[QueuePage, str | None]:
        depths, notices = await asyncio.gather(ask.server.depths.recent(), ask.server.notices.recent())
        found = await ask.operate.queues(depths=depths, notices=notices)
        page, following = cut(found.queues, lambda row: row.queue, after=after, limit=limit)
        return QueuePage(queues=page, after=following), following

    return await reply_list(ask, "queues", read, after=ask.query.after)


async def get_queue(ask: Ask[None, None]) -> Reply:
    """Return one queue."""
    return Reply(value=await ask.operate.queue(ask.path["queue"]))


async def delete_queue(ask: Ask[None, None]) -> Reply:
    """Take it off the list."""
    return _changed(ask, await ask.operate.delete_queue(ask.path["queue"]))


async def pause_queue(ask: Ask[None, None]) -> Reply:
    """Pause a queue: nothing more is leased from it."""
    return _changed(ask, await ask.operate.pause(ask.path["queue"]))


async def resume_queue(ask: Ask[None, None]) -> Reply:
    """Resume a paused queue."""
    return _changed(ask, await ask.operate.resume(ask.path["queue"]))


async def limit_queue(ask: Ask[None, NewLimit]) -> Reply:
    """Limit a queue."""
    wanted = ask.body
    return _changed(ask, await ask.operate.limit(ask.path["queue"], running=wanted.running, rate=wanted.rate))


async def clear_limit(ask: Ask[None, None]) -> Reply:
    """Remove the limit that an operator set."""
    return _changed(ask, await ask.operate.clear_limit(ask.path["queue"]))


async def purge_queue(ask: Ask[None, Purge]) -> Reply:
    """Purge a queue."""
    wanted = ask.body
    found = await ask.operate.purge(ask.path["queue"], wanted.states, dry_run=wanted.dry_run, limit=wanted.limit)
    return _changed(ask, found)


def _changed(ask: Ask[None, Any], result: QueueChange | PurgeResult | LimitChange) -> Reply:
    ask.server.outdate_queues()
    return Reply(value=result)


ROUTES = (
    Route(
        method="GET", path="/queues", scope=AccessScope.READ, handler=list_queues, query=PageQuery, answer=QueuePage,
        summary="List the queues", description=(
            "Those in which something lies, and those that are paused, by name. Where there is so much that counting "
            "takes long, figures may be a few seconds old."
        ),
        example={"queues": [_STATUS], "after": None}, rows="queues", is_tagged=True,
    ),
    Route(
        method="GET", path="/queues/{queue}", scope=AccessScope.READ, handler=get_queue, answer=QueueStatus,
        summary="Show one queue", example=_STATUS, errors=(UnknownQueue,), is_tagged=True,
    ),
    Route(
        method="DELETE", path="/queues/{queue}", scope=AccessScope.OPERATE, handler=delete_queue, answer=QueueChange,
        summary="Delete an empty queue",
        description="Nothing is lost: a message that is sent to it creates it again. A queue with messages stays: 409.",
        example=_CHANGE, errors=(UnknownQueue, QueueNotEmpty),
    ),
    Route(
        method="POST", path="/queues/{queue}/pause", scope=AccessScope.OPERATE, handler=pause_queue,
        answer=QueueChange, summary="Pause a queue",
        description="Workers lease nothing from it until it is resumed. What runs goes on, what is sent waits.",
        example=_CHANGE, errors=(UnknownQueue,),
    ),
    Route(
        method="POST", path="/queues/{queue}/resume", scope=AccessScope.OPERATE, handler=resume_queue,
        answer=QueueChange, summary="Resume a queue", example=_CHANGE, errors=(UnknownQueue,),
    ),
    Route(
        method="PUT", path="/queues/{queue}/limit", scope=AccessScope.OPERATE, handler=limit_queue, body=NewLimit,
        client_scope=AccessScope.ADMIN, answer=LimitChange, summary="Limit a queue",
        description=(
            "At most so many run at once or start in a time, over all workers, instead of what the code says, until it "
            "is cleared. What runs goes on. Workers notice within a second or so. The limit of a client's queue, "
            "`{client}-tasks`, is part of its quota, and needs the scope `admin` instead."
        ),
        body_example={"running": 5, "rate": "100/m"}, example={"queue": "acme-tasks", "changed": True, "limit": _LIMIT},
        errors=(UnknownQueue, BadArgument),
    ),
    Route(
        method="DELETE", path="/queues/{queue}/limit", scope=AccessScope.OPERATE, handler=clear_limit,
        client_scope=AccessScope.ADMIN, answer=LimitChange, summary="Clear the limit of a queue",
        description=(
            "What an operator set is removed; the limit of the code counts again, if there is one. That of a client's "
            "queue, `{client}-tasks`, needs the scope `admin` instead."
        ),
        example={"queue": "acme-tasks", "changed": True, "limit": None}, errors=(UnknownQueue,),
    ),
    Route(
        method="POST", path="/queues/{queue}/purge", scope=AccessScope.OPERATE, handler=purge_queue, body=Purge,
        answer=PurgeResult, summary="Remove what waits in a queue",
        description=(
            "A record of each message stays. One request removes a bounded number: repeat it until `more` is false. "
            "With `dry_run` it only says how many there are."
        ),
        body_example={"states": ["ready", "delayed"], "dry_run": True},
        example={
            "queue": "acme-tasks", "purged": 0, "would": {"ready": 40, "delayed": 2}, "dry_run": True, "more": False,
        },
        errors=(UnknownQueue, NotBrowsable, BadArgument),
    ),
)  # fmt: skip
