"""Operating: what people do to messages and queues from outside. Every act is recorded in the journal.

    cancel, delete, redrive   messages by id
    redrive_all               dead letters by what they are, at a rate (`redriving.py`)
    purge                     everything that waits in a queue
    pause, resume             a queue
    forget                    a schedule

Each act goes in batches, and each batch is recorded before the next begins. What happened to a message is in its own
record too, in the same step as the act. Used by `Handle.cancel` and by the command line; what can be touched is
decided by the broker, in one step for each message.
"""

import asyncio
import getpass
import logging
import socket
from collections.abc import AsyncGenerator, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from tenure import envelope
from tenure.broker import Broker, Browsed
from tenure.clock import Clock
from tenure.errors import BodyUndecodable, BrokerError
from tenure.event import Event, EventKind
from tenure.message import MessageState
from tenure.notice import Pause
from tenure.redriving import Redrive, Which, find, in_turn, kinds_of
from tenure.state import State

T = TypeVar("T")

_ALL = Which()

logger = logging.getLogger("tenure.operating")

#: How long to wait before each further try to write an act down.
_AGAIN_SECONDS = (0.2, 1.0, 3.0, 5.0)

#: What `purge` may remove: everything that nobody holds. What runs is cancelled, not purged.
PURGEABLE = (MessageState.READY, MessageState.DELAYED, MessageState.DEAD)


class Cancelled(msgspec.Struct, frozen=True):
    """What became of one cancel: the state in which the message was met, or None where nothing was changed."""

    id: str
    was: MessageState | None


class Operator:
    """Acts on one place, under one name."""

    def __init__(self, broker: Broker, state: State, clock: Clock, *, by: str = "", triggered_by: str = "api") -> None:
        """`by` says who acts, `triggered_by` through which door."""
        self._broker = broker
        self._state = state
        self._clock = clock
        self._by = by
        self._triggered_by = triggered_by

    async def cancel(self, ids: Sequence[str]) -> list[Cancelled]:
        """Take messages back, also from workers that run them; one answer each, in order."""
        return [one for batch in self._batches(ids) for one in await _whole(self._cancel(batch))]

    async def _cancel(self, batch: Sequence[str]) -> list[Cancelled]:
        met = [*map(Cancelled, batch, await self._broker.cancel(batch))]
        done = [one for one in met if one.was is not None]
        running = sum(one.was is MessageState.LEASED for one in done)
        await self._record(EventKind.CANCELLED, [one.id for one in done], running=running)
        return met

    async def delete(self, ids: Sequence[str]) -> list[str]:
        """Remove what nobody holds; the ids that were removed."""
        return [id for batch in self._batches(ids) for id in await _whole(self._delete(batch, EventKind.DELETED))]

    async def _delete(self, batch: Sequence[str], kind: EventKind, **more: object) -> list[str]:
        gone = await self._broker.delete(batch)
        await self._record(kind, gone, **more)
        return gone

    async def redrive(self, ids: Sequence[str]) -> list[str]:
        """Send dead letters back to their queue; the ids that were moved."""
        return [id for batch in self._batches(ids) for id in await _whole(self._redrive(batch))]

    async def _redrive(self, batch: Sequence[str]) -> list[str]:
        back = await self._broker.redrive(batch)
        await self._record(EventKind.REDRIVEN, back)
        return back

    async def redrive_all(
        self, queues: Sequence[str], which: Which = _ALL, *, per_second: float | None = None, dry_run: bool = False
    ) -> Redrive:
        """Send the dead letters of these queues back that are meant, at most `per_second`.

        Interrupted, it is started anew with the same words, and goes on. `dry_run`: only say which.
        """
        letters = [letter async for letter in find(self._broker, queues, which)]
        ids, kinds = [letter.browsed.id for letter in letters], dict(kinds_of(letters))
        moved: list[str] = []
        if not dry_run:
            limit = self._broker.traits.batch_limit
            async for batch in in_turn(ids, self._clock, asyncio.sleep, batch_limit=limit, per_second=per_second):
                moved += await self.redrive(batch)
        return Redrive(tuple(ids), kinds, tuple(moved))

    async def purge(self, queue: str, states: Sequence[MessageState]) -> AsyncGenerator[int, None]:
        """Remove everything in these states from a queue; how many, batch by batch.

        What is sent after it began stays, so that it ends however fast others send.
        """
        limit, began = self._broker.traits.batch_limit, self._clock.wall()
        for state in states:
            after = 0
            while page := await self._broker.browse(queue, state, limit=limit, after=after):
                after = page[-1].cursor
                page = [one for one in page if not _sent_after(one, began)]
                if not page:
                    break
                ids = [one.id for one in page]
                yield len(await _whole(self._delete(ids, EventKind.PURGED, queue=queue, state=state.value)))

    async def pause(self, queue: str) -> bool:
        """Ask workers to lease nothing from a queue. False: it was paused already."""
        changed = await self._state.board.pause(Pause(queue, self._clock.wall(), self._by))
        if changed:
            await self._publish(EventKind.PAUSED, queue)
        return changed

    async def resume(self, queue: str) -> bool:
        """Let workers lease again. False: it was not paused."""
        changed = await self._state.board.resume(queue)
        if changed:
            await self._publish(EventKind.RESUMED, queue)
        return changed

    async def forget(self, schedule: str) -> bool:
        """Forget the last tick of a schedule: it begins anew, or is no more. False: it was not known."""
        changed = await self._state.board.forget(schedule)
        if changed:
            data = {"schedule": schedule, **self._who()}
            await self._append(Event(EventKind.FORGOTTEN, self._clock.wall(), data=data))
        return changed

    def _batches(self, ids: Sequence[str]) -> Iterator[list[str]]:
        unique = list(dict.fromkeys(ids))
        size = self._broker.traits.batch_limit
        return (unique[start : start + size] for start in range(0, len(unique), size))

    async def _record(self, kind: EventKind, ids: Sequence[str], **more: object) -> None:
        if ids:
            queue = more.pop("queue", None)
            data = {"count": len(ids), "ids": list(ids), **self._who(), **more}
            where = queue if isinstance(queue, str) else None
            await self._append(Event(kind, self._clock.wall(), where, data=data))

    async def _publish(self, kind: EventKind, queue: str) -> None:
        await self._append(Event(kind, self._clock.wall(), queue, data=self._who()))

    async def _append(self, event: Event) -> None:
        """The act stands, whatever happens now: a journal that is away is tried again, and at last the log has it."""
        for pause in (*_AGAIN_SECONDS, None):
            try:
                await self._state.journal.append([event])
            except BrokerError as error:
                if pause is None:
                    logger.critical("this was done, and could not be written to the journal (%s): %s", error, event)
                    return
                await asyncio.sleep(pause)
            else:
                return

    def _who(self) -> dict[str, object]:
        return {"triggered_by": self._triggered_by, "by": self._by}


_under_way: set[asyncio.Future[Any]] = set()


def _sent_after(one: Browsed, moment: float) -> bool:
    """Whether it was sent by a clock like ours after that moment. What cannot be read is old enough."""
    try:
        return envelope.decode(one.envelope).sent_at > moment
    except BodyUndecodable:
        return False


async def _whole(act: Coroutine[Any, Any, T]) -> T:
    """An act and its record, also if whoever asked for it is cancelled in between."""
    task = asyncio.ensure_future(act)
    # The loop itself would not keep it alive once nobody waits for it.
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    return await asyncio.shield(task)


def this_user() -> str:
    """Who runs this process, as far as the machine can tell."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):  # a container's user without a name
        return socket.gethostname()
