"""A message that comes alone costs its worker two scripts: a lease says whether anything is left."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.adapters.redis.acting import message, opened
from tests.servers.shared import shared

from tenure.adapters.redis import quiet
from tenure.adapters.redis.script import LEASE, LOOK
from tenure.lease import Lease, LeaseRequest
from tenure.message import Outgoing, new_id

pytestmark = pytest.mark.real_time


@pytest.fixture(autouse=True)
def answers_stay_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is."""
    monkeypatch.setattr(quiet, "_FRESH_SECONDS", 600.0)


class Waiting:
    """A broker that was waited on, so that its queue is listened to; and the scripts that it ran since."""

    def __init__(self, broker: Any, queue: str) -> None:
        self.broker = broker
        self.queue = queue
        self.ran: list[str] = []
        call = broker._store.call

        def counted(script: Any, queues: Any, arguments: Any) -> Any:
            self.ran += [name for name, one in (("lease", LEASE), ("look", LOOK)) if script is one]
            return call(script, queues, arguments)

        broker._store.call = counted

    async def send(self, delay: float = 0.0) -> None:
        await self.broker.send([Outgoing(message(queue=self.queue), delay_seconds=delay)])

    async def lease(self, want: int = 10) -> list[Lease]:
        request = LeaseRequest("w/1", new_id(0.0), (self.queue,), want, 30.0, {}, has_presence=False)
        leases: list[Lease] = await self.broker.lease(request)
        return leases

    async def wait(self, seconds: float) -> float:
        """For how long."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        await self.broker.wait([self.queue], seconds, (), {})
        return loop.time() - began


@asynccontextmanager
async def waiting() -> AsyncIterator[Waiting]:
    queue = f"q{new_id(0.0)}"
    async with opened(shared("valkey9").url) as (broker, _):
        await broker.wait([queue], 0.01, (), {})
        yield Waiting(broker, queue)


async def test_what_the_lease_saw_is_not_asked_again() -> None:
    async with waiting() as worker:
        await worker.send()
        await worker.wait(20.0)
        worker.ran.clear()
        assert len(await worker.lease()) == 1
        assert await worker.lease() == []
        await worker.wait(0.05)
        assert worker.ran == ["lease"]


async def test_an_answer_counts_once() -> None:
    async with waiting() as worker:
        assert await worker.lease() == []
        assert await worker.lease() == []
        assert await worker.lease() == []
        assert worker.ran == ["lease", "lease"]


async def test_a_message_that_came_since_the_lease_ends_the_wait() -> None:
    async with waiting() as worker:
        assert await worker.lease() == []
        await worker.send()
        assert await worker.wait(20.0) < 15.0
        assert len(await worker.lease()) == 1


async def test_a_lease_that_took_all_it_asked_for_says_nothing_of_what_is_left() -> None:
    async with waiting() as worker:
        await worker.send()
        await worker.send()
        assert len(await worker.lease(1)) == 1
        assert len(await worker.lease(1)) == 1


async def test_a_message_that_falls_due_ends_the_wait() -> None:
    async with waiting() as worker:
        await worker.send(delay=0.3)
        while worker.broker._lending.quiet.heard([worker.queue]) is None:
            await worker.wait(0.01)
        assert await worker.lease() == []
        assert await worker.wait(20.0) < 15.0
        assert len(await worker.lease()) == 1


async def test_after_the_line_was_lost_the_server_is_asked() -> None:
    async with waiting() as worker:
        assert await worker.lease() == []
        await worker.broker._store.listener.hang_up()
        await worker.send()
        assert len(await worker.lease()) == 1


async def test_a_queue_that_is_not_listened_to_is_always_asked() -> None:
    queue = f"q{new_id(0.0)}"
    async with opened(shared("valkey9").url) as (broker, _):
        worker = Waiting(broker, queue)
        assert await worker.lease() == []
        await worker.send()
        assert len(await worker.lease()) == 1
