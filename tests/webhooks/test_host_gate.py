"""The gate: one slow receiver does not take every slot."""

import asyncio

import pytest

from tenure.runtime.deliveries import SLOTS
from tenure.testing.virtual import VirtualClock
from tenure.webhooks.host_gate import MOST_WAIT_SECONDS, PER_HOST, Crowded, HostGate


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


async def call(gate: HostGate, host: str, seconds: float) -> float:
    async with gate.enter(host):
        await asyncio.sleep(seconds)
    return seconds


async def test_at_most_so_many_run_at_once(clock: VirtualClock) -> None:
    gate, running, most = HostGate(clock, limit=3), 0, 0

    async def one() -> None:
        nonlocal running, most
        async with gate.enter("a"):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            running -= 1

    await asyncio.gather(*(one() for _ in range(12)))
    assert most == 3


async def test_of_a_fast_host_the_next_waits_in_its_slot(clock: VirtualClock) -> None:
    gate = HostGate(clock, limit=2)
    await asyncio.gather(*(call(gate, "a", 0.01) for _ in range(10)))
    assert clock.now - 1000.0 == pytest.approx(0.05)


async def test_a_host_that_does_not_answer_holds_a_quarter_of_the_slots(clock: VirtualClock) -> None:
    gate = HostGate(clock)
    calls = [asyncio.ensure_future(call(gate, "a", 15.0)) for _ in range(100)]
    await asyncio.sleep(MOST_WAIT_SECONDS + 0.01)
    assert sum(not one.done() for one in calls) == PER_HOST
    began = clock.now
    with pytest.raises(Crowded):  # no request has ended: how long they take is not known, only that they stand still
        await call(gate, "a", 15.0)
    assert clock.now == began
    assert 4 * PER_HOST <= SLOTS
    await asyncio.gather(*calls, return_exceptions=True)


async def test_of_a_slow_host_the_next_goes_back(clock: VirtualClock) -> None:
    gate = HostGate(clock, limit=2)
    calls = [asyncio.ensure_future(call(gate, "a", 10.0)) for _ in range(2)]
    await asyncio.sleep(0)
    began = clock.now
    with pytest.raises(Crowded):  # nothing is known of it yet: it is waited for, a moment
        await call(gate, "a", 10.0)
    assert clock.now - began == pytest.approx(MOST_WAIT_SECONDS)
    await asyncio.gather(*calls)
    calls = [asyncio.ensure_future(call(gate, "a", 10.0)) for _ in range(2)]
    await asyncio.sleep(0)
    began = clock.now
    with pytest.raises(Crowded) as caught:  # now it is known, and nobody waits
        await call(gate, "a", 10.0)
    assert clock.now == began
    assert caught.value.after == pytest.approx(5.0)
    await asyncio.gather(*calls)


async def test_another_host_is_not_concerned(clock: VirtualClock) -> None:
    gate = HostGate(clock, limit=1)
    slow = asyncio.ensure_future(call(gate, "a", 100.0))
    await asyncio.sleep(0)
    began = clock.now
    await call(gate, "b", 0.1)
    assert clock.now - began == pytest.approx(0.1)
    await slow


async def test_a_place_comes_back_whatever_happens(clock: VirtualClock) -> None:
    gate = HostGate(clock, limit=1)
    with pytest.raises(ZeroDivisionError):
        async with gate.enter("a"):
            raise ZeroDivisionError
    holder = asyncio.ensure_future(call(gate, "a", 0.15))
    await asyncio.sleep(0)
    waiting = asyncio.ensure_future(call(gate, "a", 0.0))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.gather(holder, waiting, return_exceptions=True)
    began = clock.now
    await call(gate, "a", 0.0)
    assert clock.now == began


async def test_a_waiter_that_is_cancelled_as_it_gets_its_place_hands_it_on(clock: VirtualClock) -> None:
    gate = HostGate(clock, limit=1)
    holder = asyncio.ensure_future(call(gate, "a", 0.05))
    await asyncio.sleep(0)
    waiting = asyncio.ensure_future(call(gate, "a", 9.0))
    await asyncio.sleep(0)
    await holder
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    began = clock.now
    await call(gate, "a", 0.0)
    assert clock.now == began
