"""A reading that all viewers share: nobody waits for a long one, and what nobody asked for lately is read anew."""

import asyncio

import pytest

from tenure.errors import BrokerUnavailable
from tenure.server.shared_reading import LONG_SECONDS, SHARE, STALE_SECONDS, SharedReading
from tenure.testing.virtual import VirtualClock


class Store:
    """Counts how often it was read; a reading takes as long as it is told."""

    def __init__(self, takes: float) -> None:
        self.takes = takes
        self.reads = 0
        self.is_away = False

    async def read(self) -> int:
        await asyncio.sleep(self.takes)
        if self.is_away:
            msg = "nobody there"
            raise BrokerUnavailable(msg)
        self.reads += 1
        return self.reads


async def test_what_is_read_quickly_is_always_read_anew(virtual_clock: VirtualClock) -> None:
    store = Store(LONG_SECONDS / 10)
    shared = SharedReading(store.read, virtual_clock)
    assert [await shared.recent() for _ in range(3)] == [1, 2, 3]


async def test_many_who_ask_at_once_are_one_reading(virtual_clock: VirtualClock) -> None:
    store = Store(1.0)
    shared = SharedReading(store.read, virtual_clock)
    assert await asyncio.gather(*(shared.recent() for _ in range(100))) == [1] * 100


async def test_nobody_waits_for_a_long_reading_while_there_is_a_recent_one(virtual_clock: VirtualClock) -> None:
    store, waited = Store(0.5), []
    shared = SharedReading(store.read, virtual_clock)
    await shared.recent()
    for _ in range(400):
        await asyncio.sleep(0.1)
        began = virtual_clock.monotonic()
        await shared.recent()
        waited.append(virtual_clock.monotonic() - began)
    assert max(waited) == 0.0
    assert 5 <= store.reads <= 40 / (0.5 * SHARE) + 2, "looking takes a tenth of the time"


async def test_a_reading_that_was_quick_and_now_is_slow_holds_nobody_up(virtual_clock: VirtualClock) -> None:
    store, waited = Store(LONG_SECONDS / 10), []
    shared = SharedReading(store.read, virtual_clock)
    assert await shared.recent() == 1
    store.takes = 0.5  # as when the machine is busy with something else
    for _ in range(20):
        began = virtual_clock.monotonic()
        assert await shared.recent() <= 2
        waited.append(virtual_clock.monotonic() - began)
        await asyncio.sleep(0.05)
    assert max(waited) <= LONG_SECONDS + 1e-6
    assert store.reads == 2, "the reading went on, and is good for as long as it took ten times"


async def test_a_reading_that_hangs_is_told_once_what_was_read_is_too_old(virtual_clock: VirtualClock) -> None:
    store = Store(LONG_SECONDS / 10)
    shared = SharedReading(store.read, virtual_clock)
    await shared.recent()
    store.takes = 60.0
    assert await shared.recent() == 1
    await asyncio.sleep(STALE_SECONDS + 0.1)
    began = virtual_clock.monotonic()
    assert await shared.recent() == 2
    assert virtual_clock.monotonic() - began > 50


async def test_what_nobody_asked_for_lately_is_read_anew_first(virtual_clock: VirtualClock) -> None:
    store = Store(0.5)
    shared = SharedReading(store.read, virtual_clock)
    await shared.recent()
    await asyncio.sleep(3 * SHARE * 0.5)
    assert await shared.recent() == 2
    await asyncio.sleep(SHARE * 0.5)
    assert await shared.recent() == 2, "the next reading goes on meanwhile"
    assert shared.next_in() > 0, "who asks again asks when there is something newer"
    assert await shared.current() == 3


async def test_an_outage_is_told_once_what_was_read_is_too_old(virtual_clock: VirtualClock) -> None:
    store = Store(0.5)
    shared = SharedReading(store.read, virtual_clock)
    await shared.recent()
    store.is_away = True
    await asyncio.sleep(SHARE * 0.5 + 0.1)
    assert await shared.recent() == 1
    await asyncio.sleep(SHARE * 0.5)
    with pytest.raises(BrokerUnavailable):
        await shared.recent()
    store.is_away = False
    assert await shared.recent() == 2


async def test_who_asks_after_a_change_gets_what_was_read_after_it(virtual_clock: VirtualClock) -> None:
    store = Store(0.5)
    shared = SharedReading(store.read, virtual_clock)
    await shared.recent()
    shared.outdate()
    assert await shared.recent() == 2, "also where an older one would do"
    await asyncio.sleep(SHARE * 0.5)
    assert await shared.recent() == 2
    await asyncio.sleep(0.1)  # a reading goes on, and may have looked already
    shared.outdate()
    assert await shared.recent() == 4
    assert await shared.recent() == 4, "the reading of before is not kept"
    assert store.reads == 4
