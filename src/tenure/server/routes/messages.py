"""Messages: list them by filters, show one with its whole life."""

import msgspec
from starlette.responses import Response

from tenure.client.operations.children import ChildList
from tenure.client.operations.message_detail import MessageDetail
from tenure.client.operations.message_list import ENDED
from tenure.client.operations.message_status import MessageStatus, message_status
from tenure.client.operations.messages import OPEN_STATES, MessagePage, MessageQuery
from tenure.client.operations.naming import known_queues, wanted_queues
from tenure.errors import AmbiguousId, BadArgument, MessageNotFound, NotBrowsable, UnknownQueue
from tenure.message import MessageState
from tenure.rules.queue_pattern import matches
from tenure.server.errors import WatchLinkInvalid
from tenure.server.export import Export, wants_ndjson
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import COUNTERS, ID, LISTED, NEW_ID, NOW
from tenure.server.routes.message_events import LinkQuery
from tenure.server.routes.page import reply_list
from tenure.server.routes.parameters import PageQuery, moment

#: One request reads this many messages: a rare match among a million is looked for in many short ones.
_LOOK_AT = 5_000
#: And for about so long: on a busy machine, fewer messages.
_LOOK_SECONDS = 0.08


class MessageListQuery(PageQuery, frozen=True, kw_only=True):
    """Which messages. A message must match every filter."""

    #: `ready`, `delayed`, `leased`, `dead`, or `completed`, `cancelled`; repeat it for more. What has ended cannot be
    #: asked for together with the others.
    state: tuple[MessageState, ...] = OPEN_STATES
    #: Names, or patterns such as `acme-*`; repeat it for more. Default: every queue.
    queue: tuple[str, ...] = ()
    task: str | None = None
    #: The app that sent it.
    client: str | None = None
    key: str | None = None
    #: Found in the id, the payload or the reason. Needs the scope `payload`.
    text: str | None = None
    #: Sent, or ended, of what has ended, not before this: Unix seconds or RFC 3339.
    since: str | None = None
    #: And before this.
    until: str | None = None
    #: Include states that need a scan of a cloud's table, which is billed by the row.
    scan: bool = False
    #: The other way round: the newest first. What has ended always is.
    newest_first: bool = False


async def list_messages(ask: Ask[MessageListQuery, None]) -> Reply | Response:
    """List the messages that match."""
    asked = _query(ask.query)

    async def read(after: str) -> tuple[MessagePage, str | None]:
        found = await ask.operate.messages(msgspec.structs.replace(asked, after=after))
        return found, found.after

    if wants_ndjson(ask.request) and not ask.query.after and {*asked.states} <= {*ENDED}:
        return await _export_ended(ask, asked)
    return await reply_list(ask, "messages", read, after=ask.query.after)


async def get_message(ask: Ask[None, None]) -> Reply:
    """Return one message with all its details."""
    return Reply(value=await ask.operate.message(ask.path["id"]))


async def list_children(ask: Ask[None, None]) -> Reply:
    """List the messages that this one has handed on."""
    return Reply(value=await ask.operate.children(ask.path["id"]))


async def get_status(ask: Ask[LinkQuery, None]) -> Reply:
    """Return the status of one message. With a watch link: without the worker's name, and with the handler's note."""
    status = await message_status(ask.operate.access, ask.path["id"], shows_note=ask.grant is not None)
    return Reply(value=status if ask.grant is None else msgspec.structs.replace(status, owner=None))


def _query(given: MessageListQuery) -> MessageQuery:
    return MessageQuery(
        states=given.state, queues=given.queue, task=given.task, client=given.client, key=given.key, text=given.text,
        since=moment(given.since, "since"), until=moment(given.until, "until"), limit=given.limit, after=given.after,
        scan=given.scan, newest_first=given.newest_first, look_at=_LOOK_AT,
        look_seconds=_LOOK_SECONDS,
    )  # fmt: skip


async def _export_ended(ask: Ask[MessageListQuery, None], asked: MessageQuery) -> Export:
    """Queue by queue: the newest of several queues are merged, and that list has no place to go on from."""
    access = ask.operate.access
    wanted = await wanted_queues(access, asked.queues)
    queues = sorted(name for name in await known_queues(access) if wanted is None or matches(name, wanted))

    async def read(after: str) -> tuple[MessagePage, str | None]:
        at, _, cursor = after.partition("~")
        place = int(at or 0)
        if place >= len(queues):
            return MessagePage(messages=(), more=False), None
        of_one = msgspec.structs.replace(asked, queues=(queues[place],), after=cursor)
        found = await ask.operate.messages(of_one)
        following = f"{place}~{found.after}" if found.after else f"{place + 1}~" if place + 1 < len(queues) else None
        return msgspec.structs.replace(found, more=False), following

    return Export(ask, "messages", read)


_ENDINGS = (BadArgument, NotBrowsable, UnknownQueue)
_FOUND = (MessageNotFound, AmbiguousId)

ROUTES = (
    Route(
        method="GET", path="/messages", scope=AccessScope.READ, handler=list_messages, query=MessageListQuery,
        answer=MessagePage, summary="List messages",
        description=(
            "One call looks at a bounded number of messages and says how far it looked: an empty page with `after` is "
            "normal. What moves between two pages may be seen twice or not at all. Without the scope `payload` the "
            "texts of errors are left out."
        ),
        example={
            "messages": [LISTED], "more": True, "after": "eyJxIjoiYWNtZSJ9", "looked_at": 100,
            "looked_until": NOW - 60, "hidden": [], "paused": [],
        },
        errors=_ENDINGS, rows="messages",
    ),
    Route(
        method="GET", path="/messages/{id}", scope=AccessScope.READ, handler=get_message, answer=MessageDetail,
        summary="Show one message with its timeline",
        description=(
            "`id` may be the beginning of an id that only one message has. Without the scope `payload` body, result, "
            "headers and texts are left out, and `redacted` is true."
        ),
        example={
            "id": ID, "queue": "acme-tasks", "task": "resize", "state": "dead", "counters": COUNTERS, "owner": None,
            "fence": None, "sent_at": NOW - 3600, "finished_at": NOW - 60, "deadline_in": None, "due_in": None,
            "result": None,
            "reason": {
                "code": "max_attempts", "text": "ValueError: no such image", "traceback": "", "error": "ValueError",
                "count": 0,
            },
            "progress": None, "history": [{"at": NOW - 60, "how": "dead"}], "body": {"image": "a.png"},
            "kept_payload": None, "raw": None, "message": None, "life": [{"at": NOW - 3600, "what": "sent"}],
            "paused": None, "limit": None,
            "waits_for_limit": False, "size": None, "usual_seconds": None, "group": None,
            "attempt": 3, "unreadable": "", "redacted": False,
        },
        errors=_FOUND,
    ),
    Route(
        method="GET", path="/messages/{id}/status", scope=AccessScope.READ, handler=get_status, query=LinkQuery,
        answer=MessageStatus, is_linked=True, summary="Show where a message is",
        description="Cheaper than the whole message: one look at its record. Takes the whole id only.",
        example={
            "id": ID, "queue": "acme-tasks", "task": "resize", "state": "leased", "attempt": 1,
            "counters": {"deliveries": 1, "attempts": 0, "crashes": 0, "lost": 0}, "owner": "web-1:4242:9f31",
            "sent_at": NOW - 12, "finished_at": None, "deadline_in": 20.0, "due_in": None, "reason": None,
            "progress": {"fraction": 0.4, "note": "page 4 of 10"}, "redacted": False,
        },
        errors=(MessageNotFound, WatchLinkInvalid),
    ),
    Route(
        method="GET", path="/messages/{id}/children", scope=AccessScope.READ, handler=list_children, answer=ChildList,
        summary="Show what a message has handed on",
        description=(
            "The messages that its handler has handed on by `ctx.submit`, at most 100, in that order. They are sent "
            "when it is completed. `parent_id`, who handed it on, is known until it has ended."
        ),
        example={
            "id": ID, "parent_id": None,
            "children": [{"id": NEW_ID, "queue": "acme-tasks", "task": "publish", "state": "ready"}], "more": False,
        },
        errors=_FOUND,
    ),
)  # fmt: skip
