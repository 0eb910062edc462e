"""Slots: bounded concurrency, and batches that stay full."""

import asyncio

from tenure.runtime.path.slots import FULL_BATCH, GATHER_SECONDS, QUIET_SECONDS, Slots
from tenure.testing.virtual import VirtualClock


async def test_all_slots_are_free_at_first() -> None:
    slots = Slots(10)
    assert await slots.room() == 10
    assert (slots.running, slots.unsettled) == (0, 0)


async def test_it_waits_until_a_handler_ends() -> None:
    slots = Slots(2)
    slots.take(2)
    waiting = asyncio.create_task(slots.room())
    await asyncio.sleep(100)
    assert not waiting.done()
    slots.finish()
    assert await waiting == 1


async def test_half_the_slots_are_worth_a_fetch_at_once(virtual_clock: VirtualClock) -> None:
    slots = Slots(10)
    slots.take(5)
    before = virtual_clock.now
    assert await slots.room() == 5
    assert virtual_clock.now == before


async def test_those_that_end_together_are_fetched_together(virtual_clock: VirtualClock) -> None:
    slots = Slots(10)
    slots.take(10)
    waiting = asyncio.create_task(slots.room())
    await asyncio.sleep(0)
    before = virtual_clock.now
    slots.finish()
    await asyncio.sleep(QUIET_SECONDS / 2)
    slots.finish()
    assert await waiting == 2
    assert virtual_clock.now - before <= 2 * QUIET_SECONDS + 1e-6


async def test_a_single_one_waits_only_for_a_moment(virtual_clock: VirtualClock) -> None:
    slots = Slots(10)
    slots.take(10)
    waiting = asyncio.create_task(slots.room())
    await asyncio.sleep(0)
    before = virtual_clock.now
    slots.finish()
    assert await waiting == 1
    assert virtual_clock.now - before <= QUIET_SECONDS + 1e-6


async def test_gathering_ends_though_more_and_more_become_free(virtual_clock: VirtualClock) -> None:
    slots = Slots(90)
    slots.take(90)
    waiting = asyncio.create_task(slots.room())
    await asyncio.sleep(0)
    before = virtual_clock.now
    while not waiting.done():
        slots.finish()
        await asyncio.sleep(QUIET_SECONDS / 2)
    assert virtual_clock.now - before <= GATHER_SECONDS + QUIET_SECONDS


async def test_of_very_many_slots_a_full_batch_is_worth_a_fetch_at_once(virtual_clock: VirtualClock) -> None:
    slots = Slots(1000)
    slots.take(1000 - FULL_BATCH)
    before = virtual_clock.now
    assert await slots.room() == FULL_BATCH
    assert virtual_clock.now == before


async def test_gathering_ends_when_half_are_free(virtual_clock: VirtualClock) -> None:
    slots = Slots(4)
    slots.take(4)
    waiting = asyncio.create_task(slots.room())
    await asyncio.sleep(0)
    before = virtual_clock.now
    slots.finish()
    await asyncio.sleep(0)
    slots.finish()
    assert await waiting == 2
    assert virtual_clock.now == before


async def test_slots_in_which_messages_only_wait_do_not_hold_up_a_fetch(virtual_clock: VirtualClock) -> None:
    slots = Slots(10)
    slots.take(7)
    slots.waiting = 5
    before = virtual_clock.now
    assert await slots.room() == 3
    assert virtual_clock.now == before


async def test_what_is_not_settled_is_bounded_at_twice_the_slots() -> None:
    slots = Slots(3)
    for _ in range(6):
        slots.take(1)
        slots.finish()
    waiting = asyncio.create_task(slots.room())
    await asyncio.sleep(10)
    assert not waiting.done(), "finished work piles up"
    slots.settle(4)
    assert await waiting == 3


async def test_there_is_never_more_room_than_free_slots() -> None:
    slots = Slots(3)
    slots.take(3)
    slots.settle(3)  # settled early, as a thread that was left is
    waiting = asyncio.create_task(slots.room())
    await asyncio.sleep(1)
    assert not waiting.done()
    slots.finish()
    assert await waiting == 1


async def test_all_settled_waits_for_the_last_one() -> None:
    slots = Slots(3)
    await slots.all_settled()
    slots.take(2)
    waiting = [asyncio.create_task(slots.all_settled()) for _ in range(2)]
    slots.settle(1)
    await asyncio.sleep(1)
    assert not any(task.done() for task in waiting)
    slots.settle(1)
    await asyncio.gather(*waiting)


async def test_giving_up_on_all_settled_does_no_harm() -> None:
    slots = Slots(1)
    slots.take(1)
    impatient, patient = (asyncio.create_task(slots.all_settled()) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.sleep(0)
    slots.settle(1)
    await patient


async def test_giving_up_on_room_does_no_harm() -> None:
    slots = Slots(1)
    slots.take(1)
    waiting = asyncio.create_task(slots.room())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    slots.finish()
    slots.settle(1)
    assert await slots.room() == 1
