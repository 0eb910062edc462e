"""Waiting: a waiter wakes soon after there is something to lease, and not before."""

import asyncio
from collections.abc import Awaitable, Callable

from tenure.settlement import GiveBack, Nack
from tenure.testing.harness import BROKEN, QUEUE, Harness

#: A waiter wakes at most so late.
WAKING_SECONDS = 1.0

LONG = 600.0


class Waiting:
    """The promises of `wait`."""

    async def test_waiting_for_what_is_there_takes_no_time(self, harness: Harness) -> None:
        await harness.put()
        assert await _took(harness, harness.broker.wait([QUEUE], LONG)) <= WAKING_SECONDS

    async def test_waiting_in_vain_ends_on_time(self, harness: Harness) -> None:
        took = await _took(harness, harness.broker.wait([QUEUE], 20.0))
        assert 20.0 <= took <= 20.0 + WAKING_SECONDS

    async def test_what_others_hold_wakes_nobody(self, harness: Harness) -> None:
        await harness.leased(harness.stranger())
        assert await _took(harness, harness.broker.wait([QUEUE], 20.0)) >= 20.0

    async def test_other_queues_wake_nobody(self, harness: Harness) -> None:
        await harness.put(queue="other")
        assert await _took(harness, harness.broker.wait([QUEUE], 20.0)) >= 20.0

    async def test_a_send_wakes(self, harness: Harness) -> None:
        assert await _woken_by(harness, harness.put) <= WAKING_SECONDS

    async def test_a_send_over_another_connection_wakes(self, harness: Harness) -> None:
        second = await harness.second()
        waiter = asyncio.create_task(second.wait([QUEUE], LONG))
        await asyncio.sleep(30.0)
        await harness.put()
        assert await _took(harness, waiter) <= WAKING_SECONDS

    async def test_a_send_to_one_of_several_queues_wakes(self, harness: Harness) -> None:
        waiter = asyncio.create_task(harness.broker.wait(["a-tasks", "b-tasks"], LONG))
        await asyncio.sleep(30.0)
        await harness.put(queue="b-tasks")
        assert await _took(harness, waiter) <= WAKING_SECONDS

    async def test_a_message_that_falls_due_wakes(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=50.0)
        took = await _took(harness, harness.broker.wait([QUEUE], LONG))
        assert 50.0 <= took <= 50.0 + WAKING_SECONDS
        assert (await harness.lease_one(harness.stranger())).id == message.id

    async def test_a_delayed_send_while_somebody_waits_wakes_when_it_is_due(self, harness: Harness) -> None:
        took = await _woken_by(harness, lambda: harness.put(delay_seconds=50.0))
        assert took <= 50.0 + WAKING_SECONDS

    async def test_a_message_given_back_wakes(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        assert await _woken_by(harness, lambda: harness.broker.give_back([GiveBack(lease)])) <= WAKING_SECONDS

    async def test_a_message_that_failed_wakes_when_it_is_due(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        took = await _woken_by(harness, lambda: harness.broker.nack([Nack(lease, 5.0, BROKEN)]))
        assert took <= 5.0 + WAKING_SECONDS

    async def test_a_retirement_wakes(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.leased(owner, seconds=3600.0)
        assert await _woken_by(harness, lambda: harness.broker.retire(owner.id, crashed=True)) <= WAKING_SECONDS

    async def test_a_sweep_that_returned_something_wakes(self, harness: Harness) -> None:
        await harness.leased(harness.stranger())
        waiter = asyncio.create_task(harness.broker.wait([QUEUE], LONG))
        assert (await harness.lapse()).moved == 1
        assert await _took(harness, waiter) <= WAKING_SECONDS

    async def test_every_waiter_wakes(self, harness: Harness) -> None:
        waiters = [asyncio.create_task(harness.broker.wait([QUEUE], LONG)) for _ in range(3)]
        await asyncio.sleep(30.0)
        await harness.put_many(3)
        assert await _took(harness, asyncio.gather(*waiters)) <= WAKING_SECONDS

    async def test_waiting_can_be_cancelled(self, harness: Harness) -> None:
        waiter = asyncio.create_task(harness.broker.wait([QUEUE], LONG))
        await asyncio.sleep(1.0)
        waiter.cancel()
        (ended,) = await asyncio.gather(waiter, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError)
        message = await harness.put()
        assert (await harness.lease_one(harness.stranger())).id == message.id


async def _took(harness: Harness, act: Awaitable[object]) -> float:
    """Measure how long a call takes, in virtual seconds."""
    before = harness.clock.monotonic()
    await act
    return harness.clock.monotonic() - before


async def _woken_by(harness: Harness, act: Callable[[], Awaitable[object]]) -> float:
    """Measure how soon `act` wakes a waiter that had waited for half a minute."""
    waiter = asyncio.create_task(harness.broker.wait([QUEUE], LONG))
    await asyncio.sleep(29.0)
    assert not waiter.done(), "it woke although there was nothing to lease"
    await act()
    return await _took(harness, waiter)
