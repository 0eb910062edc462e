"""Queues: how much lies in each; pause, resume, purge, delete an empty one."""

import msgspec
from starlette.responses import Response

from tenure.client.operations.queues import PurgeResult, QueueChange, QueueList, QueueStatus
from tenure.errors import BadArgument, NotBrowsable, QueueNotEmpty, UnknownQueue
from tenure.message import MessageState
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.page import cut, reply_list
from tenure.server.routes.parameters import MOST_AT_ONCE, BulkLimit, PageQuery

_STATUS = {
    "queue": "acme-tasks", "ready": 40, "delayed": 2, "leased": 8, "dead": 1, "oldest_age_seconds": 2.0,
    "estimated": False, "paused": None,
}  # fmt: skip
_CHANGE = {"queue": "acme-tasks", "changed": True}


class QueuePage(QueueList, frozen=True, kw_only=True):
    """One page of the queues, by name."""

    #: Where to go on. Null: at the end.
    after: str | None = None


class Purge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to remove from a queue."""

    #: Of `ready`, `delayed` and `dead`. What runs is cancelled, not purged.
    states: tuple[MessageState, ...] = (MessageState.READY, MessageState.DELAYED)
    #: Only count.
    dry_run: bool = False
    #: Remove about so many at most.
    limit: BulkLimit = MOST_AT_ONCE


async def list_queues(ask: Ask[PageQuery, None]) -> Reply | Response:
    """All that there are."""
    limit = ask.query.limit

    async def read(after: str) -> tuple[QueuePage, str | None]:
        found = await ask.operate.queues(depths=await ask.server.depths.recent())
        page, following = cut(found.queues, lambda row: row.queue, after=after, limit=limit)
        return QueuePage(queues=page, after=following), following

    return await reply_list(ask, "queues", read, after=ask.query.after)


async def get_queue(ask: Ask[None, None]) -> Reply:
    """One of them."""
    return Reply(value=await ask.operate.queue(ask.path["queue"]))


async def delete_queue(ask: Ask[None, None]) -> Reply:
    """Take it off the list."""
    return Reply(value=await ask.operate.delete_queue(ask.path["queue"]))


async def pause_queue(ask: Ask[None, None]) -> Reply:
    """Nothing more is leased from it."""
    return Reply(value=await ask.operate.pause(ask.path["queue"]))


async def resume_queue(ask: Ask[None, None]) -> Reply:
    """It goes on."""
    return Reply(value=await ask.operate.resume(ask.path["queue"]))


async def purge_queue(ask: Ask[None, Purge]) -> Reply:
    """Empty it."""
    wanted = ask.body
    found = await ask.operate.purge(ask.path["queue"], wanted.states, dry_run=wanted.dry_run, limit=wanted.limit)
    return Reply(value=found)


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
        description="Nothing is lost: a message that is sent to it makes it anew. A queue with messages stays: 409.",
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
