"""Returning: what a holder can no longer finish goes back to its queue. Sweep and retire, over all queues.

Whether there was an outage is judged once for all queues, by the time of the last sweep. A queue's own script moves its
messages only while that judgement is young, so a sweeper that was frozen in between returns nothing.
"""

from typing import Any

from tenure.adapters.redis.outbox import Outbox
from tenure.adapters.redis.script import JUDGE, RETIRE, ROSTER, SWEEP
from tenure.adapters.redis.store import Store, micros
from tenure.broker import SweepRequest, Swept


class Returning:
    """Sweeps and retirements."""

    def __init__(self, store: Store, outbox: Outbox) -> None:
        """Stand on `store`."""
        self._store = store
        self._outbox = outbox
        self._turn = 0

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return overdue leases, or give everybody a fresh window after an outage."""
        queues = await self._queues()
        judged, gap = await self._store.run(JUDGE, (), "ask", micros(request.interval_seconds))
        if gap:
            lent = await self._run(queues, "grace", request, judged)
            await self._store.run(JUDGE, (), "note", micros(request.interval_seconds))
            if any(lent):
                return Swept(grace=True)
        looks = await self._run(queues, "look", request, judged)
        returned: list[str] = []
        dead: list[str] = []
        for queue, look in zip(queues, looks, strict=True):
            left = request.limit - len(returned) - len(dead)
            if look[0] and left > 0:
                await self._move(queue, left, request, judged, returned, dead)
        if self._store.link.is_cluster:
            for queue in queues:
                await self._outbox.empty_all(queue)
        adopted = tuple(id.decode() for look in looks for id in look[1:])
        return Swept(tuple(returned), tuple(dead), adopted)

    async def _move(
        self, queue: str, limit: int, request: SweepRequest, judged: bytes, returned: list[str], dead: list[str]
    ) -> None:
        (moved,) = await self._run([queue], "move", request, judged, limit)
        if isinstance(moved, int):
            return  # we were held up; the next sweep judges anew
        for kind, id in zip(moved[::2], moved[1::2], strict=True):
            (returned if kind == 1 else dead).append(id.decode())

    async def _run(
        self, queues: list[str], mode: str, request: SweepRequest, judged: bytes, limit: int = 0
    ) -> list[Any]:
        store = self._store
        arguments = [
            mode, limit, request.max_attempts, micros(request.lease_seconds), judged, micros(request.interval_seconds)
        ]  # fmt: skip
        if store.link.is_cluster and mode == "move":
            # Each server has its own clock: only its own judgement could be compared. The roster is out of reach too.
            arguments[4:6] = ["0", "1e18"]
            arguments += await store.command("HKEYS", f"{store.names.common}roster") or [""]
        return await store.run_all([store.call(SWEEP, [queue], arguments) for queue in queues])

    async def _queues(self) -> list[str]:
        """Beginning with another one each time, so that a limit starves none."""
        queues = await self._store.queues()
        self._turn += 1
        start = self._turn % len(queues) if queues else 0
        return queues[start:] + queues[:start]

    async def retire(self, owner: str, *, crashed: bool) -> Swept:
        """Ban the owner, return its messages, and only then take it off the roster: a crash in between is made good."""
        store = self._store
        if store.link.is_cluster:
            await store.command("ZADD", f"{store.names.common}ban", micros(store.clock.wall()), owner)
        queues = await store.queues()
        # Of one that fell silent nobody knows how it ended: that is no crash, and blames no message.
        silent = crashed and await store.command("SISMEMBER", f"{store.names.common}silent", owner)
        how = "lost" if silent else "crashed" if crashed else "left"
        answers = await store.run_all([store.call(RETIRE, [queue], (owner, how)) for queue in queues])
        await store.run(ROSTER, (), "retire", owner)
        return Swept(tuple(id.decode() for ids in answers for id in ids))
