"""Everything that is known about one message, from wherever it is known."""

import base64
from collections.abc import Sequence

import msgspec

from tenure import envelope
from tenure.client.operations.access import Access
from tenure.client.operations.groups import MessageGroup, group_of_message
from tenure.client.operations.ids import find_record
from tenure.client.operations.life import Step, life
from tenure.client.operations.queue_limit import QueueLimit, limits_in_force, waits_for_limit
from tenure.client.statistics import TaskSamples
from tenure.errors import BodyUndecodable
from tenure.event import Event, EventKind
from tenure.message import Counters, Message, MessageState
from tenure.notice import Pause
from tenure.record import Ending, Progress, Record
from tenure.tasks import kept_payload
from tenure.tasks.kept_payload import KeptPayload
from tenure.timing.forecast import forecasts
from tenure.verdict import Reason

#: The clocks of a sender and of the store may differ by this much.
_SKEW_SECONDS = 60.0
_MOST_EVENTS = 1_000


class MessageDetail(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known about one message. Times named `_at` are Unix seconds, spans are seconds."""

    id: str
    queue: str
    #: None: the message cannot be read.
    task: str | None
    state: MessageState
    #: None: not kept once it is completed.
    counters: Counters | None
    #: The worker that holds it.
    owner: str | None
    fence: int | None
    sent_at: float | None
    finished_at: float | None
    #: Until the lease ends; negative: overdue.
    deadline_in: float | None
    #: Until it may be leased.
    due_in: float | None
    #: What its handler returned, as JSON. None: not completed, or not kept.
    result: msgspec.Raw | None
    #: Why the last attempt failed, or why it is dead.
    reason: Reason | None
    progress: Progress | None
    #: The last twenty endings, oldest first.
    history: tuple[Ending, ...]
    #: The payload, as JSON. None: it has ended and was not kept, or cannot be read.
    body: msgspec.Raw | None
    #: Of a completed message, with `keep_payload=True`.
    kept_payload: KeptPayload | None
    #: The envelope as it is stored; base64 if it cannot be read.
    raw: str | None
    #: The envelope, decoded.
    message: Message | None
    #: Everything that happened, oldest first.
    life: tuple[Step, ...]
    #: Set: nothing of its queue is leased for now.
    paused: Pause | None
    #: The limit of its queue.
    limit: QueueLimit | None
    #: It is ready, and its queue's limit holds it back.
    waits_for_limit: bool
    #: How large its work is, as its handler or its task says. None: it has no size, or that is not known.
    size: float | None
    #: Of one that runs: seconds that half of the runs of its task and size stay within. None: none was measured.
    usual_seconds: float | None
    #: The group that it is a member of, or that it follows.
    group: MessageGroup | None = None
    #: Number of the run that is under way, or of the last one; 0: it has not run yet.
    attempt: int = 0
    #: Why its envelope cannot be read; empty where it can.
    unreadable: str = ""
    #: Body, result, headers and texts are left out.
    redacted: bool = False


async def fetch(access: Access, id: str) -> MessageDetail:
    """Look everywhere; raises `MessageNotFound`, or `AmbiguousId`."""
    record = await find_record(access, id)
    since = 0.0 if record.sent_at is None else record.sent_at - _SKEW_SECONDS
    stored = await access.state.journal.about(record.id, since=since, limit=_MOST_EVENTS)
    notices = await access.state.board.read()
    message, unreadable = _read(record.envelope)
    events = [one.event for one in stored]
    said = _said(events)
    size = _sized(access, message) if said is None else said
    usual = await _usual(access, record, size) if record.state is MessageState.LEASED else None
    kept = kept_payload.find(events)
    limit = limits_in_force(access, notices.posts).get(record.queue)
    return MessageDetail(
        id=record.id, queue=record.queue, task=record.task, state=record.state,
        counters=kept_counters(record),
        owner=record.owner, fence=record.fence, sent_at=record.sent_at, finished_at=record.finished_at,
        deadline_in=record.deadline_in, due_in=record.due_in,
        result=None if record.result is None else msgspec.Raw(record.result or b"null"),
        reason=record.reason, progress=record.progress, history=record.history,
        body=_body(record.envelope, message, kept), kept_payload=kept, raw=_raw(record.envelope, message),
        message=message, life=tuple(life(record, events)),
        paused=next((pause for pause in notices.paused if pause.queue == record.queue), None),
        limit=limit, waits_for_limit=await _waits(access, record, limit),
        size=size, usual_seconds=usual, group=await group_of_message(access, record.id), attempt=record.attempt,
        unreadable=unreadable,
    )  # fmt: skip


async def _waits(access: Access, record: Record, limit: QueueLimit | None) -> bool:
    if limit is None or record.state is not MessageState.READY:
        return False
    (depth,) = await access.broker.depth([record.queue])
    return waits_for_limit(limit, ready=depth.ready, running=depth.leased)


def kept_counters(record: Record) -> Counters | None:
    """Return the counters if they are kept, else None. A completed message was delivered at least once."""
    is_kept = record.state is not MessageState.COMPLETED or record.counters.deliveries > 0
    return record.counters if is_kept else None


def _body(raw: bytes | None, message: Message | None, kept: KeptPayload | None) -> msgspec.Raw | None:
    if raw is not None:
        return None if message is None else message.body
    return msgspec.Raw(kept.text.encode()) if kept is not None and kept.is_whole else None


def _raw(raw: bytes | None, message: Message | None) -> str | None:
    """Bytes that are no envelope may be no text either: base64 says exactly what is there."""
    if raw is None:
        return None
    return base64.b64encode(raw).decode() if message is None else raw.decode()


def _said(events: Sequence[Event]) -> float | None:
    """Return the size that the handler last set by `ctx.set_size`."""
    said = [one.data.get("file_size_bytes") for one in events if one.kind is EventKind.FILE_SIZE_DETECTED]
    return next((float(one) for one in reversed(said) if isinstance(one, int | float)), None)


def _sized(access: Access, message: Message | None) -> float | None:
    """Return the size by the task's own `size=`, where the app is known and the payload is here."""
    task = None if message is None else access.tasks.get(message.task)
    if message is None or message.ticket is not None or task is None or task.sizer is None:
        return None
    return task.sizer.size_of(message.body)


async def _usual(access: Access, record: Record, size: float | None) -> float | None:
    """Return the usual time of such a run, by the latest runs on the most common kind of machine."""
    if record.task is None:
        return None
    return forecasts(
        await TaskSamples(access.state.journal, shares=access.sees_every_queue).of(record.queue, record.task), size=size
    )[0].typical_seconds


def _read(raw: bytes | None) -> tuple[Message | None, str]:
    """The message, or why it cannot be read."""
    if raw is None:
        return None, ""
    try:
        return envelope.decode(raw), ""
    except BodyUndecodable as error:
        return None, str(error)
