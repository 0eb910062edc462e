"""The status of one message: where it is now, by one look at its record.

Cheap enough to be polled by a waiting caller. All details are in `message_detail.py`.
"""

import msgspec

from tenure.client.operations.access import Access
from tenure.client.operations.listed_message import ReasonText
from tenure.errors import MessageNotFound
from tenure.message import Counters, MessageState
from tenure.record import Progress, Record


class MessageStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Where one message is. Times named `_at` are Unix seconds, spans are seconds from the moment of reading."""

    id: str
    queue: str
    #: None: the message cannot be read.
    task: str | None
    state: MessageState
    #: Number of the run that is under way, or of the last one; 0: it has not run yet.
    attempt: int
    counters: Counters
    #: The worker that holds it.
    owner: str | None
    sent_at: float | None
    finished_at: float | None
    #: Until the lease ends; negative: overdue.
    deadline_in: float | None
    #: Until it may be leased.
    due_in: float | None
    #: Why the last attempt failed, or why it is dead.
    reason: ReasonText | None
    progress: Progress | None
    #: Texts of errors and handlers are left out.
    redacted: bool = False


async def find_message(access: Access, id: str) -> Record:
    """The record of a message that is there for this identity. Raises `MessageNotFound`."""
    await access.open()
    record = await access.record(id)
    if record is None:
        msg = f"no message {id} is known here: it was never sent to this place, or its record has expired"
        raise MessageNotFound(msg)
    return record


async def message_status(access: Access, id: str, *, shows_note: bool = False) -> MessageStatus:
    """Return the status of a message, by its whole id. Raises `MessageNotFound`.

    `shows_note`: what the handler says of its progress is shown also to those who see no payloads.
    """
    record = await find_message(access, id)
    reason, progress, shows = record.reason, record.progress, access.sees_payload
    return MessageStatus(
        id=record.id, queue=record.queue, task=record.task, state=record.state, attempt=record.attempt,
        counters=record.counters, owner=record.owner, sent_at=record.sent_at, finished_at=record.finished_at,
        deadline_in=record.deadline_in, due_in=record.due_in,
        reason=None if reason is None else ReasonText(reason.code, reason.text if shows else None),
        progress=progress if shows or shows_note or progress is None else Progress(progress.fraction),
        redacted=not shows,
    )  # fmt: skip
