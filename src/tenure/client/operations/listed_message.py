"""A message in a list: what the broker shows of it, read as far as it can be read."""

import msgspec

from tenure import envelope
from tenure.errors import BodyUndecodable
from tenure.message import Counters, Message, MessageState, Ticket
from tenure.query import Browsed
from tenure.record import Progress, Record


class ReasonText(msgspec.Struct, frozen=True):
    """Why an attempt failed, or why a message is dead, in short."""

    code: str
    #: A sentence. None: it is left out for who may not see payloads.
    text: str | None


class ListedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message. Times named `_at` are Unix seconds, spans are seconds from the moment of reading."""

    id: str
    queue: str
    #: None: its envelope cannot be read.
    task: str | None
    state: MessageState
    counters: Counters
    #: The worker that has it.
    owner: str | None = None
    fence: int | None = None
    #: Until its lease ends; negative: overdue.
    deadline_in: float | None = None
    #: Until it may be leased.
    due_in: float | None = None
    #: Since it was sent.
    age_seconds: float | None = None
    #: Why the last attempt failed, or why it is dead.
    reason: ReasonText | None = None
    #: Whether its envelope is there and can be read.
    readable: bool = False
    #: Set: its body is in a claim check, and has this size.
    ticket: Ticket | None = None
    finished_at: float | None = None
    #: Of what runs.
    progress: Progress | None = None
    #: Of what is completed: how long the run took. None: the journal has forgotten it.
    seconds: float | None = None
    sent_at: float | None = None
    priority: int | None = None
    client: str | None = None
    key: str | None = None
    #: Why its envelope cannot be read; empty where it can, and of what has ended.
    unreadable: str = ""
    #: Texts of errors and handlers are left out.
    redacted: bool = False


def listed(browsed: Browsed, wall: float) -> ListedMessage:
    """The message as the broker stores it, read as far as possible."""
    message, unreadable = read_envelope(browsed.envelope)
    if message is not None:
        task, sent_at = message.task, message.sent_at
    elif browsed.envelope:
        task, sent_at = None, None  # it cannot be read: what is noted beside it may be of another message
    else:
        task, sent_at = browsed.task, browsed.sent_at  # it is kept elsewhere
    return _listed(browsed, wall, task=task, sent_at=sent_at, message=message, unreadable=unreadable)


def listed_ended(browsed: Browsed, record: Record, wall: float) -> ListedMessage:
    """A message that has ended: its envelope is gone, and its record knows the rest."""
    return _listed(browsed, wall, task=record.task, sent_at=record.sent_at, finished_at=record.finished_at)


def _listed(
    browsed: Browsed,
    wall: float,
    *,
    task: str | None,
    sent_at: float | None,
    finished_at: float | None = None,
    message: Message | None = None,
    unreadable: str = "",
) -> ListedMessage:
    reason = browsed.reason
    return ListedMessage(
        id=browsed.id, queue=browsed.queue, task=task, state=browsed.state, counters=browsed.counters,
        owner=browsed.owner, fence=browsed.fence, deadline_in=browsed.deadline_in, due_in=browsed.due_in,
        age_seconds=None if sent_at is None else round(max(0.0, wall - sent_at), 3),
        reason=None if reason is None else ReasonText(reason.code, reason.text),
        readable=message is not None, unreadable=unreadable,
        ticket=None if message is None else message.ticket,
        finished_at=browsed.finished_at if finished_at is None else finished_at, sent_at=sent_at,
        priority=None if message is None else message.priority,
        client=None if message is None else message.client,
        key=None if message is None else message.key,
    )  # fmt: skip


def read_envelope(raw: bytes) -> tuple[Message | None, str]:
    """The message, or why it cannot be read."""
    try:
        return envelope.decode(raw), ""
    except BodyUndecodable as error:
        return None, str(error)
