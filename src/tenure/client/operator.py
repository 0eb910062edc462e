"""Operating: what people do to messages and queues from outside. Every act is recorded: in the journal and audit log.

    cancel, delete, redrive   messages by id
    promote                   delayed messages, so that they run now
    touch                     the lease on one that runs, so that it lasts longer
    redrive_all               dead letters by what they are, at a rate (`redrive.py`)
    purge                     everything that waits in a queue
    replace                   a dead letter by a message that was sent in its place
    pause, resume, delete     a queue
    forget, pause, resume     a schedule; and that one was run by hand
    drain, stop               one worker; recorded as an act only: the worker itself announces that it leaves
    weigh, clear              the weight of a client; recorded as an act only
    note_stack_read           a look at the stack of a handler; recorded as an act only

Each act goes in batches of one queue, and each batch is recorded before the next begins: an event (`event.py`), kept as
long as the journal, and an act (`act.py`), kept for 400 days; both name the queue. What happened to a message is in its
own record too, in the same step as the act. Used by `Handle.cancel` and by the command line; what can be touched is
decided by the broker, in one step for each message.

Ids are found fastest with their queue. Without it their records are asked first.
"""

import asyncio
import getpass
import logging
import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from tenure.act import CLIENT_WEIGHED, MOST_IDS, STACK_READ, WORKER_DRAINED, WORKER_STOPPED, Act
from tenure.broker import Broker, Promoted, Query
from tenure.client.browse_all import pages
from tenure.client.redrive import Redrive, Which, find, in_turn, kinds_of
from tenure.clock import Clock
from tenure.errors import BrokerError, BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.key_value import MOST_NAME, name_of
from tenure.lease import Lease, LeaseState
from tenure.limit import Limit
from tenure.message import MessageState
from tenure.notice import WORKER_POST_SECONDS, Pause, Post, PostKind
from tenure.quota import NO_QUOTA, Quota
from tenure.rules import client_quota
from tenure.rules.client_weights import operator_weights, posts_of
from tenure.rules.client_weights import post_of as weight_post
from tenure.rules.operator_limits import every_limit, merged, post_of
from tenure.rules.skew import MOST_SKEW_SECONDS
from tenure.state import State

T = TypeVar("T")

_ALL = Which()

logger = logging.getLogger("tenure.operating")

#: How long to wait before each further try to write an act down.
_AGAIN_SECONDS = (0.2, 1.0, 3.0, 5.0)

#: Two operators at once: the later one tries again.
_QUOTA_TRIES = 5

#: This many records are asked for at a time.
_LOOKED_UP_AT_ONCE = 20

#: What `purge` may remove: everything that is not leased. What runs is cancelled, not purged.
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
        """`by` says who acts, `triggered_by` how (`cli`, `http`), `source` from where (empty: this machine)."""
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
        """Remove what is not leased; the ids that were removed. `queue`: where they are, if that is known."""
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

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:
        """Make delayed messages ready now; what became of each, in order. `queue`: theirs, if that is known."""
        found: dict[str, Promoted] = {}
        async for batch, where in self._batches(ids, queue):
            found.update(zip(batch, await _whole(self._promote(batch, where)), strict=True))
        return [found[id] for id in ids]

    async def _promote(self, batch: Sequence[str], queue: str | None) -> list[Promoted]:
        told = await self._broker.promote(batch, queue)
        ready = [id for id, one in zip(batch, told, strict=True) if one.was is MessageState.DELAYED and not one.refusal]
        await self._record(EventKind.PROMOTED, ready, queue)
        return told

    async def touch(
        self, id: str, owner: str, fence: int, seconds: float | None = None, queue: str | None = None
    ) -> Lease | None:
        """Extend the lease of that name to at least `seconds` from now. None: it has ended, and nothing was changed.

        Without `seconds`, its own length.
        """
        return await _whole(self._touch(id, owner, fence, seconds, queue))

    async def _touch(self, id: str, owner: str, fence: int, seconds: float | None, queue: str | None) -> Lease | None:
        lease = await self._broker.find(id, owner, fence, queue)
        if lease is None:
            return None
        if seconds is not None:
            lease = msgspec.structs.replace(lease, seconds=seconds)
        (touched,) = await self._broker.touch([lease])
        if touched.state is LeaseState.LOST:
            return None
        await self._record(EventKind.TOUCHED, [id], touched.queue, seconds=lease.seconds, holder=owner)
        return touched

    async def redrive_all(
        self, queues: Sequence[str], which: Which = _ALL, *, per_second: float | None = None, dry_run: bool = False
    ) -> Redrive:
        """Send the dead letters of these queues back that are meant, at most `per_second`.

        Interrupted, it is started again with the same words, and goes on. `dry_run`: only say which.
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

        What is sent after it began stays, so that it ends however fast others send. Senders date their messages by
        their own clocks: one that is up to two seconds ahead of the store's does not protect them.
        """
        limit, newest = self._broker.traits.batch_limit, self._state.wall() + MOST_SKEW_SECONDS
        for state in states:
            query = Query(states=(state,), queues=(queue,), bodies=False, limit=limit)
            async for page in pages(self._broker, query):
                ids = [one.id for one in page.messages if one.sent_at is None or one.sent_at <= newest]
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

    async def limit(self, queue: str, limit: Limit) -> Limit:
        """Limit a queue, instead of what its code says. What an earlier limit of an operator said besides stays."""
        board, at = self._state.board, self._clock.wall()
        earlier = [one for one in every_limit((await board.read()).posts) if one.queue == queue]
        newest = max(earlier, key=lambda one: (one.at, one.post), default=None)
        new = merged(None if newest is None else newest.limit, limit)
        if newest is not None:
            at = max(at, newest.at + 1e-6)  # another machine's clock may be ahead
        await board.post(post_of(queue, new, at, self._by, os.urandom(4).hex()))
        for one in earlier:
            await board.withdraw(PostKind.LIMIT, one.post)
        await self._write(EventKind.LIMITED, queue, limit=str(new))
        return new

    async def clear_limit(self, queue: str) -> bool:
        """Let the limit of the code count again. False: no operator had set another."""
        board = self._state.board
        posts = [one.post for one in every_limit((await board.read()).posts) if one.queue == queue]
        changed = [await board.withdraw(PostKind.LIMIT, name) for name in posts]
        if any(changed):
            await self._write(EventKind.LIMIT_CLEARED, queue)
        return any(changed)

    async def limit_sends(self, queue: str, quota: Quota) -> None:
        """Set how many messages may wait in a client's queue, and how large they may be. What was set besides stays."""
        values = self._state.key_values
        for _ in range(_QUOTA_TRIES):
            stored = await values.get(client_quota.KIND, queue)
            known = None if stored is None else client_quota.read(stored.data)
            new = quota.over(NO_QUOTA if known is None else known.quota)
            row = client_quota.SendQuota(
                waiting=new.waiting, payload_bytes=new.payload_bytes, at=self._clock.wall(), by=self._by
            )
            expect = None if stored is None else stored.version
            if await values.put(client_quota.KIND, queue, client_quota.written(row), expect=expect) is not None:
                await self._write(EventKind.QUOTA_SET, queue, quota=str(row.quota))
                return
        msg = f"the quota of queue {queue!r} is changed by others at this moment; nothing was changed, try again"
        raise BrokerUnavailable(msg)

    async def clear_send_quota(self, queue: str) -> bool:
        """Let the defaults count again for what may wait in a client's queue. False: nothing else was set."""
        changed = await self._state.key_values.remove(client_quota.KIND, queue)
        if changed:
            await self._write(EventKind.QUOTA_CLEARED, queue)
        return changed

    async def note_forgotten(self, queue: str, count: int) -> None:
        """Record that what was kept of a client was removed: how much, and nothing of it."""
        await self._write(EventKind.CLIENT_FORGOTTEN, queue, removed=count)

    async def note_stack_read(self, id: str, queue: str) -> None:
        """Record a look at the stack of a handler. No event: nothing happened to it."""
        act = Act(STACK_READ, self._clock.wall(), self._by, self._triggered_by, self._source, queue, count=1, ids=(id,))
        await self._insist(lambda: self._state.acts.record([act]), "audit log", act)

    async def note_finding(self, kind: EventKind, queue: str | None, **more: object) -> None:
        """Record that a finding was acknowledged or silenced."""
        await _whole(self._write(kind, queue, None, **more))

    async def weigh_client(self, queue: str, weight: float) -> bool:
        """Give a client this weight in the time of all workers, by its queue. False: it has it already."""
        board, at = self._state.board, self._clock.wall()
        earlier = posts_of(queue, (await board.read()).posts)
        if operator_weights(earlier).get(queue) == weight:
            return False
        if earlier:
            at = max(at, earlier[-1].at + 1e-6)  # another machine's clock may be ahead
        await board.post(weight_post(queue, weight, at, self._by, os.urandom(4).hex()))
        await self._withdraw_weights(earlier)
        await self._note_weight(queue, weight)
        return True

    async def clear_weight(self, queue: str) -> bool:
        """Let the setting's weight of a client count again. False: no operator had set another."""
        earlier = posts_of(queue, (await self._state.board.read()).posts)
        changed = await self._withdraw_weights(earlier)
        if changed:
            await self._note_weight(queue, None)
        return changed

    async def _withdraw_weights(self, posts: Sequence[Post]) -> bool:
        return any([await self._state.board.withdraw(PostKind.CLIENT_WEIGHT, one.name) for one in posts])

    async def _note_weight(self, queue: str, weight: float | None) -> None:
        data = {"weight": weight}
        act = Act(CLIENT_WEIGHED, self._clock.wall(), self._by, self._triggered_by, self._source, queue, data=data)
        await _whole(self._insist(lambda: self._state.acts.record([act]), "audit log", act))

    async def note_endpoint(self, kind: str, endpoint: str, **more: object) -> None:
        """Record an act on a webhook endpoint."""
        data = {"endpoint": endpoint, **more}
        act = Act(kind, self._clock.wall(), self._by, self._triggered_by, self._source, data=data)
        await _whole(self._insist(lambda: self._state.acts.record([act]), "audit log", act))

    async def drain_worker(self, worker: str) -> bool:
        """Have a worker lease nothing more, finish what runs, and stop. False: it was asked before."""
        return await self._ask_worker(PostKind.DRAIN_WORKER, WORKER_DRAINED, worker)

    async def stop_worker(self, worker: str) -> bool:
        """Have a worker stop as on SIGTERM. False: it was asked before."""
        return await self._ask_worker(PostKind.STOP_WORKER, WORKER_STOPPED, worker)

    async def _ask_worker(self, kind: PostKind, act_kind: str, worker: str) -> bool:
        now, by = self._state.wall(), self._by
        who = f"{by} ({self._triggered_by})" if by else self._triggered_by
        post = Post(kind=kind, name=name_of(worker), at=now, by=who[:MOST_NAME], until=now + WORKER_POST_SECONDS)
        changed = await self._state.board.post(post)
        if changed:
            act = Act(act_kind, self._clock.wall(), by, self._triggered_by, self._source, data={"worker": worker})
            await _whole(self._insist(lambda: self._state.acts.record([act]), "audit log", act))
        return changed

    async def delete_queue(self, queue: str) -> bool:
        """Take an empty queue off the list. False: something is in it, and it stays."""
        changed = await self._broker.forget_queue(queue)
        if changed:
            await self._write(EventKind.QUEUE_DELETED, queue)
        return changed

    async def forget(self, schedule: str, queue: str | None = None) -> bool:
        """Forget the last tick of a schedule: it starts over, or is no more. False: it was not known."""
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
        """Split ids into batches of one queue each. A queue of None: nothing is known of these ids."""
        size = self._broker.traits.batch_limit
        unique = list(dict.fromkeys(ids))
        for begin in range(0, len(unique), size):
            some = unique[begin : begin + size]
            queue_of = dict.fromkeys(some, queue) if queue is not None else await self._look_up(some)
            for where, batch in _grouped(some, queue_of).items():
                yield batch, where

    async def _look_up(self, ids: Sequence[str]) -> dict[str, str | None]:
        """Look up the queue of each message in its record."""
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
            kind.value,
            at,
            self._by,
            self._triggered_by,
            self._source,
            queue,
            count=len(ids or ()),
            ids=tuple(ids or ())[:MOST_IDS],
            data=dict(more),
        )
        event = Event(kind, at, queue, data={**named, **who, **more})
        await self._insist(lambda: self._state.journal.append([event]), "journal", event)
        await self._insist(lambda: self._state.acts.record([act]), "audit log", act)

    async def _insist(self, write: Callable[[], Awaitable[None]], where: str, what: object) -> None:
        """Record the act even if the store is away: try again, and at last write it to the log."""
        for pause in (*_AGAIN_SECONDS, None):
            try:
                await write()
            except BrokerError as error:
                if pause is None:
                    logger.critical("this was done, but could not be written to the %s (%s): %s", where, error, what)
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
    """An act and its record, also if the caller is cancelled in between."""
    task = asyncio.ensure_future(act)
    # The loop itself would not keep it alive once no caller waits for it.
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    return await asyncio.shield(task)


def this_user() -> str:
    """The user of this process, as far as the machine knows."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):  # a container's user without a name
        return socket.gethostname()
