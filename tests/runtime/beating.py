"""A running heartbeat, and what it said; for the tests of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tenure.claim import ClaimRequest, Fresh, Scope, Token
from tenure.envelope import decode
from tenure.lease import Lease
from tenure.runtime.background.heartbeat import Heartbeat
from tenure.runtime.delivery import Delivery
from tenure.testing.harness import Harness
from tenure.testing.wire import Wire

LEASE = 30.0
THIRD = LEASE / 3


class Bench:
    """A running heartbeat, and what it said."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.wire = Wire(harness.broker, harness.state)
        self.wire.spy = self._spy
        self.lost: list[Delivery] = []
        self.overheld: list[Delivery] = []
        self.failed: list[int] = []
        #: When each touch was said, and what for.
        self.touched: list[tuple[float, list[str]]] = []
        self.heartbeat = Heartbeat(
            self.wire.broker,
            self.wire.state.ledger,
            harness.clock,
            on_lost=self.lost.append,
            on_overheld=self.overheld.append,
            on_failed=lambda ids, _error: self.failed.append(len(ids)),
        )
        self.owner = harness.stranger()

    def _spy(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name == "broker.touch":
            leases: list[Lease] = arguments[0]
            self.touched.append((self.harness.clock.monotonic(), [lease.id for lease in leases]))

    async def delivery(self, *, seconds: float = LEASE, **fields: Any) -> Delivery:
        return Delivery(await self.harness.leased(self.owner, seconds=seconds, **fields))

    async def claim(self, delivery: Delivery) -> Token:
        delivery.message = decode(delivery.lease.envelope)
        scope = Scope.of(delivery.message)
        request = ClaimRequest(scope, delivery.id, self.owner, delivery.lease.seconds, "digest")
        (answer,) = await self.harness.state.ledger.claim([request])
        assert isinstance(answer, Fresh)
        delivery.token = answer.token
        return answer.token


@asynccontextmanager
async def beating(harness: Harness) -> AsyncIterator[Bench]:
    bench = Bench(harness)
    task = asyncio.create_task(bench.heartbeat.run())
    await asyncio.sleep(0)
    yield bench
    assert not task.done(), f"the heartbeat has died: {task.exception()!r}"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
