"""What follows the end of a group, done by the process that finds it ended.

    cancel what has not ended    if it expired, was cancelled or abandoned
    send `then`                  if it is complete or expired
    mark the header as closed    nothing more is done for it
    let the keeper go

Each step may be repeated: killed between any two, the announcer or the keeper does it again. `then` is sent under the
same id, with the same bytes and a key of its own, so it runs once, however late the repeat comes.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from tenure import envelope
from tenure.broker import Broker, Refused, Sent
from tenure.group import GroupState
from tenure.groups.ended_log import Ended, EndedLog
from tenure.groups.header import Header, Headers, Then
from tenure.message import Outgoing
from tenure.rules.group_id import member_id

logger = logging.getLogger("tenure.groups")

Send = Callable[[Sequence[Outgoing]], Awaitable[list[Sent]]]
#: Cancels messages of one queue, or of any (None).
Cancel = Callable[[Sequence[str], str | None], Awaitable[object]]

#: So many are cancelled in one call.
_CANCELLED_AT_ONCE = 500
_THEN_RUNS = (GroupState.COMPLETE, GroupState.EXPIRED)


class Ending:
    """Brings groups to their end."""

    def __init__(self, broker: Broker, headers: Headers, send: Send, cancel: Cancel) -> None:
        """`send` sends messages, also large ones; `cancel` takes messages back."""
        self._broker = broker
        self._headers = headers
        self._send = send
        self._cancel = cancel

    async def finish(self, header: Header, log: EndedLog, ended: Ended) -> Header:
        """Do what is left to do for a group that has ended."""
        if header.closed_at is not None or ended.end is None:
            return header
        if ended.end is not GroupState.COMPLETE:
            await self._cancel_rest(header, log)
        sent_at = None
        if header.then is not None and ended.end in _THEN_RUNS:
            sent_at = header.then_sent_at or self._headers.wall()
            await self._send_then(header.then, ended)
        closed = await self._close(header, sent_at)
        await self._headers.unwatch(header.id)
        logger.info("group %s is %s: %d of %d have ended", header.id, ended.end, ended.counts.total, header.total)
        return closed

    async def _close(self, header: Header, sent_at: float | None) -> Header:
        wall = self._headers.wall()

        def closed(known: Header) -> Header:
            return msgspec.structs.replace(known, closed_at=known.closed_at or wall, then_sent_at=sent_at)

        return await self._headers.change(header.id, closed) or closed(header)

    async def _cancel_rest(self, header: Header, log: EndedLog) -> None:
        ids = [member_id(header.id, place) for place in await log.missing()]
        queue = header.queues[0] if len(header.queues) == 1 else None
        for start in range(0, len(ids), _CANCELLED_AT_ONCE):
            await self._cancel(ids[start : start + _CANCELLED_AT_ONCE], queue)

    async def _send_then(self, then: Then, ended: Ended) -> None:
        # The moment of the end, not of this try: the same bytes each time.
        message = msgspec.structs.replace(envelope.decode(bytes(then.envelope)), sent_at=ended.at or 0.0)
        out = Outgoing(message, then.delay_seconds)
        (sent,) = await self._send([out])
        if sent.refusal is not None:  # its sender is gone: it becomes a dead letter, to be redriven
            logger.error("the message at the end of a group was refused: %s", sent.refusal.text)
            await self._broker.put_aside([Refused(message, sent.refusal)])
