"""Waiting: until something may be leased, however many queues are served, on one connection and without asking again.

A few queues are listened to one by one, and each is looked at once. For patterns and many names there is one
subscription to all channels of the place, and one look at the list of queues that have something (`listing.py`).
"""

import asyncio
from collections.abc import Mapping, Sequence

from tenure.adapters.redis import faults
from tenure.adapters.redis.limiting import Limiting, limited
from tenure.adapters.redis.listing import QueueListing
from tenure.adapters.redis.naming import RedisNames
from tenure.adapters.redis.quiet import QuietQueues
from tenure.adapters.redis.script import LOOK
from tenure.adapters.redis.served import ServedQueues, is_few, served
from tenure.adapters.redis.store import RedisStore
from tenure.errors import StoreForeign
from tenure.limit import Limit
from tenure.rules.limits import LOOK_AGAIN_SECONDS


class _Channels:
    """The channels of the queues that are served."""

    def __init__(self, names: RedisNames, served: ServedQueues) -> None:
        self._names = names
        self._served = served

    def __contains__(self, channel: object) -> bool:
        queue = self._names.woken(channel) if isinstance(channel, bytes) else None
        return queue is not None and queue in self._served


class WaitingWorkers:
    """Workers that wait for something to lease."""

    def __init__(self, store: RedisStore, listing: QueueListing, limiting: Limiting, quiet: QuietQueues) -> None:
        """Take the store, and what leases have seen of it."""
        self._store = store
        self._listing = listing
        self._limiting = limiting
        self._quiet = quiet

    async def wait(
        self, queues: Sequence[str], limit: float, excluded: Sequence[str], limits: Mapping[str, Limit]
    ) -> None:
        """Return when something may have become leasable in `queues`, or after `limit` seconds."""
        deadline = self._store.clock.monotonic() + limit
        names = limited(queues, excluded, limits) if limits else []
        if names:
            await self._wait_with_limits(
                tuple(queues), tuple(excluded), {name: limits[name] for name in names}, deadline
            )
        elif is_few(queues):
            await self._wait_for_few([queue for queue in queues if queue not in excluded], deadline)
        else:
            await self._wait_for_many(served(tuple(queues), tuple(excluded)), deadline)

    async def _wait_for_few(self, queues: list[str], deadline: float) -> None:
        store = self._store
        channels = [store.names.wake(queue) for queue in queues]
        await store.listener.subscribe(channels)
        # First subscribe, then look, or take what the last lease saw: then nothing after it is missed.
        waiter = store.listener.enter(channels)
        try:
            is_known, due_in = self._quiet.take(queues)
            if not is_known:
                due_in = await self._leasable_in(queues)
            await self._rest(waiter, due_in, deadline)
        finally:
            store.listener.leave(waiter)

    async def _wait_for_many(self, served: ServedQueues, deadline: float) -> None:
        store, listing = self._store, self._listing
        channels = _Channels(store.names, served)
        is_over = False
        while not is_over:
            await store.listener.subscribe_to_all(store.names.channels)
            waiter = store.listener.enter_for(channels)
            try:
                await listing.refresh(served)
                due_in, look_in = await listing.ready_in(served), listing.refresh_in()
                now = store.clock.monotonic()
                # It is time to look again whether all are listed: meanwhile nothing became leasable.
                is_short = now + look_in < deadline and (due_in is None or look_in < due_in)
                is_over = await self._rest(waiter, look_in if is_short else due_in, deadline) or not is_short
            finally:
                store.listener.leave(waiter)

    async def _wait_with_limits(
        self, queues: tuple[str, ...], excluded: tuple[str, ...], limits: Mapping[str, Limit], deadline: float
    ) -> None:
        """As the others. A queue behind its limit is heard of, but looked at only for when it opens."""
        store, clock = self._store, self._store.clock
        others = tuple(queue for queue in queues if queue not in limits)
        # One that waits for a lease to end hears of it, unless the process that ended it did not know of the limit.
        again = LOOK_AGAIN_SECONDS if any(limit.running is not None for limit in limits.values()) else float("inf")
        is_over = False
        while not is_over and clock.monotonic() < deadline:
            waiter = await self._listen(queues, excluded)
            try:
                waits = await self._limiting.look(list(limits), limits)
                waits += await self._others_in(others, excluded, limits)
                due_in = min((wait for wait in waits if wait is not None), default=None)
                look_in = again if is_few(others) else min(again, max(0.05, self._listing.refresh_in()))
                is_short = due_in is None or look_in < due_in
                is_over = await self._rest(waiter, look_in if is_short else due_in, deadline) or not is_short
            finally:
                store.listener.leave(waiter)

    async def _listen(self, queues: tuple[str, ...], excluded: tuple[str, ...]) -> "asyncio.Future[bool]":
        """Subscribe, then look: then nothing after the look is missed."""
        store = self._store
        if is_few(queues):
            channels = [store.names.wake(queue) for queue in queues if queue not in excluded]
            await store.listener.subscribe(channels)
            return store.listener.enter(channels)
        await store.listener.subscribe_to_all(store.names.channels)
        return store.listener.enter_for(_Channels(store.names, served(queues, excluded)))

    async def _others_in(
        self, others: tuple[str, ...], excluded: tuple[str, ...], limits: Mapping[str, Limit]
    ) -> list[float | None]:
        """Seconds until something can be leased from the queues without limits."""
        if is_few(others):
            return [await self._leasable_in([queue for queue in others if queue not in excluded])]
        without = served(others, (*excluded, *limits))
        await self._listing.refresh(without)
        return [await self._listing.ready_in(without)]

    async def _rest(self, waiter: "asyncio.Future[bool]", seconds: float | None, deadline: float) -> bool:
        """Until there is something to hear, for this long at most; whether there was."""
        left = deadline - self._store.clock.monotonic()
        if seconds is not None:
            left = min(left, seconds)
        if left > 0:
            await asyncio.wait((waiter,), timeout=left)
        if waiter.done() and not waiter.result():
            raise faults.away(self._store.options.place, None, sent=False)
        return waiter.done()

    async def _leasable_in(self, queues: Sequence[str]) -> float | None:
        store = self._store
        if not queues:
            return None
        groups = [[queue] for queue in queues] if store.link.is_cluster else [list(queues)]
        answers = await store.run_each([store.call(LOOK, group, ()) for group in groups], writes=False)
        if any(isinstance(answer, StoreForeign) for answer in answers):
            # One of them cannot be read; it must not keep the others waiting.
            answers = await store.run_each([store.call(LOOK, [queue], ()) for queue in queues], writes=False)
            foreign = [answer for answer in answers if isinstance(answer, StoreForeign)]
            if len(foreign) == len(answers):
                raise foreign[0]
            answers = [answer for answer in answers if not isinstance(answer, StoreForeign)]
        # A timer may go off a hair too early.
        return min(((answer + 1) / 1e6 if answer else 0.0 for answer in answers if answer >= 0), default=None)
