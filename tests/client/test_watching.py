"""Watching: changes are told to all who wait, by one reading of the store."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import pytest

from tenure import Context, MessageNotFound, MessageState, Reject, Tenure
from tenure.client.watching import Watching
from tenure.errors import BrokerUnavailable
from tenure.record import Progress, Record
from tenure.settlement import Ack
from tenure.tasks.update import Update
from tenure.testing.harness import Harness
from tenure.testing.virtual import VirtualClock
from tenure.testing.wire import Wire

from .conftest import MemoryHarness


def seen(updates: Sequence[Update[Any]]) -> list[tuple[MessageState, float | None, object]]:
    return [(one.state, None if one.progress is None else one.progress.fraction, one.result) for one in updates]


async def test_updates_tell_state_progress_and_result_and_end(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.task
    async def work(ctx: Context) -> dict[str, int]:
        await asyncio.sleep(2)
        ctx.progress(0.5, "half way")
        await asyncio.sleep(3)
        return {"rows": 7}

    async with app:
        handle = await work.bind().submit(delay=5)
        met: list[Update[dict[str, int]]] = []

        async def follow() -> None:
            met.extend([update async for update in handle.updates()])

        following = asyncio.create_task(follow())
        async with app.worker():
            await following
    assert seen(met)[0] == (MessageState.DELAYED, None, None)
    leased, completed = MessageState.LEASED, MessageState.COMPLETED
    assert seen(met)[-3:] == [(leased, None, None), (leased, 0.5, None), (completed, None, {"rows": 7})]
    assert [one.is_last for one in met] == [False] * (len(met) - 1) + [True]
    assert met[0].next_try_in is not None


async def test_a_failure_and_the_next_try_are_told(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.task(max_attempts=2, retry_delay=10.0)
    async def work() -> None:
        raise OSError("the disk is full")

    async with app, app.worker():
        handle = await work.submit()
        met = [one async for one in handle.updates()]
    waiting = next(one for one in met if one.state is MessageState.DELAYED)
    assert waiting.error is not None
    assert "the disk is full" in waiting.error
    assert waiting.attempt == 1
    assert waiting.next_try_in is not None
    assert (met[-1].state, met[-1].attempt, met[-1].result) == (MessageState.DEAD, 2, None)


async def test_one_that_has_ended_is_told_once(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.task
    async def work() -> None:
        raise Reject("no")

    async with app, app.worker():
        handle = await work.submit()
        assert [one async for one in handle.updates()][-1].state is MessageState.DEAD
        assert [one.state async for one in handle.updates()] == [MessageState.DEAD]


async def test_an_unknown_message_is_said_to_be_unknown(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    async with app:
        with pytest.raises(MessageNotFound):
            _ = [one async for one in app.handle("f" * 32).updates()]


@pytest.mark.real_time
async def test_code_that_is_not_async_waits_too() -> None:
    app = Tenure("memory://sync-updates")

    @app.task
    async def work(n: int) -> int:
        return n + 1

    def in_a_thread() -> list[Update[int]]:
        return list(work.submit_sync(1).updates())

    async with app, app.worker():
        met = await asyncio.to_thread(in_a_thread)
    await asyncio.to_thread(app.close_sync)
    assert (met[-1].state, met[-1].result) == (MessageState.COMPLETED, 2)


async def test_a_namespace_hides_messages_of_others(virtual_clock: VirtualClock) -> None:
    one = Tenure("memory://shared", namespace="one", clock=virtual_clock)
    other = Tenure("memory://shared", namespace="two", clock=virtual_clock)

    @one.task
    async def work() -> int:
        return 1

    async with one, other, one.worker():
        handle = await work.bind().submit(id="m1")
        assert [update async for update in one.handle("m1").updates()][-1].result == 1
        with pytest.raises(MessageNotFound):
            _ = [update async for update in other.handle(handle.id).updates()]


# --- what it costs ----------------------------------------------------------------------------------------


class _Crowd:
    """Waiters on one store, and what they say to it."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.wire = Wire(harness.broker, harness.state)
        self.watching = Watching(self.wire.broker, self.wire.state, harness.clock)
        self.told: list[Record | None] = []

    async def wait_for(self, id: str) -> None:
        async with contextlib.aclosing(self.watching.follow((id,), None)) as records:
            async for record in records:
                self.told.append(record)


#: In 65 s of a message, with a look each half second: one reading, and whether the journal has something new.
CALLS = range(3 * 120, 3 * 135)


@pytest.mark.parametrize(("waiters", "messages"), [(1, 1), (1_000, 1), (1_000, 1_000)])
async def test_a_thousand_waiters_cost_what_one_does(harness: Harness, waiters: int, messages: int) -> None:
    await harness.put_many(messages)
    leases = await harness.lease(harness.stranger(), messages)
    crowd = _Crowd(harness)
    tasks = [asyncio.create_task(crowd.wait_for(leases[number % messages].id)) for number in range(waiters)]
    for step in range(6):
        await harness.broker.touch(leases)
        await harness.state.records.progress([(lease, Progress(step / 6)) for lease in leases])
        await asyncio.sleep(10)
    await harness.broker.ack([Ack(lease, b"1") for lease in leases])
    await asyncio.gather(*tasks)
    said = len(crowd.wire.said)
    assert len(crowd.told) == 7 * waiters
    assert said in CALLS
    await asyncio.sleep(60)
    assert len(crowd.wire.said) == said, "the store is read without waiters"


@pytest.fixture
def cloud() -> Harness:
    """Each look is paid for."""
    return MemoryHarness(snapshot_seconds=15.0)


@pytest.mark.parametrize(("messages", "looks"), [(1, 11), (100, 3), (1_000, 2)])
async def test_in_the_cloud_it_looks_the_more_seldom_the_more_is_watched(
    cloud: Harness, messages: int, looks: int
) -> None:
    await cloud.put_many(messages)
    crowd = _Crowd(cloud)
    leases = await cloud.lease(cloud.stranger(), messages)
    tasks = [asyncio.create_task(crowd.wait_for(lease.id)) for lease in leases]
    await asyncio.sleep(20.5)
    assert crowd.wire.said == ["records.get_many"] * looks
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# --- outages ----------------------------------------------------------------------------------------------


async def test_who_waits_goes_on_waiting_while_the_store_is_away(harness: Harness) -> None:
    lease = await harness.leased(harness.stranger())
    crowd = _Crowd(harness)
    waiting = asyncio.create_task(crowd.wait_for(lease.id))
    await asyncio.sleep(1)
    crowd.wire.away()
    await asyncio.sleep(20)
    with pytest.raises(BrokerUnavailable):
        await crowd.wait_for("another")
    await harness.broker.ack([Ack(lease, b"1")])
    crowd.wire.back()
    await waiting
    assert [one and one.state for one in crowd.told] == [MessageState.LEASED, MessageState.COMPLETED]


async def test_closing_the_app_ends_every_wait(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.task
    async def work() -> None: ...

    await app.open()
    handle = await work.submit()
    updates = handle.updates()
    assert (await anext(updates)).state is MessageState.READY
    await app.close()
    with pytest.raises(BrokerUnavailable, match="closed"):
        await anext(updates)
