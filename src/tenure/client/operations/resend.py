"""Move and edit: a dead letter is sent again as a new message, and then deleted.

Send first, delete second: a crash between the two leaves both, and none is lost. The new message's id is derived from
the old one's and what is asked for, so the repeat makes no second message.

The new message has the old one's task, key, client, correlation and headers, and a header that names the old one. It
starts over: no attempts, no history. `unique` is left out, so that no waiting message takes its place.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from tenure import envelope
from tenure.client.claim_check import BodyDamaged, BodyGone
from tenure.client.operations.access import Access
from tenure.client.operations.difference import Change, differences
from tenure.errors import BadArgument, BadMessage, KeyConflict, MessageNotFound, NotDead
from tenure.event import EventKind
from tenure.message import MAX_PRIORITY, Message, MessageState, Outgoing
from tenure.rules.arguments import is_whole
from tenure.rules.rejections import error_of

#: The header of the new message that names the old one.
FROM_HEADER = "tenure-moved-from"


class MovedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one dead letter."""

    id: str
    #: Of the message that was sent in its place. None: none was.
    new_id: str | None
    queue: str
    #: Why it was left alone. Empty: it was moved.
    problem: str = ""


class MoveResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a move came to, in the order of the ids."""

    messages: tuple[MovedMessage, ...]
    found: int
    done: int
    skipped: int
    dry_run: bool = False


class EditResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an edit changed, or would change."""

    id: str
    #: Of the message that was sent in its place. None: it was a dry run.
    new_id: str | None
    queue: str
    changes: tuple[Change, ...]
    #: Whether the payload was checked by the task's signature. False: the app does not know the task.
    checked: bool
    dry_run: bool = False
    #: `before` and `after` are left out.
    redacted: bool = False


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """The fields to change in a dead letter."""

    #: None: as it was.
    payload: Mapping[str, Any] | None = None
    queue: str
    priority: int | None = None


async def move_one(access: Access, id: str, queue: str, to: str, *, dry_run: bool) -> MovedMessage:
    """Send one dead letter to another queue. What cannot be moved stays, and the answer says why."""
    if to == queue:
        return MovedMessage(id=id, new_id=None, queue=to, problem="it is in this queue already; redrive it")
    try:
        old = await _read(access, id, queue)
        new_id = None if dry_run else await _replace(access, old, _new(old, queue=to), EventKind.MOVED)
    except (BadMessage, MessageNotFound, NotDead) as error:
        return MovedMessage(id=id, new_id=None, queue=to, problem=str(error))
    return MovedMessage(id=id, new_id=new_id, queue=to)


async def edit_one(access: Access, id: str, queue: str, edit: Edit, *, dry_run: bool) -> EditResult:
    """Send one dead letter again as it should have been."""
    if edit.priority is not None and not is_whole(edit.priority, 0, MAX_PRIORITY):
        msg = f"priority={edit.priority!r} is not a whole number from 0 to {MAX_PRIORITY}; nothing was changed"
        raise BadArgument(msg)
    old = await _read(access, id, queue)
    task = access.tasks.get(old.task)
    body = None if edit.payload is None else _encoded(access, old.task, edit.payload)
    new = _new(old, queue=edit.queue, body=body, priority=edit.priority)
    changes = [
        *differences(_plain(old.body), _plain(new.body), "payload"),
        *differences(old.queue, new.queue, "queue"),
        *differences(old.priority, new.priority, "priority"),
    ]
    if not changes:
        msg = f"nothing in message {id} would change; nothing was changed (redrive sends it again as it is)"
        raise BadArgument(msg)
    new_id = None if dry_run else await _replace(access, old, new, EventKind.EDITED)
    return EditResult(
        id=id,
        new_id=new_id,
        queue=new.queue,
        changes=tuple(changes),
        checked=edit.payload is not None and task is not None,
        dry_run=dry_run,
    )


def derived_id(old: Message, *, queue: str, body: bytes, priority: int) -> str:
    """The id of the message that is sent in place of `old`: the same for the same wish. Sorts where `old` does."""
    wish = "\0".join([old.id, str(old.generation), queue, str(priority), hashlib.sha256(body).hexdigest()])
    digest = hashlib.sha256(wish.encode("utf-8", "surrogatepass")).hexdigest()
    namespace, slash, _ = queue.rpartition("/")
    own = old.id.rpartition("/")[2]
    return f"{namespace}{slash}{own[:12] if own[:12].isalnum() else digest[20:32]}{digest[:20]}"


async def _read(access: Access, id: str, queue: str) -> Message:
    """The dead letter with its body, wherever that is kept."""
    record = await access.record(id, queue)
    if record is None or record.state is not MessageState.DEAD:
        state = "gone" if record is None else record.state
        msg = f"message {id} is {state}, not dead; it was left alone"
        raise NotDead(msg)
    if record.envelope is None:
        msg = f"the bytes of message {id} were not kept, so it cannot be sent again; it was left alone"
        raise MessageNotFound(msg)
    message = envelope.decode(record.envelope)
    try:
        # The id and the queue that the broker knows it by: the envelope's own may be of an older copy.
        return await access.client.whole(msgspec.structs.replace(message, id=record.id, queue=record.queue))
    except (BodyGone, BodyDamaged) as error:
        msg = f"message {id} cannot be sent again: {error}; it was left alone"
        raise MessageNotFound(msg) from error


def _new(old: Message, *, queue: str, body: msgspec.Raw | None = None, priority: int | None = None) -> Message:
    payload = old.body if body is None else body
    level = old.priority if priority is None else priority
    return msgspec.structs.replace(
        old,
        id=derived_id(old, queue=queue, body=bytes(payload), priority=level),
        queue=queue,
        body=payload,
        priority=level,
        unique=None,
        generation=0,
        sent_at=0.0,
        expires_at=None,
        headers=old.headers | {FROM_HEADER: old.id},
    )


async def _replace(access: Access, old: Message, new: Message, kind: EventKind) -> str:
    """Send first, delete second; the id of the new message."""
    operator = access.operator()
    # An earlier try may have sent it, and it may be done by now: records are kept longer than ids.
    known = await access.state.records.get(new.id, new.queue)
    if known is not None and known.state is MessageState.CANCELLED:
        msg = f"its copy {new.id} was sent before and cancelled; {old.id} was left alone (redrive it first)"
        raise NotDead(msg)
    if known is None:
        (sent,) = await access.client.send([Outgoing(new)], within_quota=False)
        if sent.refusal is not None:
            raise error_of(sent.refusal)
        if sent.id != new.id:
            msg = f"message {sent.id} has the key {new.key!r} already; {old.id} was left alone"
            raise KeyConflict(msg)
    if not await operator.replace(old.id, old.queue, kind, new_id=new.id, to=new.queue):
        await _undo_if_redriven(access, old, new)
    return new.id


async def _undo_if_redriven(access: Access, old: Message, new: Message) -> None:
    """The dead letter was gone by then. If it was redriven meanwhile and runs, one of the two is too many."""
    record = await access.state.records.get(old.id, old.queue)
    if record is None or record.state in (MessageState.CANCELLED, MessageState.DEAD):
        return
    await access.operator().cancel([new.id], new.queue)
    msg = f"message {old.id} was redriven meanwhile and is {record.state}; its copy was cancelled"
    raise NotDead(msg)


def _encoded(access: Access, task: str, payload: Mapping[str, Any]) -> msgspec.Raw:
    """The payload as JSON; checked by the task's signature, where the task is known."""
    known = access.tasks.get(task)
    if known is not None:
        return known.signature.payload(payload)
    try:
        return msgspec.Raw(msgspec.json.encode(payload))
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        msg = f"the payload has no JSON form: {error}; nothing was changed"
        raise BadArgument(msg) from error


def _plain(body: msgspec.Raw) -> Any:
    return msgspec.json.decode(body)
