"""Everything that is known about one message, from wherever it is known."""

import msgspec

from tenure.app import Tenure
from tenure.broker import Browsed
from tenure.cli.seen import Seen, read
from tenure.cli.show.life import Step, life
from tenure.errors import MessageNotFound
from tenure.message import MessageState
from tenure.notice import Pause
from tenure.record import Record

#: The clocks of a sender and of the store may differ by this much.
_SKEW_SECONDS = 60.0
_PAGE = 2_000
_MOST_EVENTS = 1_000

#: What still has its bytes.
_WITH_BODY = (MessageState.DEAD, MessageState.READY, MessageState.DELAYED, MessageState.LEASED)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One message, whole."""

    record: Record
    steps: list[Step]
    #: With its envelope. None: it is finished, or the broker cannot show it.
    seen: Seen | None = None
    #: Set: nothing of its queue is leased for now.
    pause: Pause | None = None


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
    return Found(
        record=record,
        steps=life(record, [one.event for one in stored]),
        seen=await _seen(app, record),
        pause=next((pause for pause in notices.paused if pause.queue == record.queue), None),
    )


async def _seen(app: Tenure, record: Record) -> Seen | None:
    """The message with its bytes; a record has none."""
    if record.state not in _WITH_BODY or not app.broker.traits.browsable:
        return None
    after = 0
    while page := await app.broker.browse(record.queue, record.state, limit=_PAGE, after=after):
        found = _in_page(page, record.id)
        if found is not None:
            return read(found)
        after = page[-1].cursor
    return None  # it moved on between the two looks


def _in_page(page: list[Browsed], id: str) -> Browsed | None:
    return next((one for one in page if one.id == id), None)
