"""Operating: what people do to messages and queues from outside. Every act is recorded: in the journal and audit log.

    cancel, delete, redrive   messages by id
    redrive_all               dead letters by what they are, at a rate (`redriving.py`)
    purge                     everything that waits in a queue
    replace                   a dead letter by a message that was sent in its place
    pause, resume, delete     a queue
    forget, pause, resume     a schedule; and that one was run by hand
    note_stack_read           somebody looked where a handler is; recorded as an act only

Each act goes in batches of one queue, and each batch is recorded before the next begins: an event (`event.py`), kept as
long as the journal, and an act (`act.py`), kept for 400 days; both name the queue. What happened to a message is in its
own record too, in the same step as the act. Used by `Handle.cancel` and by the command line; what can be touched is
decided by the broker, in one step for each message.

Ids are found fastest with their queue. Without it their records are asked first.
"""

import asyncio
import getpass
import logging
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from tenure.act import MOST_IDS, STACK_READ, Act
from tenure.broker import Broker, Query
from tenure.client.browse_all import pages
from tenure.clock import Clock
from tenure.errors import BrokerError
from tenure.event import Event, EventKind
from tenure.message import MessageState
from tenure.notice import Pause, Post, PostKind
from tenure.redriving import Redrive, Which, find, in_turn, kinds_of
from tenure.state import State

T = TypeVar("T")

_ALL = Which()

logger = logging.getLogger("tenure.operating")

#: How long to wait before each further try to write an act down.
_AGAIN_SECONDS = (0.2, 1.0, 3.0, 5.0)

#: So many records are asked for at a time.
_LOOKED_UP_AT_ONCE = 20

#: What `purge` may remove: everything that nobody holds. What runs is cancelled, not purged.
PURGEABLE = (MessageState.READY, MessageState.DELAYED, MessageState.DEAD)


class Cancelled(msgspec.Struct, frozen=True):
    """What became of one cancel: the state in which the message was met, or None where nothing was changed."""

    id: str
    was: MessageState | None


class Operator:
    """Acts on one place, under one name."""

    def __init__(
        self, broker: Broker, state: State, clock: Clock, *, by: str = "", triggered_by: str = "api", source: str = ""
    ) -> None:
        """`by` says who acts, `triggered_by` through which door, `source` from where (empty: this machine)."""
        self._broker = broker
        self._state = state
        self._clock = clock
        self._by = by
        self._triggered_by = triggered_by
        self._source = source

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[Cancelled]:
        """Take messages back, also from workers that run them; one answer each, in order.

        `queue`: where they are, if that is known.
        """
        found: dict[str, Cancelled] = {}
        async for batch, where in self._batches(ids, queue):
            found.update((one.id, one) for one in await _whole(self._cancel(batch, where)))
        return [found[id] for id in dict.fromkeys(ids)]

    async def _cancel(self, batch: Sequence[str], queue: str | None) -> list[Cancelled]:
        met = [*map(Cancelled, batch, await self._broker.cancel(batch, queue))]
        done = [one for one in met if one.was is not None]
        running = sum(one.was is MessageState.LEASED for one in done)
        await self._record(EventKind.CANCELLED, [one.id for one in done], queue, running=running)
        return met

    async def delete(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Remove what nobody holds; the ids that were removed. `queue`: where they are, if that is known."""
        return [
            id
            async for batch, where in self._batches(ids, queue)
            for id in await _whole(self._delete(batch, EventKind.DELETED, where))
        ]

    async def _delete(self, batch: Sequence[str], kind: EventKind, queue: str | None, **more: object) -> list[str]:
        gone = await self._broker.delete(batch, queue)
        await self._record(kind, gone, queue, **more)
        return gone

    async def replace(self, id: str, queue: str, kind: EventKind, *, new_id: str, to: str) -> bool:
        """Remove a dead letter for which `new_id` was sent to queue `to`. False: it is not there any more, or runs."""
        return bool(await _whole(self._delete([id], kind, queue, new_id=new_id, to=to)))

    async def redrive(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Send dead letters back to their queue; the ids that were moved. `queue`: theirs, if that is known."""
        return [
            id async for batch, where in self._batches(ids, queue) for id in await _whole(self._redrive(batch, where))
        ]

    async def _redrive(self, batch: Sequence[str], queue: str | None) -> list[str]:
        back = await self._broker.redrive(batch, queue)
        await self._record(EventKind.REDRIVEN, back, queue)
        return back

    async def redrive_all(
        self, queues: Sequence[str], which: Which = _ALL, *, per_second: float | None = None, dry_run: bool = False
    ) -> Redrive:
        """Send the dead letters of these queues back that are meant, at most `per_second`.

        Interrupted, it is started anew with the same words, and goes on. `dry_run`: only say which.
        """
        letters = [letter async for letter in find(self._broker, queues, which)]
        queue_of = {letter.browsed.id: letter.browsed.queue for letter in letters}
        ids, kinds = list(queue_of), dict(kinds_of(letters))
        moved: list[str] = []
        if not dry_run:
            limit = self._broker.traits.batch_limit
            async for batch in in_turn(ids, self._clock, asyncio.sleep, batch_limit=limit, per_second=per_second):
                for queue, some in _grouped(batch, queue_of).items():
                    moved += await self.redrive(some, queue)
        return Redrive(tuple(ids), kinds, tuple(moved))

    async def purge(self, queue: str, states: Sequence[MessageState]) -> AsyncGenerator[int, None]:
        """Remove everything in these states from a queue; how many, batch by batch.

        What is sent after it began stays, so that it ends however fast others send.
        """
        limit, began = self._broker.traits.batch_limit, self._state.wall()
        for state in states:
            query = Query(states=(state,), queues=(queue,), bodies=False, limit=limit)
            async for page in pages(self._broker, query):
                ids = [one.id for one in page.messages if one.sent_at is None or one.sent_at <= began]
                if ids:
                    yield len(await _whole(self._delete(ids, EventKind.PURGED, queue, state=state.value)))
                elif page.messages and state is MessageState.READY:
                    break  # in the order in which they came: all others are newer still

    async def pause(self, queue: str) -> bool:
        """Ask workers to lease nothing from a queue. False: it was paused already."""
        changed = await self._state.board.pause(Pause(queue, self._clock.wall(), self._by))
        if changed:
            await self._write(EventKind.PAUSED, queue)
        return changed

    async def resume(self, queue: str) -> bool:
        """Let workers lease again. False: it was not paused."""
        changed = await self._state.board.resume(queue)
        if changed:
            await self._write(EventKind.RESUMED, queue)
        return changed

    async def note_stack_read(self, id: str, queue: str) -> None:
        """Write down that somebody looked where the handler of a message is. No event: nothing happened to it."""
        act = Act(STACK_READ, self._clock.wall(), self._by, self._triggered_by, self._source, queue, count=1, ids=(id,))
        await self._insist(lambda: self._state.acts.record([act]), "audit log", act)

    async def delete_queue(self, queue: str) -> bool:
        """Take an empty queue off the list. False: something is in it, and it stays."""
        changed = await self._broker.forget_queue(queue)
        if changed:
            await self._write(EventKind.QUEUE_DELETED, queue)
        return changed

    async def forget(self, schedule: str, queue: str | None = None) -> bool:
        """Forget the last tick of a schedule: it begins anew, or is no more. False: it was not known."""
        changed = await self._state.board.forget(schedule)
        if changed:
            await self._write(EventKind.FORGOTTEN, queue, schedule=schedule)
        return changed

    async def pause_schedule(self, schedule: str, queue: str | None = None) -> bool:
        """Let no message be sent for the ticks of a schedule. False: it was paused already."""
        post = Post(kind=PostKind.PAUSED_SCHEDULE, name=schedule, at=self._clock.wall(), by=self._by)
        changed = await self._state.board.post(post)
        if changed:
            await self._write(EventKind.SCHEDULE_PAUSED, queue, schedule=schedule)
        return changed

    async def resume_schedule(self, schedule: str, queue: str | None = None) -> bool:
        """Let a schedule go on. False: it was not paused."""
        changed = await self._state.board.withdraw(PostKind.PAUSED_SCHEDULE, schedule)
        if changed:
            await self._write(EventKind.SCHEDULE_RESUMED, queue, schedule=schedule)
        return changed

    async def ran_schedule(self, schedule: str, queue: str, id: str) -> None:
        """Record that a schedule was run by hand, and by which message."""
        await _whole(self._write(EventKind.SCHEDULE_RUN, queue, [id], schedule=schedule))

    async def _batches(
        self, ids: Sequence[str], queue: str | None
    ) -> AsyncGenerator[tuple[list[str], str | None], None]:
        """Batches of one queue each, with their queue. None: nothing is known of these ids."""
        size = self._broker.traits.batch_limit
        unique = list(dict.fromkeys(ids))
        for begin in range(0, len(unique), size):
            some = unique[begin : begin + size]
            queue_of = dict.fromkeys(some, queue) if queue is not None else await self._look_up(some)
            for where, batch in _grouped(some, queue_of).items():
                yield batch, where

    async def _look_up(self, ids: Sequence[str]) -> dict[str, str | None]:
        """In which queue each message is, as far as its record says."""
        found: dict[str, str | None] = {}
        for begin in range(0, len(ids), _LOOKED_UP_AT_ONCE):
            some = ids[begin : begin + _LOOKED_UP_AT_ONCE]
            records = await asyncio.gather(*(self._state.records.get(id) for id in some))
            found.update((id, None if one is None else one.queue) for id, one in zip(some, records, strict=True))
        return found

    async def _record(self, kind: EventKind, ids: Sequence[str], queue: str | None, **more: object) -> None:
        if ids:
            await self._write(kind, queue, ids, **more)

    async def _write(
        self, kind: EventKind, queue: str | None, ids: Sequence[str] | None = None, **more: object
    ) -> None:
        """Write an act down, for those who follow events and for those who ask in a year."""
        at = self._clock.wall()
        who = {"triggered_by": self._triggered_by, "by": self._by}
        named = {} if ids is None else {"count": len(ids), "ids": list(ids)}
        act = Act(
            kind.value, at, self._by, self._triggered_by, self._source, queue,
            count=len(ids or ()), ids=tuple(ids or ())[:MOST_IDS], data=dict(more),
        )  # fmt: skip
        event = Event(kind, at, queue, data={**named, **who, **more})
        await self._insist(lambda: self._state.journal.append([event]), "journal", event)
        await self._insist(lambda: self._state.acts.record([act]), "audit log", act)

    async def _insist(self, write: Callable[[], Awaitable[None]], where: str, what: object) -> None:
        """The act stands, whatever happens now: a store that is away is tried again, and at last the log has it."""
        for pause in (*_AGAIN_SECONDS, None):
            try:
                await write()
            except BrokerError as error:
                if pause is None:
                    logger.critical("this was done, and could not be written to the %s (%s): %s", where, error, what)
                    return
                await asyncio.sleep(pause)
            else:
                return


_under_way: set[asyncio.Future[Any]] = set()


def _grouped(ids: Sequence[str], queue_of: Mapping[str, T]) -> dict[T, list[str]]:
    """Ids by queue, in the order in which they came."""
    found: dict[T, list[str]] = {}
    for id in ids:
        found.setdefault(queue_of[id], []).append(id)
    return found


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
