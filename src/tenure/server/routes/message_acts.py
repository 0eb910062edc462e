"""Acts on messages: cancel, delete, run now, and of dead letters redrive, edit, move. One by its id, or many at once.

Many are named by their ids or by filters. One request acts on a bounded number, `more` says that there are others, and
the same request goes on: what was done is not found again. A request that names nothing is refused: everything is
meant by `"all": true` only.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tenure.client.operations.bulk import BulkResult
from tenure.client.operations.ids import find_records
from tenure.client.operations.messages import OPEN_STATES, CancelResult, MessageQuery
from tenure.client.operations.resend import EditResult, MoveResult
from tenure.client.operations.run_now import RunNowResult
from tenure.errors import (
    AmbiguousId,
    BadArgument,
    MessageNotFound,
    NotBrowsable,
    NotDead,
    NotDelayed,
    NotPromotable,
    PayloadInvalid,
    UnknownQueue,
)
from tenure.message import MessageState
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import BULK, ID, NEW_ID
from tenure.server.routes.parameters import Moment, moment
from tenure.server.routes.selection import Rate, Selection, check_selection, most_now

_CANCELLABLE = tuple(state for state in OPEN_STATES if state is not MessageState.DEAD)


class CancelRequest(Selection, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which messages to cancel: those of `ids`, or all that match every filter."""

    #: Of `leased`, `ready` and `delayed`.
    states: tuple[MessageState, ...] = _CANCELLABLE
    client: str | None = None
    key: str | None = None
    #: Found in the id, the payload or the reason. Needs the scope `payload`.
    text: str | None = None
    #: Sent before this: Unix seconds or RFC 3339.
    until: Moment | None = None
    #: At most this many a second, evenly; not with `ids`. The request then ends after about 20 s.
    per_second: Rate | None = None


class MoveRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to move a dead letter."""

    #: The queue that it is sent to.
    queue: str
    #: Only say what would be done.
    dry_run: bool = False


class EditRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What of a dead letter is to be different."""

    #: The whole new payload. Null: as it was.
    payload: dict[str, Any] | None = None
    #: Another queue. Null: its own.
    queue: str | None = None
    #: 0 to 9. Null: as it was.
    priority: int | None = None
    #: Only check, and say what would change.
    dry_run: bool = False


async def cancel_message(ask: Ask[None, None]) -> Reply:
    """Cancel one message."""
    return Reply(value=await ask.operate.cancel([ask.path["id"]]))


async def delete_message(ask: Ask[None, None]) -> Reply:
    """Delete one message."""
    return Reply(value=await ask.operate.delete([ask.path["id"]]))


async def run_message_now(ask: Ask[None, None]) -> Reply:
    """Do not let it wait."""
    return Reply(value=await ask.operate.run_now(ask.path["id"]))


async def redrive_message(ask: Ask[None, None]) -> Reply:
    """Redrive one dead letter."""
    return Reply(value=await ask.operate.redrive([ask.path["id"]]))


async def move_message(ask: Ask[None, MoveRequest]) -> Reply:
    """Move one dead letter to another queue."""
    return Reply(value=await ask.operate.move([ask.path["id"]], ask.body.queue, dry_run=ask.body.dry_run))


async def edit_message(ask: Ask[None, EditRequest]) -> Reply:
    """Send it as it should have been."""
    given = ask.body
    found = await ask.operate.edit(
        ask.path["id"], given.payload, queue=given.queue, priority=given.priority, dry_run=given.dry_run
    )
    return Reply(value=found)


async def cancel_messages(ask: Ask[None, CancelRequest]) -> Reply:
    """Cancel the chosen messages."""
    given = ask.body
    check_selection(given, given.per_second)
    if given.ids:
        return Reply(value=await _cancel_named(ask))
    query = MessageQuery(
        states=given.states,
        queues=given.queues,
        task=given.task,
        client=given.client,
        key=given.key,
        text=given.text,
        since=moment(given.since, "since"),
        until=moment(given.until, "until"),
    )
    limit = most_now(given, given.per_second)
    found = await ask.operate.cancel_all(query, rate=given.per_second, dry_run=given.dry_run, limit=limit)
    return Reply(value=found)


async def _cancel_named(ask: Ask[None, CancelRequest]) -> BulkResult:
    """Acts on those with these ids; the answer is that of every act on many."""
    ids = ask.body.ids
    if not ask.body.dry_run:
        result = await ask.operate.cancel(ids)
        done = tuple(one.id for one in result.messages if one.cancelled)
        return BulkResult(found=result.found, done=len(done), skipped=result.skipped, ids=done)
    await ask.operate.access.open()
    records = await find_records(ask.operate.access, ids, consequence="nothing was changed")
    meant = tuple(one.id for one in records if not one.is_finished)
    return BulkResult(found=len(records), done=0, skipped=len(records) - len(meant), dry_run=True, ids=meant)


_NAMED = (MessageNotFound, AmbiguousId)
_MOVED: Mapping[str, Any] = {
    "messages": [{"id": ID, "new_id": NEW_ID, "queue": "images", "problem": ""}], "found": 1, "done": 1, "skipped": 0,
    "dry_run": False,
}  # fmt: skip
_ONE = {"found": 1, "done": 1, "skipped": 0, "dry_run": False, "more": False, "ids": [ID], "kinds": {}}

ROUTES = (
    Route(
        method="POST", path="/messages/{id}/cancel", scope=AccessScope.OPERATE, handler=cancel_message,
        answer=CancelResult, summary="Cancel a message",
        description=(
            "It will not run. One that runs is cancelled in its worker, and its result is refused. One that has ended "
            "stays as it is (`cancelled` is false)."
        ),
        example={
            "messages": [{"id": ID, "cancelled": True, "was": "leased", "owner": "web-1:4242:9f31"}], "found": 1,
            "done": 1, "skipped": 0,
        },
        errors=_NAMED,
    ),
    Route(
        method="DELETE", path="/messages/{id}", scope=AccessScope.OPERATE, handler=delete_message, answer=BulkResult,
        summary="Delete a message that is not leased",
        description="Ready, delayed or dead; a record of it stays. What runs or has ended is left alone (`skipped`).",
        example=_ONE, errors=_NAMED,
    ),
    Route(
        method="POST", path="/messages/{id}/run-now", scope=AccessScope.OPERATE, handler=run_message_now,
        answer=RunNowResult, summary="Run a delayed message now",
        description=(
            "Also one that waits for its retry. It is ready at once, and the next free worker runs it. Counters and "
            "priority stay. One that is ready already stays as it is (`changed` is false)."
        ),
        example={"id": ID, "queue": "acme-tasks", "was": "delayed", "changed": True, "paused": None},
        errors=(*_NAMED, NotDelayed, NotPromotable),
    ),
    Route(
        method="POST", path="/messages/{id}/redrive", scope=AccessScope.OPERATE, handler=redrive_message,
        answer=BulkResult, summary="Redrive a dead letter",
        description="It goes back to its queue with its counters at zero. Its history is kept.",
        example=_ONE, errors=(*_NAMED, NotDead),
    ),
    Route(
        method="POST", path="/messages/{id}/edit", scope=AccessScope.OPERATE, handler=edit_message, body=EditRequest,
        answer=EditResult, summary="Edit a dead letter and send it again",
        description=(
            "As a new message, in place of the old one. The payload is checked by the task's signature where the "
            "server knows the app's code. Repeated after a failure it makes no second message."
        ),
        body_example={"payload": {"image": "b.png"}, "dry_run": True},
        example={
            "id": ID, "new_id": None, "queue": "acme-tasks",
            "changes": [{"path": "payload.image", "kind": "changed", "before": "a.png", "after": "b.png"}],
            "checked": True, "dry_run": True, "redacted": False,
        },
        errors=(*_NAMED, NotDead, PayloadInvalid, BadArgument),
    ),
    Route(
        method="POST", path="/messages/{id}/move", scope=AccessScope.OPERATE, handler=move_message, body=MoveRequest,
        answer=MoveResult, summary="Move a dead letter to another queue",
        description="It is sent there as a new message, and removed here. What cannot be moved says why in `problem`.",
        body_example={"queue": "images"}, example=_MOVED, errors=(*_NAMED, NotDead, UnknownQueue),
    ),
    Route(
        method="POST", path="/messages/cancel", scope=AccessScope.OPERATE, handler=cancel_messages, body=CancelRequest,
        answer=BulkResult, summary="Cancel many messages",
        description=(
            "Those of `ids`, or those that match the filters. One request acts on a bounded number: repeat it until "
            "`more` is false."
        ),
        body_example={"queues": ["acme-tasks"], "task": "resize", "dry_run": True},
        example={**BULK, "done": 0, "dry_run": True, "kinds": {"ready": 1000}},
        errors=(*_NAMED, BadArgument, NotBrowsable),
    ),
)  # fmt: skip
