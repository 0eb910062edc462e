"""Queues: how many messages each holds, and what can be done to a whole queue."""

from collections.abc import Sequence
from contextlib import aclosing

import msgspec

from tenure.broker import Depth
from tenure.client.operations.browsable import check_shown
from tenure.client.operations.bulk import Progressed, check_bounds
from tenure.client.operations.naming import check_one, full_name, paused
from tenure.client.operations.operations import Operations
from tenure.client.operations.queue_limit import QueueLimit, limits_in_force, waits_for_limit
from tenure.client.operator import PURGEABLE
from tenure.errors import BadArgument, QueueNotEmpty
from tenure.message import MessageState
from tenure.notice import Notices, Pause
from tenure.rules.reserved_queue import is_reserved


class QueueStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How many messages one queue holds. None: the broker cannot say."""

    queue: str
    ready: int | None
    delayed: int | None
    leased: int | None
    dead: int | None
    #: Of what has been ready for longest.
    oldest_age_seconds: float | None
    #: The figures are estimates.
    estimated: bool = False
    paused: Pause | None = None
    limit: QueueLimit | None = None
    #: Messages are ready that the limit holds back.
    waits_for_limit: bool = False


class QueueList(msgspec.Struct, frozen=True, kw_only=True):
    """The queues with messages, and those that are paused, by name."""

    queues: tuple[QueueStatus, ...]


class QueueChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a queue."""

    queue: str
    #: False: it was so before.
    changed: bool


class PurgeResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a purge removed, or would have."""

    queue: str
    #: Messages that were removed.
    purged: int
    #: By state, how many there were to remove. None: the broker cannot say.
    would: dict[str, int | None]
    dry_run: bool
    #: More is there; the same call goes on.
    more: bool = False


class QueueOperations(Operations):
    """Operations on queues."""

    async def queues(self, *, depths: Sequence[Depth] | None = None, notices: Notices | None = None) -> QueueList:
        """Return how many messages each queue holds. Lists the queues with messages, and paused ones.

        Deliveries of webhooks are not listed: ask for their queue by its name.

        - `depths`: Of every queue with something in it, where they were counted already.
        - `notices`: The board, where it was read already.
        """
        access = await self._opened()
        notices = await access.state.board.read() if notices is None else notices
        stopped = {pause.queue: pause for pause in notices.paused if access.sees(pause.queue)}
        limits = limits_in_force(access, notices.posts)
        counted = await access.broker.depth() if depths is None else depths
        found = {one.queue: one for one in counted if access.sees(one.queue) and not is_reserved(one.queue)}
        empty = [queue for queue in stopped if queue not in found]
        found |= {depth.queue: depth for depth in await access.broker.depth(empty)} if empty else {}
        return QueueList(
            queues=tuple(_status(found[name], stopped.get(name), limits.get(name)) for name in sorted(found))
        )

    async def queue(self, name: str) -> QueueStatus:
        """Return how many messages one queue holds. Raises `UnknownQueue`."""
        access = await self._opened()
        queue = await check_one(access, name, consequence="")
        (depth,) = await access.broker.depth([queue])
        notices = await access.state.board.read()
        pause = next((one for one in notices.paused if one.queue == queue), None)
        return _status(depth, pause, limits_in_force(access, notices.posts).get(queue))

    async def pause(self, queue: str, *, must_exist: bool = True) -> QueueChange:
        """Let workers lease nothing from a queue, until it is resumed; what runs goes on. Raises `UnknownQueue`.

        - `must_exist`: False: also a queue that is not known yet.
        """
        access = await self._opened()
        name = await check_one(access, queue, consequence="Nothing was paused", must_exist=must_exist)
        return QueueChange(queue=name, changed=await access.operator().pause(name))

    async def resume(self, queue: str) -> QueueChange:
        """Let workers lease from a queue again. Raises `UnknownQueue`."""
        access = await self._opened()
        name = full_name(access, queue)
        if name not in {one.queue for one in await paused(access)}:
            await check_one(access, queue, consequence="Nothing was resumed")
            return QueueChange(queue=name, changed=False)
        return QueueChange(queue=name, changed=await access.operator().resume(name))

    async def purge(
        self,
        queue: str,
        states: Sequence[MessageState | str] = PURGEABLE[:2],
        *,
        dry_run: bool = False,
        limit: int = 100_000,
        progressed: Progressed | None = None,
    ) -> PurgeResult:
        """Remove what waits in a queue, batch by batch; a record of each message stays. Raises `UnknownQueue`.

        - `states`: Of `ready`, `delayed`, `dead`; default: the first two. What runs is cancelled, not purged.
        - `dry_run`: Only count.
        - `limit`: Stop after about this many; the same call goes on.
        - `progressed`: Called after each batch with how many were removed, and how many there were.
        """
        check_bounds(limit=limit)
        wanted = _purgeable(states)
        access = await self._opened()
        check_shown(access.broker, wanted, consequence="Nothing was changed")
        name = await check_one(access, queue)
        (depth,) = await access.broker.depth([name])
        would: dict[str, int | None] = {state.value: getattr(depth, state.value) for state in wanted}
        if dry_run:
            return PurgeResult(queue=name, purged=0, would=would, dry_run=True)
        purged, total = 0, sum(number or 0 for number in would.values())
        async with aclosing(access.operator().purge(name, wanted)) as batches:
            async for number in batches:
                purged += number
                if progressed is not None:
                    progressed(purged, max(purged, total))
                if purged >= limit:
                    break
        return PurgeResult(queue=name, purged=purged, would=would, dry_run=False, more=purged >= limit)

    async def delete_queue(self, name: str) -> QueueChange:
        """Take an empty queue off the list. Raises `QueueNotEmpty` if anything is in it, and `UnknownQueue`.

        Nothing is lost: a message that is sent to it creates it again.
        """
        access = await self._opened()
        queue = await check_one(access, name, consequence="Nothing was deleted")
        if not await access.operator().delete_queue(queue):
            msg = f"queue {queue!r} is not empty, and stays as it is: purge it, or let its messages end first"
            raise QueueNotEmpty(msg)
        return QueueChange(queue=queue, changed=True)


def _status(depth: Depth, pause: Pause | None, limit: QueueLimit | None) -> QueueStatus:
    return QueueStatus(
        queue=depth.queue,
        ready=depth.ready,
        delayed=depth.delayed,
        leased=depth.leased,
        dead=depth.dead,
        oldest_age_seconds=depth.oldest_age_seconds,
        estimated=depth.estimated,
        paused=pause,
        limit=limit,
        waits_for_limit=waits_for_limit(limit, ready=depth.ready, running=depth.leased),
    )


def _purgeable(states: Sequence[MessageState | str]) -> tuple[MessageState, ...]:
    named = tuple(dict.fromkeys(states))
    allowed = [state.value for state in PURGEABLE]
    odd = [state for state in named if state not in allowed]
    if odd or not named:
        msg = f"states={list(map(str, named))}: only these can be purged: {', '.join(allowed)}; nothing was changed"
        raise BadArgument(msg)
    return tuple(map(MessageState, named))
