"""Browsing: a read is correct and changes nothing."""

from tenure.broker import Depth
from tenure.message import Counters, MessageState
from tenure.settlement import Ack, DeadLetter, Nack
from tenure.testing.harness import BROKEN, QUEUE, Harness

OPEN = (MessageState.READY, MessageState.DELAYED, MessageState.LEASED, MessageState.DEAD)


class Browsing:
    """The promises of `browse` and `depth`."""

    async def test_messages_are_shown_in_the_order_in_which_they_came(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.READY)
        messages = await harness.put_many(5)
        browsed = await harness.browse(QUEUE, MessageState.READY)
        assert [one.id for one in browsed] == [message.id for message in messages]

    async def test_pages_follow_one_another_without_gap_or_repeat(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.READY)
        messages = await harness.put_many(7)
        assert await _pages(harness, QUEUE, MessageState.READY) == [message.id for message in messages]

    async def test_each_state_is_shown_apart(self, harness: Harness) -> None:
        harness.need_shown(*OPEN)
        ids = await _one_in_each_state(harness)
        for state, id in ids.items():
            browsed = await harness.browse(QUEUE, state)
            assert [(one.id, one.state) for one in browsed] == [(id, state)]

    async def test_queues_are_shown_apart(self, harness: Harness) -> None:
        harness.need_shown(MessageState.READY)
        await harness.put(queue="other")
        assert await harness.browse(QUEUE, MessageState.READY) == []

    async def test_a_held_message_shows_its_holder_and_deadline(self, harness: Harness) -> None:
        harness.need_shown(MessageState.LEASED)
        lease = await harness.leased(harness.stranger())
        await harness.advance(10.0)
        (browsed,) = await harness.browse(QUEUE, MessageState.LEASED)
        assert (browsed.owner, browsed.fence, browsed.envelope) == (lease.owner, lease.fence, lease.envelope)
        assert browsed.counters == Counters(deliveries=1)
        assert browsed.deadline_in is not None
        assert harness.lease_seconds - 11 <= browsed.deadline_in <= harness.lease_seconds - 10
        assert browsed.due_in is None

    async def test_an_overdue_message_shows_how_long_it_is_overdue(self, harness: Harness) -> None:
        harness.need_shown(MessageState.LEASED)
        await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds + 5, sweeping=False)
        (browsed,) = await harness.browse(QUEUE, MessageState.LEASED)
        assert browsed.deadline_in is not None
        assert -6 <= browsed.deadline_in <= -4

    async def test_a_delayed_message_shows_when_it_is_due(self, harness: Harness) -> None:
        harness.need_shown(MessageState.DELAYED)
        await harness.put(delay_seconds=60.0)
        await harness.advance(10.0)
        (browsed,) = await harness.browse(QUEUE, MessageState.DELAYED)
        assert browsed.due_in is not None
        assert 49.0 <= browsed.due_in <= 51.0
        assert (browsed.owner, browsed.deadline_in) == (None, None)

    async def test_a_failed_message_shows_why(self, harness: Harness) -> None:
        harness.need_shown(MessageState.DELAYED)
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, 60.0, BROKEN)])
        (browsed,) = await harness.browse(QUEUE, MessageState.DELAYED)
        assert (browsed.reason, browsed.owner) == (BROKEN, None)
        assert browsed.counters == Counters(deliveries=1, attempts=1)

    async def test_looking_changes_nothing(self, harness: Harness) -> None:
        harness.need_shown(*OPEN)
        ids = await _one_in_each_state(harness)
        before = [await harness.record(id) for id in ids.values()]
        for _ in range(3):
            for state in ids:
                await harness.browse(QUEUE, state)
            await harness.broker.depth([QUEUE])
            await harness.broker.depth()
        assert [await harness.record(id) for id in ids.values()] == before
        assert [lease.id for lease in await harness.lease_all(harness.stranger())] == [ids[MessageState.READY]]

    async def test_looking_is_no_delivery(self, harness: Harness) -> None:
        harness.need_shown(MessageState.READY)
        await harness.put()
        for _ in range(5):
            (browsed,) = await harness.browse(QUEUE, MessageState.READY)
            assert browsed.counters == Counters()
        assert (await harness.lease_one(harness.stranger())).counters == Counters(deliveries=1)

    async def test_depth_counts_each_state_or_says_it_cannot(self, harness: Harness) -> None:
        ids = await _one_in_each_state(harness)
        await harness.put_many(2)
        depth = await harness.depth()
        told = (depth.ready, depth.delayed, depth.leased, depth.dead)
        if harness.traits.depth_is_exact:
            assert (told, depth.estimated) == ((3, 1, 1, 1), False)
        else:
            assert depth.estimated or None in told
        assert len(ids) == 4

    async def test_an_empty_queue_is_zero_deep_and_has_no_age(self, harness: Harness) -> None:
        harness.need("depth_is_exact")
        assert await harness.depth("nowhere") == Depth(
            queue="nowhere", ready=0, delayed=0, leased=0, dead=0, oldest_age_seconds=None
        )

    async def test_depth_follows_every_move(self, harness: Harness) -> None:
        harness.need("depth_is_exact")
        await harness.put_many(2)
        first, second = await harness.lease(harness.stranger(), 2)
        assert await self._counts(harness) == (0, 0, 2, 0)
        await harness.broker.nack([Nack(first, 0.0, BROKEN)])
        await harness.broker.dead_letter([DeadLetter(second, BROKEN)])
        assert await self._counts(harness) == (1, 0, 0, 1)
        await harness.broker.redrive([second.id])
        assert await self._counts(harness) == (2, 0, 0, 0)
        await harness.broker.delete([first.id])
        await harness.broker.ack([Ack(await harness.lease_one(harness.stranger()))])
        assert await self._counts(harness) == (0, 0, 0, 0)

    async def test_depth_answers_for_each_queue_in_order(self, harness: Harness) -> None:
        harness.need("depth_is_exact")
        await harness.put_many(2, queue="b-tasks")
        await harness.put(queue="a-tasks")
        depths = await harness.broker.depth(["b-tasks", "c-tasks", "a-tasks"])
        assert [(one.queue, one.ready) for one in depths] == [("b-tasks", 2), ("c-tasks", 0), ("a-tasks", 1)]

    async def test_depth_of_everything_finds_every_queue_that_holds_something(self, harness: Harness) -> None:
        harness.need("depth_is_exact")
        ids = await _one_in_each_state(harness)
        await harness.put(queue="b-tasks", delay_seconds=60.0)
        lease = await harness.leased(harness.stranger(), queue="c-tasks")
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        depths = {one.queue: one for one in await harness.broker.depth()}
        assert set(depths) == {QUEUE, "b-tasks", "c-tasks"}
        assert depths[QUEUE] == await harness.depth(QUEUE)
        assert len(ids) == 4

    async def test_depth_tells_many_queues_apart(self, harness: Harness) -> None:
        """A count of all of them in one pass must not mix them up."""
        harness.need("depth_is_exact")
        expected: dict[str, tuple[int, int, int, int, bool]] = {}
        for number in range(30):
            queue, ready, leased, delayed, dead = f"q{number:02}-tasks", number % 4, number % 3, number % 2, number % 5
            if leased + dead:
                await harness.put_many(leased + dead, queue=queue)
                leases = await harness.lease(harness.stranger(), leased + dead, queues=(queue,), seconds=600.0)
                await harness.broker.dead_letter([DeadLetter(lease, BROKEN) for lease in leases[leased:]])
            for priority in range(ready):
                await harness.put(queue=queue, priority=priority)
            for _ in range(delayed):
                await harness.put(queue=queue, delay_seconds=900.0)
            expected[queue] = (ready, delayed, leased, dead, ready > 0)
            if number == 14:
                await harness.advance(20.0)
        asked = [*sorted(expected, reverse=True), "nowhere", "q01-tasks"]
        depths = await harness.broker.depth(asked)
        assert [one.queue for one in depths] == asked
        for one in depths:
            told = (one.ready, one.delayed, one.leased, one.dead, one.oldest_age_seconds is not None)
            assert told == expected.get(one.queue, (0, 0, 0, 0, False)), one.queue
        ages = {one.queue: one.oldest_age_seconds or 0.0 for one in depths}
        assert ages["q01-tasks"] - ages["q15-tasks"] > 15.0, "each has its own oldest message"
        everything = {one.queue: one for one in await harness.broker.depth()}
        assert set(everything) == {queue for queue, counts in expected.items() if any(counts)}
        for one in depths:
            if one.queue in everything:
                found = everything[one.queue]
                assert (found.ready, found.delayed, found.leased, found.dead) == expected[one.queue][:4], one.queue

    async def test_the_oldest_age_is_that_of_the_oldest_ready_message(self, harness: Harness) -> None:
        harness.need("depth_is_exact")
        await harness.leased(harness.stranger(), seconds=harness.lease_seconds * 10)
        await harness.advance(10.0)
        await harness.put()
        await harness.advance(20.0)
        await harness.put()
        await harness.advance(5.0)
        age = (await harness.depth()).oldest_age_seconds
        assert age is not None
        assert round(age, 3) == 25.0

    async def _counts(self, harness: Harness) -> tuple[int | None, ...]:
        depth = await harness.depth()
        return (depth.ready, depth.delayed, depth.leased, depth.dead)


async def _pages(harness: Harness, queue: str, state: MessageState) -> list[str]:
    """The ids of everything in one state, in pages of two."""
    seen: list[str] = []
    for page in await harness.pages(queue, state):
        assert len(page.messages) <= 2
        ids = [one.id for one in page.messages]
        assert not {*seen} & {*ids}, "the page repeats what was seen"
        seen += ids
    return seen


async def _one_in_each_state(harness: Harness) -> dict[MessageState, str]:
    dead = await harness.leased(harness.stranger())
    await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
    leased = await harness.leased(harness.stranger())
    delayed = await harness.put(delay_seconds=3600.0)
    ready = await harness.put()
    return {
        MessageState.READY: ready.id,
        MessageState.DELAYED: delayed.id,
        MessageState.LEASED: leased.id,
        MessageState.DEAD: dead.id,
    }
