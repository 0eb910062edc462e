"""Run now: a delayed message becomes ready before its time."""

import msgspec

from tenure.client.operations.ids import find_record
from tenure.client.operations.naming import paused
from tenure.client.operations.operations import Operations
from tenure.errors import NotDelayed, NotPromotable
from tenure.message import MessageState
from tenure.notice import Pause

_RUNNABLE = (MessageState.DELAYED, MessageState.READY)


class RunNowResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a message that was to run now."""

    id: str
    queue: str
    #: `delayed`: it is ready now. `ready`: it was ready already, and nothing was changed.
    was: MessageState
    #: Whether it was made ready.
    changed: bool
    #: Set: nothing of its queue is leased for now.
    paused: Pause | None = None


class RunNowOperations(Operations):
    """Operations on messages that wait for their time."""

    async def run_now(self, id: str) -> RunNowResult:
        """Make a delayed message ready now, also one that waits for its retry; the next free worker runs it.

        Its counters and its priority stay. One that is ready already stays as it is.

        - `id`: May be the beginning of an id.

        Raises `NotDelayed` for one that runs, is dead or has ended, and `NotPromotable` where the queue cannot show it
        before its time.
        """
        access = await self._opened()
        record = await find_record(access, id, consequence="nothing was changed")
        was: MessageState | None = record.state
        if was in _RUNNABLE:
            (told,) = await access.operator().promote([record.id], record.queue)
            if told.refusal:
                raise NotPromotable(told.refusal)
            was = told.was
        if was not in _RUNNABLE:
            raise NotDelayed(_why_not(record.id, was))
        stopped = next((one for one in await paused(access) if one.queue == record.queue), None)
        changed = was is MessageState.DELAYED
        return RunNowResult(id=record.id, queue=record.queue, was=was, changed=changed, paused=stopped)


def _why_not(id: str, was: MessageState | None) -> str:
    end = "nothing was changed"
    match was:
        case MessageState.LEASED:
            return f"{id} runs already: a worker holds it; {end}"
        case MessageState.DEAD:
            return f"{id} is a dead letter, and waits for no time; {end}. Redrive it instead"
        case _:
            return f"{id} has ended ({was or 'a moment ago'}), so it will not run again; {end}. Submit it again instead"
