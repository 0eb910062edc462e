"""Waiting for work on a queue whose receives cannot wait: looks with growing pauses, and no busy loop."""

import asyncio

from tenure.delivery_queue import OutgoingCopy, PhysicalQueue, ReceivedCopy
from tenure.rowstore.memory_queue import MemoryQueue, MemoryQueues
from tenure.rowstore.prefetch import Prefetch
from tenure.testing.virtual import VirtualClock

MAIL = PhysicalQueue("mail", 0)


class CountedQueue(MemoryQueue):
    """A queue that never waits, and counts how often it is asked."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(MemoryQueues(), clock, poll_seconds=0)
        self.receives = 0

    async def receive(
        self, physical: PhysicalQueue, want: int, visibility: int, wait: float = 0.0
    ) -> list[ReceivedCopy]:
        assert wait == 0.0
        self.receives += 1
        return await super().receive(physical, want, visibility, wait)


async def test_an_idle_queue_is_looked_at_once_a_second(virtual_clock: VirtualClock) -> None:
    queue = CountedQueue(virtual_clock)
    prefetch = Prefetch(queue, virtual_clock, is_virtual=False)
    began = virtual_clock.monotonic()
    await prefetch.wait([MAIL], 60.0)
    assert virtual_clock.monotonic() - began >= 60.0
    assert 60 <= queue.receives <= 66
    await prefetch.close()


async def test_what_another_process_sends_is_seen_within_a_second(virtual_clock: VirtualClock) -> None:
    queue = CountedQueue(virtual_clock)
    prefetch = Prefetch(queue, virtual_clock, is_virtual=False)
    waiter = asyncio.create_task(prefetch.wait([MAIL], 600.0))
    await asyncio.sleep(100.3)
    sent_at = virtual_clock.monotonic()
    await queue.send([OutgoingCopy(MAIL, "m1", "{}")])
    await waiter
    assert virtual_clock.monotonic() - sent_at <= 1.0
    assert [copy.id for copy in prefetch.take(MAIL)] == ["m1"]
    await prefetch.close()


async def test_what_this_process_sends_is_seen_at_once(virtual_clock: VirtualClock) -> None:
    queue = CountedQueue(virtual_clock)
    prefetch = Prefetch(queue, virtual_clock, is_virtual=False)
    waiter = asyncio.create_task(prefetch.wait([MAIL], 600.0))
    await asyncio.sleep(100.3)
    sent_at = virtual_clock.monotonic()
    await queue.send([OutgoingCopy(MAIL, "m1", "{}")])
    prefetch.heard([MAIL])
    await waiter
    assert virtual_clock.monotonic() == sent_at
    await prefetch.close()
