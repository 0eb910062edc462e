"""Limiting: leases from limited queues and others in one call, and what the end of a lease means to a limit.

Each limited queue is leased from by a script of its own (`lua/limited.lua`), which decides and leases in one step; the
others are leased from as ever. Where several are limited, one look says which of them have something and are open. Each
call begins with another part, so none starves.

Whether a queue is limited is known from the requests of this process. The end of a lease that another process ends
is found by looking again within a second. Used by `lending.py`, `waiting.py` and `broker.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.adapters.redis.script import LIMITED_LOOK, TOKEN
from tenure.adapters.redis.store import RedisStore
from tenure.errors import StoreForeign
from tenure.lease import LeaseRequest
from tenure.limit import Limit
from tenure.rules.queue_pattern import matches
from tenure.rules.rotation import rotated
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome


class Limiting:
    """The limits that requests of this process brought, and the turns of limited queues."""

    def __init__(self, store: RedisStore) -> None:
        """Begin without limits."""
        self._store = store
        self._calls = 0
        #: Queues of which a limited number may run, and those whose starts are limited.
        self._running: set[str] = set()
        self._rated: set[str] = set()

    async def parts(self, request: LeaseRequest, names: Sequence[str]) -> Sequence[str]:
        """The limited queues to lease from now, and '' for all others, in the order of their turns."""
        for queue in names:
            limit = request.limits[queue]
            if limit.running is not None:
                self._running.add(queue)
            if limit.per_second is not None:
                self._rated.add(queue)
        if len(names) > 1:
            waits = await self.look(names, request.limits)
            names = [queue for queue, wait in zip(names, waits, strict=True) if wait == 0]
        self._calls += 1
        return rotated(["", *names], self._calls)

    async def look(self, names: Sequence[str], limits: Mapping[str, Limit]) -> list[float | None]:
        """Seconds until something can be leased from each: 0 is now, None is unknown."""
        store = self._store
        groups = [[queue] for queue in names] if store.link.is_cluster else [list(names)] if names else []
        calls = [
            store.call(LIMITED_LOOK, group, [v for one in group for v in arguments(limits[one])]) for group in groups
        ]
        answers = await store.run_each(calls, writes=False)
        if any(isinstance(answer, StoreForeign) for answer in answers):
            groups = [[queue] for queue in names]
            calls = [store.call(LIMITED_LOOK, [queue], arguments(limits[queue])) for queue in names]
            answers = await store.run_each(calls, writes=False)
        waits: list[float | None] = []
        for group, answer in zip(groups, answers, strict=True):
            told = [-1] * len(group) if isinstance(answer, StoreForeign) else answer
            waits += [None if wait < 0 else (wait + 1) / 1e6 if wait else 0.0 for wait in told]
        return waits

    async def ended(
        self,
        batch: Sequence[Ack | Nack | GiveBack | DeadLetter],
        outcomes: Sequence[Outcome],
        *,
        returns_tokens: bool = False,
    ) -> None:
        """Leases have ended: return their tokens if they were given back, and wake those who wait for their end."""
        if not self._running and not self._rated:
            return
        counts: dict[str, int] = {}
        for entry, outcome in zip(batch, outcomes, strict=True):
            lease = entry.lease
            if outcome in _ENDED and (lease.queue in self._running or lease.queue in self._rated):
                counts[lease.queue] = counts.get(lease.queue, 0) + 1
        calls = []
        for queue, count in counts.items():
            tokens = count if returns_tokens and queue in self._rated else 0
            wakes = queue in self._running or bool(tokens)
            if wakes:
                calls.append(self._store.call(TOKEN, [queue], (tokens, int(wakes))))
        await self._store.run_each(calls)


_ENDED = frozenset({Outcome.DELETED, Outcome.RETURNED, Outcome.DEAD})


def limited(queues: Sequence[str], excluded: Sequence[str], limits: Mapping[str, Limit]) -> list[str]:
    """The limited queues that are served."""
    return [queue for queue in limits if matches(queue, queues, excluded)]


def arguments(limit: Limit) -> tuple[Any, Any]:
    """A limit as the scripts take it."""
    rate = limit.per_second
    return ("" if limit.running is None else limit.running, "" if rate is None else repr(float(rate)))
