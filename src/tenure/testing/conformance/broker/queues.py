"""Queues: which there are, and how an unused one is forgotten."""

import asyncio

from tenure.broker import Sent
from tenure.message import MessageState
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack
from tenure.testing.harness import BROKEN, QUEUE, Harness

HOUR = 3600.0
#: A waiter wakes at most so late.
WAKING_SECONDS = 1.0


class Queues:
    """The promises of `queues` and `forget_queue`, and that moves name their queue."""

    async def test_queues_are_listed_by_name(self, harness: Harness) -> None:
        for queue in ("b-tasks", "a-tasks", "c-mail"):
            await harness.put(queue=queue)
        assert await harness.broker.queues() == ["a-tasks", "b-tasks", "c-mail"]

    async def test_a_queue_is_listed_whatever_is_in_it(self, harness: Harness) -> None:
        await _fill(harness)
        assert await harness.broker.queues() == ["dead", "delayed", "leased", "ready"]

    async def test_a_queue_that_is_empty_for_a_moment_is_listed(self, harness: Harness) -> None:
        await harness.complete(await harness.leased(harness.stranger()))
        assert await harness.broker.queues() == [QUEUE]
        await harness.advance(600.0, sweeping=False)
        await harness.sweep()
        assert await harness.broker.queues() == [QUEUE]

    async def test_leasing_and_looking_make_no_queue(self, harness: Harness) -> None:
        await harness.put()
        await harness.lease(harness.stranger(), queues=(QUEUE, "nowhere"))
        await harness.broker.wait(["nowhere"], 1.0)
        await harness.broker.depth(["nowhere"])
        await harness.broker.leases(["nowhere"])
        assert await harness.broker.queues() == [QUEUE]

    async def test_a_queue_with_something_in_it_stays(self, harness: Harness) -> None:
        ids = await _fill(harness)
        for queue, id in ids.items():
            assert await harness.broker.forget_queue(queue) is False, queue
            assert await harness.state_of(id) == queue
        assert await harness.broker.queues() == sorted(ids)

    async def test_what_stays_is_served_on(self, harness: Harness) -> None:
        ids = await _fill(harness)
        for queue in ids:
            await harness.broker.forget_queue(queue)
        assert (await harness.lease_one(harness.stranger(), queues=("*",))).id == ids["ready"]
        assert await harness.broker.redrive([ids["dead"]]) == [ids["dead"]]
        await harness.advance(61.0)
        found = {lease.id for lease in await harness.lease_all(harness.stranger(), queues=("*",))}
        assert {ids["dead"], ids["delayed"]} <= found

    async def test_an_empty_queue_is_forgotten(self, harness: Harness) -> None:
        await harness.put(queue="other")
        await harness.complete(await harness.leased(harness.stranger()))
        assert await harness.broker.forget_queue(QUEUE) is True
        assert await harness.broker.queues() == ["other"]
        assert QUEUE not in [depth.queue for depth in await harness.broker.depth()]
        assert [lease.queue for lease in await harness.lease_all(harness.stranger(), queues=("*",))] == ["other"]

    async def test_a_queue_whose_messages_were_cancelled_is_forgotten(self, harness: Harness) -> None:
        harness.need("depth_is_exact")  # elsewhere their copies are counted until a worker receives them
        ready, delayed = await harness.put(), await harness.put(delay_seconds=60.0)
        await harness.broker.cancel([ready.id, delayed.id])
        assert await harness.broker.forget_queue(QUEUE) is True
        assert await harness.broker.queues() == []

    async def test_a_queue_whose_dead_letters_are_gone_is_forgotten(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        assert await harness.broker.forget_queue(QUEUE) is False
        await harness.broker.delete([lease.id])
        assert await harness.broker.forget_queue(QUEUE) is True

    async def test_what_waits_for_a_retry_keeps_its_queue(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, 60.0, BROKEN)])
        assert await harness.broker.forget_queue(QUEUE) is False
        await harness.advance(61.0)
        lease = await harness.lease_one(harness.stranger())
        await harness.broker.give_back([GiveBack(lease)])
        assert await harness.broker.forget_queue(QUEUE) is False

    async def test_what_was_completed_is_still_recognised(self, harness: Harness) -> None:
        message = await harness.put(key="k")
        lease = await harness.lease_one(harness.stranger())
        await harness.complete(lease, b'"done"')
        assert await harness.broker.forget_queue(QUEUE) is True
        (answer,) = await harness.send(message)
        assert answer == Sent(message.id, duplicate=True)
        record = await harness.record(message.id)
        assert (record.state, record.queue, record.result) == (MessageState.COMPLETED, QUEUE, b'"done"')
        assert await harness.lease_all(harness.stranger()) == []
        if harness.traits.keys_at_send:
            (answer,) = await harness.send(harness.message(key="k"))
            assert answer == Sent(message.id, duplicate=True)

    async def test_a_message_makes_it_anew(self, harness: Harness) -> None:
        await harness.complete(await harness.leased(harness.stranger()))
        for number in range(3):
            assert await harness.broker.forget_queue(QUEUE) is True
            message = await harness.put(delay_seconds=0.0 if number else 5.0)
            assert await harness.broker.queues() == [QUEUE]
            await harness.advance(6.0)
            lease = await harness.lease_one(harness.stranger(), queues=("*",))
            assert lease.id == message.id
            await harness.complete(lease)

    async def test_fences_rise_over_it(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.complete(lease)
        await harness.broker.forget_queue(QUEUE)
        again = await harness.leased(harness.stranger())
        assert again.fence > 0
        assert await harness.broker.ack([Ack(lease)]) != await harness.broker.ack([Ack(again)])

    async def test_a_worker_that_waits_is_woken_after_it(self, harness: Harness) -> None:
        for queues in ((QUEUE,), ("*",)):
            await harness.complete(await harness.leased(harness.stranger()))
            waiter = asyncio.create_task(harness.broker.wait(queues, 600.0))
            await asyncio.sleep(10.0)
            await harness.broker.forget_queue(QUEUE)
            await asyncio.sleep(10.0)
            await harness.put()
            assert await harness.took(waiter) <= WAKING_SECONDS, queues
            await harness.complete(await harness.lease_one(harness.stranger(), queues=queues))

    async def test_a_send_at_the_same_moment_is_not_lost(self, harness: Harness) -> None:
        second = await harness.second()
        for number in range(12):
            queue = f"q{number % 3}-tasks"
            await harness.complete(await harness.leased(harness.stranger(), queue=queue))
            message = harness.message(queue=queue)
            acts = [harness.send(message), second.forget_queue(queue), second.forget_queue(queue)]
            await asyncio.gather(*(acts if number % 2 else reversed(acts)))
            assert queue in await harness.broker.queues()
            (lease,) = await harness.lease_all(harness.stranger(), queues=("*",))
            assert lease.id == message.id
            await harness.complete(lease)

    async def test_forgetting_what_is_not_there_does_no_harm(self, harness: Harness) -> None:
        await harness.put()
        await harness.broker.forget_queue("nowhere")
        assert await harness.broker.queues() == [QUEUE]

    async def test_a_sweep_forgets_what_was_empty_for_an_hour(self, harness: Harness) -> None:
        ids = await _fill(harness, seconds=10 * HOUR)
        await harness.complete(await harness.leased(harness.stranger(), queue="empty"))
        # A store may find out by a sweep that a queue is empty, and by a later one that it still is.
        for _ in range(3):
            await harness.advance(HOUR + 60.0, sweeping=False)
            for _ in range(3):
                await harness.advance(1.0)
        assert await harness.broker.queues() == sorted(ids)
        message = await harness.put(queue="empty")
        assert "empty" in await harness.broker.queues()
        assert message.id in {lease.id for lease in await harness.lease_all(harness.stranger(), queues=("*",))}

    async def test_a_queue_that_was_used_within_the_hour_stays(self, harness: Harness) -> None:
        for _ in range(6):
            await harness.complete(await harness.leased(harness.stranger()))
            await harness.advance(HOUR / 2, sweeping=False)
            await harness.sweep()
            assert await harness.broker.queues() == [QUEUE]

    async def test_a_sweep_names_the_queue_of_what_it_moved(self, harness: Harness) -> None:
        returned = await harness.leased(harness.stranger(), queue="a-tasks")
        dead = await harness.leased(harness.stranger(), queue="b-tasks")
        await harness.put(queue="c-tasks")
        swept = await harness.lapse()
        assert swept.queues == {returned.id: "a-tasks", dead.id: "b-tasks"}
        for _ in range(harness.max_attempts - 1):
            await harness.lease_one(harness.stranger(), queues=("b-tasks",))
            swept = await harness.lapse()
        assert (swept.dead, swept.queues) == ((dead.id,), {dead.id: "b-tasks"})

    async def test_a_retirement_names_the_queue_of_what_it_moved(self, harness: Harness) -> None:
        owner = await harness.owner()
        leases = [await harness.leased(owner, queue=queue) for queue in ("a-tasks", "b-tasks", "a-tasks")]
        swept = [await harness.broker.retire(owner.id, crashed=True, limit=2)]
        swept.append(await harness.broker.retire(owner.id, crashed=True))
        for one in swept:
            assert set(one.queues) == set(one.returned)
        assert {**swept[0].queues, **swept[1].queues} == {lease.id: lease.queue for lease in leases}


async def _fill(harness: Harness, seconds: float = 90.0) -> dict[str, str]:
    """One message in each of four queues, each named by the state of its message."""
    dead = await harness.leased(harness.stranger(), queue="dead")
    await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
    leased = await harness.leased(harness.stranger(), queue="leased", seconds=seconds)
    delayed = await harness.put(queue="delayed", delay_seconds=seconds if seconds > HOUR else 60.0)
    ready = await harness.put(queue="ready")
    return {"dead": dead.id, "leased": leased.id, "delayed": delayed.id, "ready": ready.id}
