"""Everything that is known about one message, from wherever it is known."""

import msgspec

from tenure import envelope
from tenure.app import Tenure
from tenure.cli.show.life import Step, life
from tenure.errors import BodyUndecodable, MessageNotFound
from tenure.message import Message, MessageState
from tenure.notice import Pause
from tenure.record import Record
from tenure.sample import Ended
from tenure.timing.learned import Learned

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
    #: Of one that runs: seconds that half of the runs of its task stay within. None: none was measured.
    usual_seconds: float | None = None
    #: Set: nothing of its queue is leased for now.
    pause: Pause | None = None

    @property
    def is_counted(self) -> bool:
        """Whether the counters are known: what is completed was delivered once at least, and some brokers forget it."""
        return self.record.state is not MessageState.COMPLETED or self.record.counters.deliveries > 0


async def fetch(app: Tenure, id: str) -> Found:
    """Look everywhere; raises `MessageNotFound`."""
    record = await app.record(id)
    if record is None:
        raise MessageNotFound(
            f"no message {id} is known here: it was never sent to this place, or its record has expired"
        )
    since = 0.0 if record.sent_at is None else record.sent_at - _SKEW_SECONDS
    stored = await app.state.journal.about(record.id, since=since, limit=_MOST_EVENTS)
    notices = await app.state.board.read()
    message, unreadable = _read(record.envelope)
    usual = await _usual(app, record) if record.state is MessageState.LEASED else None
    return Found(
        record=record,
        steps=life(record, [one.event for one in stored]),
        message=message,
        unreadable=unreadable,
        usual_seconds=usual,
        pause=next((pause for pause in notices.paused if pause.queue == record.queue), None),
    )


async def _usual(app: Tenure, record: Record) -> float | None:
    """What such a run usually takes, by those that were measured last."""
    if record.task is None:
        return None
    learned = Learned()
    for one in await app.state.journal.samples(record.queue, record.task):
        sample = one.sample
        learned.observe(sample.seconds, sample.size, killed=sample.ended is Ended.KILLED, at=sample.at)
    return learned.predict()


def _read(raw: bytes | None) -> tuple[Message | None, str]:
    """The message, or why it cannot be read."""
    if raw is None:
        return None, ""
    try:
        return envelope.decode(raw), ""
    except BodyUndecodable as error:
        return None, str(error)
