"""Dead letters: list them, group them by what went wrong; redrive, delete and move many."""

from typing import Annotated, Any

import msgspec
from starlette.responses import Response

from tenure.client.operations.bulk import BulkResult
from tenure.client.operations.dead import DeadQuery, named_dead
from tenure.client.operations.dead_groups import DeadGroups
from tenure.client.operations.messages import MessagePage
from tenure.client.operations.resend import MoveResult
from tenure.errors import AmbiguousId, MessageNotFound, NotBrowsable, NotDead, UnknownQueue
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import BULK, ID, LISTED, NEW_ID, NOW
from tenure.server.routes.page import reply_list
from tenure.server.routes.parameters import MOST_ROWS, Limit, Moment, moment
from tenure.server.routes.selection import Rate, Selection, check_selection, most_now

#: A move asks the store several times for each message.
_MOST_MOVED = 100


class DeadFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which dead letters. Where several things are given, all of them must hold."""

    #: Names, or patterns such as `acme-*`; repeat it for more. Default: every queue.
    queue: tuple[str, ...] = ()
    task: str | None = None
    #: The code of the reason, such as `max_attempts`.
    reason: str | None = None
    #: Those of one group: its `fingerprint`.
    fingerprint: str | None = None
    #: Died not before this: Unix seconds or RFC 3339.
    since: str | None = None
    #: And before this.
    before: str | None = None
    #: Of this client only.
    client: str | None = None
    #: With this key only.
    key: str | None = None
    #: With this text in its payload or its reason; needs the scope `payload`.
    text: str | None = None


class DeadListQuery(DeadFilter, frozen=True, kw_only=True):
    """Which page of the dead letters."""

    #: Rows of one page, at most.
    limit: Limit = 100
    #: `after` of the page before. Empty: the first page.
    after: str = ""
    #: The newest first.
    newest_first: bool = False


class DeadGroupsQuery(DeadFilter, frozen=True, kw_only=True):
    """How far to look."""

    #: Look at this many dead letters at most, the newest ones.
    most: Annotated[int, msgspec.Meta(ge=1, le=10 * MOST_ROWS)] = 10 * MOST_ROWS


class DeadSelection(Selection, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which dead letters: those of `ids`, or all that match every filter."""

    #: The code of the reason, such as `max_attempts`.
    reason: str | None = None
    #: Those of one group: its `fingerprint`.
    fingerprint: str | None = None
    #: Died before this: Unix seconds or RFC 3339.
    before: Moment | None = None
    #: Of this client only.
    client: str | None = None
    #: With this key only.
    key: str | None = None
    #: With this text in its payload or its reason; needs the scope `payload`.
    text: str | None = None


class PacedSelection(DeadSelection, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which dead letters to redrive or delete."""

    #: At most this many a second, evenly; not with `ids`. The request then ends after about 20 s.
    per_second: Rate | None = None


class MoveSelection(DeadSelection, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which dead letters to move, and where."""

    #: The queue that they are sent to.
    to: str


class MoveManyResult(MoveResult, frozen=True, kw_only=True):
    """What a move of many came to."""

    #: There are more. What could not be moved stays and is found again: stop when `done` is 0.
    more: bool = False


async def list_dead(ask: Ask[DeadListQuery, None]) -> Reply | Response:
    """List the dead letters that match."""
    given = ask.query
    query = _query(given, queues=given.queue, newest_first=given.newest_first)

    async def read(after: str) -> tuple[MessagePage, str | None]:
        found = await ask.operate.dead(query, limit=given.limit, after=after)
        return found, found.after

    return await reply_list(ask, "messages", read, after=given.after)


async def list_groups(ask: Ask[DeadGroupsQuery, None]) -> Reply | Response:
    """Group the dead letters by what went wrong."""
    given = ask.query
    query = _query(given, queues=given.queue)

    async def read(_after: str) -> tuple[DeadGroups, str | None]:
        return await ask.operate.dead_groups(query, most=given.most), None

    return await reply_list(ask, "groups", read)


async def redrive_dead(ask: Ask[None, PacedSelection]) -> Reply:
    """Redrive the chosen dead letters."""
    given = ask.body
    check_selection(given, given.per_second)
    if given.ids:
        found = await _would(ask, given) if given.dry_run else await ask.operate.redrive(given.ids)
        return Reply(value=found)
    query, limit = _query(given, queues=given.queues), most_now(given, given.per_second)
    found = await ask.operate.redrive_all(query, rate=given.per_second, dry_run=given.dry_run, limit=limit)
    return Reply(value=found)


async def delete_dead(ask: Ask[None, PacedSelection]) -> Reply:
    """Delete the chosen dead letters."""
    given = ask.body
    check_selection(given, given.per_second)
    if given.ids:
        would = await _would(ask, given)  # raises for what is no dead letter
        return Reply(value=would if given.dry_run else await ask.operate.delete(given.ids))
    query, limit = _query(given, queues=given.queues), most_now(given, given.per_second)
    found = await ask.operate.delete_dead_all(query, rate=given.per_second, dry_run=given.dry_run, limit=limit)
    return Reply(value=found)


async def move_dead(ask: Ask[None, MoveSelection]) -> Reply:
    """Move the chosen dead letters to another queue."""
    given, more = ask.body, False
    check_selection(given)
    ids = list(given.ids)
    if not ids:
        ids, more = await _found(ask, min(given.limit, _MOST_MOVED))
    moved = await ask.operate.move(ids, given.to, dry_run=given.dry_run)
    return Reply(value=MoveManyResult(**msgspec.structs.asdict(moved), more=more))


async def _found(ask: Ask[None, MoveSelection], limit: int) -> tuple[list[str], bool]:
    """The ids of the first dead letters that match, and whether there are more."""
    query = _query(ask.body, queues=ask.body.queues)
    ids, after = list[str](), ""
    while True:
        page = await ask.operate.dead(query, limit=limit + 1 - len(ids), after=after)
        ids += [one.id for one in page.messages]
        if page.after is None or len(ids) > limit:
            return ids[:limit], len(ids) > limit
        after = page.after


async def _would(ask: Ask[Any, Any], given: DeadSelection) -> BulkResult:
    """Return what an act on these ids would change. Raises for an id that is no dead letter."""
    await ask.operate.access.open()
    found = await named_dead(ask.operate.access, given.ids)
    return BulkResult(found=len(found), done=0, skipped=0, dry_run=True, ids=tuple(found))


def _query(given: DeadFilter | DeadSelection, *, queues: tuple[str, ...], newest_first: bool = False) -> DeadQuery:
    return DeadQuery(
        queues=queues,
        task=given.task,
        reason=given.reason,
        fingerprint=given.fingerprint,
        since=moment(given.since, "since"),
        before=moment(given.before, "before"),
        client=given.client,
        key=given.key,
        text=given.text,
        newest_first=newest_first,
    )


_LOOK = (UnknownQueue, NotBrowsable)
_NAMED = (MessageNotFound, AmbiguousId, NotDead, *_LOOK)
_MANY = "One request acts on a bounded number: repeat it until `more` is false. `dry_run` only says how many."

ROUTES = (
    Route(
        method="GET", path="/dead", scope=AccessScope.READ, handler=list_dead, query=DeadListQuery, answer=MessagePage,
        summary="List dead letters", description="With why each is dead. An empty page with `after` is normal.",
        example={
            "messages": [LISTED], "more": False, "after": None, "looked_at": 1, "looked_until": NOW - 60, "hidden": [],
            "paused": [],
        },
        errors=_LOOK, rows="messages",
    ),
    Route(
        method="GET", path="/dead/groups", scope=AccessScope.READ, handler=list_groups, query=DeadGroupsQuery,
        answer=DeadGroups, summary="Group dead letters by what went wrong",
        description=(
            "The largest group first. A group has one task, one code, one class of exception and one place in your own "
            "code; numbers and ids in the sentence do not split it. Its `fingerprint` is a filter of the other routes."
        ),
        example={
            "groups": [{
                "fingerprint": "9c0d5e1b7a42", "task": "resize", "code": "max_attempts", "error": "ValueError",
                "place": "jobs.py:12 in resize", "text": "ValueError: no such image", "count": 41,
                "queues": {"acme-tasks": 41}, "first_at": NOW - 7200, "last_at": NOW - 60,
                "by_hour": [0] * 22 + [30, 11], "ids": [ID], "traceback": "", "redacted": False,
            }],
            "looked_at": 41, "more": False, "hours_since": NOW - 82800,
        },
        errors=_LOOK, rows="groups", is_tagged=True,
    ),
    Route(
        method="POST", path="/dead/redrive", scope=AccessScope.OPERATE, handler=redrive_dead, body=PacedSelection,
        answer=BulkResult, summary="Redrive many dead letters",
        description=f"They go back to their queues with counters at zero. {_MANY}",
        body_example={"task": "resize", "reason": "max_attempts", "per_second": 50}, example=BULK, errors=_NAMED,
    ),
    Route(
        method="POST", path="/dead/delete", scope=AccessScope.OPERATE, handler=delete_dead, body=PacedSelection,
        answer=BulkResult, summary="Delete many dead letters", description=f"A record of each stays. {_MANY}",
        body_example={"fingerprint": "9c0d5e1b7a42", "dry_run": True},
        example={**BULK, "done": 0, "dry_run": True}, errors=_NAMED,
    ),
    Route(
        method="POST", path="/dead/move", scope=AccessScope.OPERATE, handler=move_dead, body=MoveSelection,
        answer=MoveManyResult, summary="Move many dead letters to another queue",
        description=(
            f"Each is sent there as a new message and removed here; at most {_MOST_MOVED} in one request that has "
            "filters. What cannot be moved stays, and says why in `problem`."
        ),
        body_example={"ids": [ID], "to": "images"},
        example={
            "messages": [{"id": ID, "new_id": NEW_ID, "queue": "images", "problem": ""}], "found": 1, "done": 1,
            "skipped": 0, "dry_run": False, "more": False,
        },
        errors=_NAMED,
    ),
)  # fmt: skip
