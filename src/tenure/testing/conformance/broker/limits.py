"""Limits: of a limited queue no more runs, and no more starts in a second, than its limit says; others do not wait."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from tenure.lease import Lease
from tenure.limit import Limit, limit_from
from tenure.settlement import DeadLetter, GiveBack, Nack
from tenure.testing.harness import BROKEN, QUEUE, Harness

TWO = {QUEUE: limit_from(running=2)}
#: One token every ten seconds, and a bucket of one.
SLOW = {QUEUE: limit_from(rate="6/m")}
#: Five at once, then one every 200 ms.
FIVE = {QUEUE: limit_from(rate="5/s")}
#: A waiter wakes at most so late.
WAKING_SECONDS = 1.0
LONG = 600.0


class Limits:
    """The promises of `LeaseRequest.limits`, and of `wait` with limits."""

    # -- so many at once ---------------------------------------------------------------------------

    async def test_no_more_run_than_the_limit_says(self, harness: Harness) -> None:
        await harness.put_many(5)
        assert len(await harness.lease_all(await harness.owner(), limits=TWO)) == 2

    async def test_the_limit_counts_over_several_calls(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(5)
        counts = [len(await harness.lease(owner, 1, limits=TWO)) for _ in range(4)]
        assert counts == [1, 1, 0, 0]

    async def test_the_limit_counts_over_all_owners(self, harness: Harness) -> None:
        await harness.put_many(5)
        await harness.lease_one(await harness.owner(), limits=TWO)
        await harness.lease_one(harness.stranger(), limits=TWO)
        assert await harness.lease(await harness.owner(), limits=TWO) == []

    async def test_the_limit_counts_over_all_processes(self, harness: Harness) -> None:
        harness.need("limits_are_shared_out", lambda shared: not shared)
        elsewhere = await harness.elsewhere()
        await harness.put_many(5)
        assert len(await harness.lease_all(await harness.owner(), limits=TWO)) == 2
        request = harness.request(await harness.owner(), 2, limits=TWO)
        assert await elsewhere.lease(request) == []

    async def test_leases_from_before_the_limit_are_counted(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(4)
        assert len(await harness.lease(owner, 2)) == 2
        assert await harness.lease(owner, 2, limits=TWO) == []

    async def test_lowering_a_limit_revokes_nothing(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(4)
        leases = await harness.lease_all(owner, limits={QUEUE: limit_from(running=3)})
        assert len(leases) == 3
        assert await harness.lease(owner, limits={QUEUE: limit_from(running=1)}) == []
        touched = await harness.broker.touch(leases)
        assert [lease.state.value for lease in touched] == ["held"] * 3
        await harness.complete(touched[0])
        assert await harness.lease(owner, limits={QUEUE: limit_from(running=1)}) == []

    async def test_raising_a_limit_counts_at_once(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(4)
        assert len(await harness.lease_all(owner, limits=TWO)) == 2
        assert len(await harness.lease_all(owner, limits={QUEUE: limit_from(running=3)})) == 1
        assert len(await harness.lease_all(owner)) == 1

    async def test_each_end_of_a_lease_makes_room(self, harness: Harness) -> None:
        owner = await harness.owner()
        for end in ("complete", "nack", "give-back", "dead-letter"):
            queue = f"{end}-tasks"
            asked: dict[str, Any] = {"queues": (queue,), "limits": {queue: limit_from(running=1)}}
            await harness.put_many(2, queue=queue)
            lease = await harness.lease_one(owner, **asked)
            assert await harness.lease(owner, **asked) == []
            await _end(harness, end, lease)
            assert len(await harness.lease(owner, **asked)) == 1, f"{end} made no room"

    async def test_a_lapse_makes_room(self, harness: Harness) -> None:
        await harness.put_many(2)
        one = {QUEUE: limit_from(running=1)}
        await harness.lease_one(harness.stranger(), limits=one)
        assert (await harness.lapse()).moved == 1
        assert len(await harness.lease(await harness.owner(), limits=one)) == 1

    async def test_a_cancel_makes_room(self, harness: Harness) -> None:
        owner, one = await harness.owner(), {QUEUE: limit_from(running=1)}
        await harness.put_many(2)
        lease = await harness.lease_one(owner, limits=one)
        await harness.broker.cancel([lease.id])
        await harness.broker.touch([lease])
        assert len(await harness.lease(owner, limits=one)) == 1

    # -- so many a second --------------------------------------------------------------------------

    async def test_a_rate_lends_its_burst_and_then_one_token_after_the_other(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(30)
        began = harness.clock.monotonic()
        count = len(await harness.lease_all(owner, limits=FIVE))
        assert 5 <= count <= 5 + 5 * (harness.clock.monotonic() - began)
        for _ in range(3):
            await asyncio.sleep(0.5)
            before = harness.clock.monotonic()
            count += len(await harness.lease_all(owner, limits=FIVE))
            assert 5 + 5 * (before - began) - 1 <= count <= 5 + 5 * (harness.clock.monotonic() - began)

    async def test_a_rate_below_one_a_second_lends_one_at_a_time(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(5)
        assert len(await harness.lease_all(owner, limits=SLOW)) == 1
        await asyncio.sleep(8.0)
        assert await harness.lease(owner, limits=SLOW) == []
        await asyncio.sleep(3.0)
        assert len(await harness.lease_all(owner, limits=SLOW)) == 1

    async def test_tokens_do_not_pile_up(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(8)
        assert len(await harness.lease_all(owner, limits=SLOW)) == 1
        await asyncio.sleep(LONG)
        assert len(await harness.lease_all(owner, limits=SLOW)) == 1

    async def test_a_rate_counts_over_all_processes(self, harness: Harness) -> None:
        harness.need("limits_are_shared_out", lambda shared: not shared)
        elsewhere = await harness.elsewhere()
        await harness.put_many(3)
        assert len(await harness.lease_all(await harness.owner(), limits=SLOW)) == 1
        assert await elsewhere.lease(harness.request(harness.stranger(), limits=SLOW)) == []

    async def test_a_retry_takes_a_token(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put()
        lease = await harness.lease_one(owner, limits=SLOW)
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        assert await harness.lease(owner, limits=SLOW) == []
        await asyncio.sleep(11.0)
        assert (await harness.lease_one(owner, limits=SLOW)).id == lease.id

    async def test_a_give_back_returns_its_token(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put()
        lease = await harness.lease_one(owner, limits=SLOW)
        await harness.broker.give_back([GiveBack(lease)])
        assert (await harness.lease_one(owner, limits=SLOW)).id == lease.id
        await harness.put()
        assert await harness.lease(owner, limits=SLOW) == []

    async def test_a_stale_give_back_returns_no_token(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(3)
        lease = await harness.lease_one(owner, limits=SLOW)
        await harness.complete(lease)
        await harness.broker.give_back([GiveBack(lease)])
        assert await harness.lease(owner, limits=SLOW) == []

    async def test_what_is_not_leased_takes_no_token(self, harness: Harness) -> None:
        owner = await harness.owner()
        assert await harness.lease(owner, 5, limits=SLOW) == []
        await harness.put()
        assert len(await harness.lease(owner, 5, limits=SLOW)) == 1

    async def test_both_limits_are_kept(self, harness: Harness) -> None:
        owner = await harness.owner()
        both = {QUEUE: Limit(running=3, per_second=0.1)}
        await harness.put_many(5)
        assert len(await harness.lease_all(owner, limits=both)) == 1
        await asyncio.sleep(11.0)
        assert len(await harness.lease_all(owner, limits=both)) == 1

    # -- other queues ------------------------------------------------------------------------------

    async def test_a_queue_behind_its_limit_holds_up_no_other(self, harness: Harness) -> None:
        owner, queues = await harness.owner(), (QUEUE, "plain-tasks")
        await harness.put_many(5)
        await harness.put_many(5, queue="plain-tasks")
        leases = await harness.lease_all(owner, queues=queues, limits=TWO)
        assert sorted(lease.queue for lease in leases) == [QUEUE] * 2 + ["plain-tasks"] * 5

    async def test_a_pattern_serves_limited_queues_and_others(self, harness: Harness) -> None:
        owner = await harness.owner()
        limits = {"a-tasks": limit_from(running=1), "b-tasks": limit_from(running=2)}
        for queue in ("a-tasks", "b-tasks", "c-tasks"):
            await harness.put_many(3, queue=queue)
        leases = await harness.lease_all(owner, queues=("*-tasks",), limits=limits)
        counts = {queue: sum(lease.queue == queue for lease in leases) for queue in ("a-tasks", "b-tasks", "c-tasks")}
        assert counts == {"a-tasks": 1, "b-tasks": 2, "c-tasks": 3}

    async def test_an_excluded_queue_stays_excluded(self, harness: Harness) -> None:
        await harness.put()
        asked = harness.lease(await harness.owner(), queues=("m*",), excluded=(QUEUE,), limits=TWO)
        assert await asked == []

    async def test_a_limit_of_a_queue_that_is_not_served_lends_nothing_from_it(self, harness: Harness) -> None:
        await harness.put()
        assert await harness.lease(await harness.owner(), queues=("plain-tasks",), limits=TWO) == []

    async def test_a_busy_queue_does_not_starve_a_limited_one(self, harness: Harness) -> None:
        owner, queues = await harness.owner(), ("plain-tasks", QUEUE)
        await harness.put_many(30, queue="plain-tasks")
        await harness.put_many(2)
        leases = [lease for _ in range(8) for lease in await harness.lease(owner, queues=queues, limits=TWO)]
        assert {lease.queue for lease in leases} == {"plain-tasks", QUEUE}

    async def test_a_limited_queue_does_not_starve_another(self, harness: Harness) -> None:
        owner, queues = await harness.owner(), (QUEUE, "plain-tasks")
        await harness.put_many(30)
        await harness.put_many(2, queue="plain-tasks")
        limits = {QUEUE: limit_from(running=100)}
        leases = [lease for _ in range(8) for lease in await harness.lease(owner, queues=queues, limits=limits)]
        assert {lease.queue for lease in leases} == {"plain-tasks", QUEUE}

    # -- waiting -----------------------------------------------------------------------------------

    async def test_a_queue_behind_its_running_limit_wakes_nobody(self, harness: Harness) -> None:
        await harness.put_many(4)
        assert len(await harness.lease_all(await harness.owner(), limits=TWO)) == 2
        assert await _took(harness, harness.broker.wait([QUEUE], 20.0, (), TWO)) >= 20.0

    async def test_a_wait_ends_when_the_next_token_is_there(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(2)
        await harness.lease_one(owner, limits=SLOW)
        took = await _took(harness, harness.broker.wait([QUEUE], LONG, (), SLOW))
        assert 9.0 <= took <= 10.0 + WAKING_SECONDS
        await asyncio.sleep(max(0.0, 10.1 - took))
        assert len(await harness.lease(owner, limits=SLOW)) == 1

    async def test_what_a_wait_ends_for_can_be_leased(self, harness: Harness) -> None:
        owner, limits = await harness.owner(), {QUEUE: limit_from(rate="100/s")}
        await harness.put_many(150)
        taken = len(await harness.lease_all(owner, limits=limits))
        assert taken > 90, "a burst of one second's worth, but for the last few, which are leased together"
        for want in (harness.traits.batch_limit, 1, 3):
            await harness.broker.wait([QUEUE], LONG, (), limits)
            await asyncio.sleep(0.001)  # a timer may go off a hair too early
            assert await harness.lease(owner, want, limits=limits), "it woke although nothing could be leased"
            # Until less than one call leases is left.
            while await harness.lease(owner, harness.traits.batch_limit, limits=limits):
                pass

    async def test_a_wait_for_an_open_limit_takes_no_time(self, harness: Harness) -> None:
        await harness.put()
        assert await _took(harness, harness.broker.wait([QUEUE], LONG, (), TWO)) <= WAKING_SECONDS

    async def test_a_queue_behind_its_limit_hides_no_other(self, harness: Harness) -> None:
        await harness.put_many(3)
        assert len(await harness.lease_all(await harness.owner(), limits=TWO)) == 2
        waiter = asyncio.create_task(harness.broker.wait([QUEUE, "plain-tasks"], LONG, (), TWO))
        await asyncio.sleep(30.0)
        assert not waiter.done(), "it woke although nothing could be leased"
        await harness.put(queue="plain-tasks")
        assert await _took(harness, waiter) <= WAKING_SECONDS

    async def test_a_pattern_waits_for_limits_too(self, harness: Harness) -> None:
        await harness.put_many(3)
        assert len(await harness.lease_all(await harness.owner(), limits=TWO)) == 2
        assert await _took(harness, harness.broker.wait(["m*"], 20.0, (), TWO)) >= 20.0

    async def test_the_end_of_a_lease_wakes_those_who_wait(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(4)
        leases = await harness.lease_all(owner, limits=TWO)
        for end, lease in zip(("complete", "dead-letter"), leases, strict=True):
            waiter = asyncio.create_task(harness.broker.wait([QUEUE], LONG, (), TWO))
            await asyncio.sleep(30.0)
            assert not waiter.done(), "it woke although nothing could be leased"
            (held,) = await harness.broker.touch([lease])
            await _end(harness, end, held)
            assert await _took(harness, waiter) <= WAKING_SECONDS
            assert len(await harness.lease(owner, limits=TWO)) == 1

    async def test_the_end_of_a_lease_elsewhere_wakes_those_who_wait(self, harness: Harness) -> None:
        harness.need("limits_are_shared_out", lambda shared: not shared)
        elsewhere = await harness.elsewhere()
        await harness.put_many(3)
        leases = await harness.lease_all(await harness.owner(), limits=TWO)
        waiter = asyncio.create_task(elsewhere.wait([QUEUE], LONG, (), TWO))
        await asyncio.sleep(5.0)
        assert not waiter.done(), "it woke although nothing could be leased"
        await harness.complete(leases[0])
        assert await _took(harness, waiter) <= WAKING_SECONDS


async def _end(harness: Harness, how: str, lease: Lease) -> None:
    """End a lease, in each of the four ways."""
    match how:
        case "complete":
            await harness.complete(lease)
        case "nack":
            await harness.broker.nack([Nack(lease, 60.0, BROKEN)])
        case "give-back":
            await harness.broker.give_back([GiveBack(lease, 60.0)])
        case _:
            await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])


async def _took(harness: Harness, act: Awaitable[object]) -> float:
    """Measure how long a call takes, in virtual seconds."""
    before = harness.clock.monotonic()
    await act
    return harness.clock.monotonic() - before
