"""Everything that is known about one message, from wherever it is known."""

from collections.abc import Sequence

import msgspec

from tenure import envelope, kept_payload
from tenure.app import Tenure
from tenure.cli.ids import find_record
from tenure.cli.show.life import Step, life
from tenure.errors import BodyUndecodable
from tenure.event import Event, EventKind
from tenure.kept_payload import KeptPayload
from tenure.message import Message, MessageState
from tenure.notice import Pause
from tenure.record import Record
from tenure.survey import samples_of
from tenure.timing.forecast import forecasts

#: The clocks of a sender and of the store may differ by this much.
_SKEW_SECONDS = 60.0
_MOST_EVENTS = 1_000


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One message, whole."""

    record: Record
    steps: list[Step]
    #: As it was sent. None: it is finished, or cannot be read.
    message: Message | None = None
    #: Why it cannot be read; empty where it can.
    unreadable: str = ""
    #: How large its work is, as its handler or its task says. None: it has no size, or that is not known from a URL.
    size: float | None = None
    #: Of one that runs: seconds that half of the runs of its task and size stay within. None: none was measured.
    usual_seconds: float | None = None
    #: Of one that is completed, where its task keeps payloads. None: it was not kept, or is forgotten.
    kept_payload: KeptPayload | None = None
    #: Set: nothing of its queue is leased for now.
    pause: Pause | None = None

    @property
    def is_counted(self) -> bool:
        """Whether the counters are known: what is completed was delivered once at least, and some brokers forget it."""
        return self.record.state is not MessageState.COMPLETED or self.record.counters.deliveries > 0


async def fetch(app: Tenure, id: str) -> Found:
    """Look everywhere; raises `MessageNotFound`, or `AmbiguousId`."""
    record = await find_record(app, id)
    since = 0.0 if record.sent_at is None else record.sent_at - _SKEW_SECONDS
    stored = await app.state.journal.about(record.id, since=since, limit=_MOST_EVENTS)
    notices = await app.state.board.read()
    message, unreadable = _read(record.envelope)
    events = [one.event for one in stored]
    said = _said(events)
    size = _sized(app, message) if said is None else said
    usual = await _usual(app, record, size) if record.state is MessageState.LEASED else None
    return Found(
        record=record,
        steps=life(record, events),
        message=message,
        unreadable=unreadable,
        size=size,
        usual_seconds=usual,
        kept_payload=kept_payload.find(events),
        pause=next((pause for pause in notices.paused if pause.queue == record.queue), None),
    )


def _said(events: Sequence[Event]) -> float | None:
    """As its handler said last, by `ctx.set_size`."""
    said = [one.data.get("file_size_bytes") for one in events if one.kind is EventKind.FILE_SIZE_DETECTED]
    return next((float(one) for one in reversed(said) if isinstance(one, int | float)), None)


def _sized(app: Tenure, message: Message | None) -> float | None:
    """By the task's own `size=`, where the app is known and the payload is here."""
    task = None if message is None else app.tasks.get(message.task)
    if message is None or message.ticket is not None or task is None or task.sizer is None:
        return None
    return task.sizer.size_of(message.body)


async def _usual(app: Tenure, record: Record, size: float | None) -> float | None:
    """What such a run usually takes, by those that were measured last, on the kind of machine with most of them."""
    if record.task is None:
        return None
    return forecasts(await samples_of(app.state.journal, record.queue, record.task), size=size)[0].typical_seconds


def _read(raw: bytes | None) -> tuple[Message | None, str]:
    """The message, or why it cannot be read."""
    if raw is None:
        return None, ""
    try:
        return envelope.decode(raw), ""
    except BodyUndecodable as error:
        return None, str(error)
