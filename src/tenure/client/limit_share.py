"""The limits of a process on a broker that cannot keep them for all: each process keeps its part by what it holds.

For brokers with the trait `limits_are_shared_out`, on which a message is known only to the one that received it. The
worker asks with its part of each limit (`rules/limits.share`). Counted are the leases that this process has, until they
are settled, lost or swept, or were not renewed for two windows. Decided by `rules/limits.py`.

Used by the brokers in `rowstore` and `adapters/azure`, around their own `lease` and `wait`.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.lease import Lease, LeaseRequest, LeaseState
from tenure.limit import Limit
from tenure.rules.limits import ANY_NUMBER, Allowance, Bucket, allowance, given_back, taken
from tenure.rules.queue_pattern import matches
from tenure.rules.rotation import rotated
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement

#: So many limited queues are asked by one call; each costs a request.
_MOST_ASKED = 8

Lend = Callable[[LeaseRequest], Awaitable[list[Lease]]]
#: As `Broker.wait`, without limits.
Wait = Callable[[Sequence[str], float, Sequence[str]], Awaitable[None]]


class _Held(NamedTuple):
    fence: int
    #: Monotonic; after it the lease is taken to be lost.
    until: float


class LimitShare:
    """What one process holds, by queue, and the tokens that it has left. Any thread may call it."""

    def __init__(self, clock: Clock) -> None:
        """Begin with no leases and full buckets."""
        self._clock = clock
        self._lock = threading.Lock()
        self._turn = 0
        self._held: dict[str, dict[str, _Held]] = {}
        self._queue_of: dict[str, str] = {}
        #: Leases that calls under way may bring.
        self._asked: dict[str, int] = {}
        self._buckets: dict[str, Bucket] = {}
        self._waiters: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    async def lease(self, request: LeaseRequest, lend: Lend) -> list[Lease]:
        """Lease by `lend`, from each limited queue no more than its limit allows, each call beginning elsewhere."""
        names = [queue for queue in request.limits if matches(queue, request.queues, request.excluded)]
        if not names:
            return self._noted(await lend(request))
        others = msgspec.structs.replace(
            request,
            queues=tuple(queue for queue in request.queues if queue not in names),
            excluded=(*request.excluded, *names),
        )
        self._turn += 1
        leases: list[Lease] = []
        for part in ["", *rotated(names, self._turn)[:_MOST_ASKED]][:: 1 if self._turn % 2 else -1]:
            left = request.want - len(leases)
            if left <= 0 or not (part or others.queues):
                continue
            try:
                if part:
                    leases += await self._lease_limited(request, part, left, lend)
                else:
                    leases += self._noted(await lend(msgspec.structs.replace(others, want=left)))
            except BrokerUnavailable as error:
                if not leases or error.outcome_unknown:
                    raise
                msg = f"{error}; some may have been lent before"
                raise BrokerUnavailable(msg, outcome_unknown=True) from error
        return leases

    async def _lease_limited(self, request: LeaseRequest, queue: str, want: int, lend: Lend) -> list[Lease]:
        """Lease from one limited queue. What other calls may bring is counted, so that two do not bring too much."""
        limit = request.limits[queue]
        with self._lock:
            most = self._allowance(queue, limit, want).count
            if most <= 0:
                return []
            self._asked[queue] = self._asked.get(queue, 0) + most
            self._take(queue, limit, most)
        count = 0
        try:
            asked = msgspec.structs.replace(request, queues=(queue,), excluded=(), want=most)
            leases = self._noted(await lend(asked))
            count = len(leases)
            return leases
        finally:
            with self._lock:
                self._asked[queue] -= most
                if not self._asked[queue]:
                    del self._asked[queue]
                self._return(queue, most - count)

    async def wait(
        self, queues: Sequence[str], seconds: float, excluded: Sequence[str], limits: Mapping[str, Limit], wait: Wait
    ) -> None:
        """Wait by `wait` for the queues that are open, and for one of the others to open."""
        opened = asyncio.Event()
        names = [queue for queue in limits if matches(queue, queues, excluded)] if limits else []
        with self._lock:
            allowed = {queue: self._allowance(queue, limits[queue], ANY_NUMBER) for queue in names}
            closed = [queue for queue in names if not allowed[queue].count]
            if closed:
                self._waiters[opened] = asyncio.get_running_loop()
        if not closed:
            await wait(queues, seconds, excluded)
            return
        waits = [one.wait_seconds for one in allowed.values() if not one.count and one.wait_seconds is not None]
        others = [queue for queue in queues if queue not in closed]
        acts: list[asyncio.Future[bool]] = [asyncio.ensure_future(_truly(opened.wait()))]
        if others:
            acts.append(asyncio.ensure_future(_truly(wait(others, seconds, (*excluded, *closed)))))
        try:
            done, _ = await asyncio.wait(acts, timeout=min([seconds, *waits]), return_when=asyncio.FIRST_COMPLETED)
            for act in done:
                act.result()
        finally:
            with self._lock:
                self._waiters.pop(opened, None)
            for act in acts:
                act.cancel()
            await asyncio.gather(*acts, return_exceptions=True)

    def touched(self, leases: Sequence[Lease]) -> list[Lease]:
        """Leases as a touch answered them: held for longer, or lost."""
        with self._lock:
            for lease in leases:
                if lease.state is LeaseState.LOST:
                    self._drop(lease.id, lease.fence)
                else:
                    self._keep(lease)
        return list(leases)

    def settled(
        self,
        batch: Sequence[Ack | Nack | GiveBack | DeadLetter],
        told: list[Settlement],
        *,
        returns_tokens: bool = False,
    ) -> list[Settlement]:
        """Leases that have ended, with the answers; what was given back returns its token."""
        with self._lock:
            for entry, settlement in zip(batch, told, strict=True):
                lease = entry.lease
                if settlement.outcome is Outcome.UNKNOWN:
                    continue
                self._drop(lease.id, lease.fence)
                if returns_tokens and settlement.outcome is Outcome.RETURNED:
                    self._return(lease.queue, 1)
        return told

    def gone(self, ids: Iterable[str]) -> None:
        """Messages that were swept, cancelled or retired."""
        with self._lock:
            for id in ids:
                self._drop(id)

    def _noted(self, leases: list[Lease]) -> list[Lease]:
        with self._lock:
            for lease in leases:
                self._keep(lease)
        return leases

    def _allowance(self, queue: str, limit: Limit, want: int) -> Allowance:
        now, held = self._clock.monotonic(), self._held.get(queue, {})
        for id in [id for id, one in held.items() if one.until <= now]:
            self._drop(id)
        running = len(held) + self._asked.get(queue, 0)
        return allowance(limit, running=running, bucket=self._buckets.get(queue), now=now, want=want)

    def _keep(self, lease: Lease) -> None:
        self._queue_of[lease.id] = lease.queue
        self._held.setdefault(lease.queue, {})[lease.id] = _Held(lease.fence, lease.deadline + lease.seconds)

    def _drop(self, id: str, fence: int | None = None) -> None:
        queue = self._queue_of.get(id)
        if queue is None or fence not in (None, self._held[queue][id].fence):
            return
        del self._held[queue][id], self._queue_of[id]
        if not self._held[queue]:
            del self._held[queue]
        self._wake()

    def _take(self, queue: str, limit: Limit, count: int) -> None:
        if limit.per_second is not None:
            self._buckets[queue] = taken(limit, self._buckets.get(queue), self._clock.monotonic(), count)

    def _return(self, queue: str, count: int) -> None:
        bucket = self._buckets.get(queue)
        if bucket is not None and count:
            self._buckets[queue] = given_back(bucket, count)
            self._wake()

    def _wake(self) -> None:
        for event, loop in self._waiters.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)
        self._waiters.clear()


async def _truly(act: Awaitable[object]) -> bool:
    await act
    return True
