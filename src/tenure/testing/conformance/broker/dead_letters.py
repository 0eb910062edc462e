"""Dead letters: kept whole, with their reason and history; sent back only on purpose, and then again."""

from tenure.broker import Sent
from tenure.envelope import decode
from tenure.lease import Lease
from tenure.message import Counters, MessageState
from tenure.record import HISTORY_LIMIT, Ending
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE, Harness
from tenure.verdict import Reason

FINAL = Reason("rejected", "it can never succeed", "Traceback …")


class DeadLetters:
    """The promises of `dead_letter`, `redrive` and `delete`."""

    async def test_a_dead_letter_is_not_lent(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        (settlement,) = await harness.broker.dead_letter([DeadLetter(lease, FINAL)])
        assert settlement.outcome == Outcome.DEAD
        await harness.advance(harness.lease_seconds * 3)
        assert await harness.lease_all(harness.stranger()) == []
        assert await harness.state_of(lease.id) == MessageState.DEAD

    async def test_a_dead_letter_keeps_its_reason(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(lease, FINAL)])
        record = await harness.record(lease.id)
        assert (record.reason, record.owner, record.deadline_in) == (FINAL, None, None)
        assert record.finished_at == harness.clock.wall()
        (ending,) = record.history
        assert (ending.how, ending.owner, ending.reason) == ("dead", lease.owner, FINAL)

    async def test_a_dead_letter_counts_an_attempt_only_if_it_ran(self, harness: Harness) -> None:
        ran, unread = await harness.put(), await harness.put()
        leases = {lease.id: lease for lease in await harness.lease(harness.stranger(), 2)}
        batch = [DeadLetter(leases[ran.id], FINAL, counted=True), DeadLetter(leases[unread.id], FINAL)]
        await harness.broker.dead_letter(batch)
        assert (await harness.record(ran.id)).counters == Counters(deliveries=1, attempts=1)
        assert (await harness.record(unread.id)).counters == Counters(deliveries=1)

    async def test_a_dead_letter_keeps_its_raw_bytes(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        lease = await harness.leased(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(lease, FINAL)])
        (browsed,) = await harness.browse(QUEUE, MessageState.DEAD)
        assert (browsed.id, browsed.envelope, browsed.reason) == (lease.id, lease.envelope, FINAL)

    async def test_a_message_that_cannot_be_decoded_is_kept_as_it_is(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        message = await harness.put()
        raw = await harness.damage(message.id)
        await self._kill(harness)
        (browsed,) = await harness.browse(QUEUE, MessageState.DEAD)
        assert (browsed.id, browsed.envelope) == (message.id, raw)

    async def test_a_message_that_died_in_a_sweep_is_kept_whole(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        lease = await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds - 1)
        await harness.advance(2.0, sweeping=False)
        assert (await harness.sweep(max_attempts=1)).dead == (lease.id,)
        # Where only the queue has its bytes, the next lease call brings them along.
        assert await harness.lease_all(harness.stranger()) == []
        (browsed,) = await harness.browse(QUEUE, MessageState.DEAD)
        assert (browsed.id, browsed.envelope) == (lease.id, lease.envelope)

    async def test_dead_letters_are_shown_page_by_page(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        await self._dead(harness, queue="other")
        ids = []
        for _ in range(5):
            await harness.advance(1.0)
            ids.append((await self._dead(harness)).id)
        shown = await harness.pages(QUEUE, MessageState.DEAD)
        assert all(len(page.messages) <= 2 for page in shown)
        assert [one.id for page in shown for one in page.messages] == ids

    async def test_a_dead_letter_shows_when_it_died(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        await harness.advance(5.0)
        await self._dead(harness)
        died_at = harness.clock.wall()
        await harness.advance(5.0)
        (browsed,) = await harness.browse(QUEUE, MessageState.DEAD)
        assert browsed.finished_at == died_at

    async def test_looking_at_dead_letters_changes_nothing(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        lease, ready = await self._dead(harness), await harness.put()
        before = [await harness.record(id) for id in (lease.id, ready.id)]
        shown = [await harness.browse(QUEUE, MessageState.DEAD) for _ in range(3)]
        assert [[one.id for one in page] for page in shown] == [[lease.id]] * 3
        assert [await harness.record(id) for id in (lease.id, ready.id)] == before
        assert [(one.id, one.counters) for one in await harness.lease_all(harness.stranger())] == [
            (ready.id, Counters(deliveries=1))
        ]

    async def test_what_is_redriven_or_deleted_is_shown_no_more(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        back, gone, stays = [await self._dead(harness) for _ in range(3)]
        await harness.broker.redrive([back.id])
        await harness.broker.delete([gone.id])
        assert [one.id for one in await harness.browse(QUEUE, MessageState.DEAD)] == [stays.id]
        await self._kill(harness)
        shown = [one.id for one in await harness.browse(QUEUE, MessageState.DEAD)]
        assert sorted(shown) == sorted([stays.id, back.id])

    async def test_a_history_keeps_the_latest_endings_oldest_first(self, harness: Harness) -> None:
        message = await harness.put()
        for number in range(HISTORY_LIMIT + 5):
            lease = await harness.lease_one(harness.stranger())
            await harness.broker.nack([Nack(lease, 0.0, Reason("handler_error", f"failure {number}"))])
        history = (await harness.record(message.id)).history
        texts = [ending.reason.text for ending in history if ending.reason is not None]
        assert texts == [f"failure {number}" for number in range(5, HISTORY_LIMIT + 5)]

    async def test_a_redriven_message_is_lent_again(self, harness: Harness) -> None:
        lease = await self._dead(harness)
        assert await harness.broker.redrive([lease.id]) == [lease.id]
        assert await harness.state_of(lease.id) == MessageState.READY
        assert (await harness.lease_one(harness.stranger())).id == lease.id

    async def test_a_redrive_raises_the_generation_and_nothing_else(self, harness: Harness) -> None:
        lease = await self._dead(harness)
        await harness.broker.redrive([lease.id])
        again = await harness.lease_one(harness.stranger())
        before, after = decode(lease.envelope), decode(again.envelope)
        assert after.generation == before.generation + 1
        assert (after.id, after.body, after.priority, after.sent_at) == (
            before.id,
            before.body,
            before.priority,
            before.sent_at,
        )

    async def test_each_redrive_raises_the_generation(self, harness: Harness) -> None:
        lease = await self._dead(harness)
        for generation in range(1, 4):
            await harness.broker.redrive([lease.id])
            lease = await harness.lease_one(harness.stranger())
            assert decode(lease.envelope).generation == generation
            await harness.broker.dead_letter([DeadLetter(lease, FINAL)])

    async def test_a_redrive_starts_the_counters_anew(self, harness: Harness) -> None:
        owner = await harness.owner()
        message = await harness.put()
        await harness.broker.nack([Nack(await harness.lease_one(owner), 0.0, BROKEN)])
        await harness.lease_one(owner)
        await harness.lapse()
        await harness.lease_one(owner)
        await harness.broker.retire(owner.id, crashed=True)
        await self._kill(harness)
        await harness.broker.redrive([message.id])
        record = await harness.record(message.id)
        assert record.counters == Counters()
        assert (record.reason, record.finished_at) == (None, None)
        assert (await harness.lease_one(harness.stranger())).counters == Counters(deliveries=1)

    async def test_a_redrive_keeps_the_history(self, harness: Harness) -> None:
        message = await harness.put()
        await harness.broker.nack([Nack(await harness.lease_one(harness.stranger()), 0.0, BROKEN)])
        await self._kill(harness)
        await harness.broker.redrive([message.id])
        history = (await harness.record(message.id)).history
        assert [ending.how for ending in history] == ["failed", "dead", "redriven"]

    async def test_only_dead_letters_are_redriven(self, harness: Harness) -> None:
        dead = await self._dead(harness)
        lease = await harness.leased(harness.stranger())
        ready, delayed = await harness.put(), await harness.put(delay_seconds=60.0)
        ids = [lease.id, ready.id, dead.id, delayed.id, "f" * 32]
        before = [await harness.record(id) for id in (lease.id, ready.id, delayed.id)]
        assert await harness.broker.redrive(ids) == [dead.id]
        assert [await harness.record(id) for id in (lease.id, ready.id, delayed.id)] == before

    async def test_a_redrive_repeated_after_a_lost_reply_moves_nothing(self, harness: Harness) -> None:
        lease = await self._dead(harness)
        await harness.broker.redrive([lease.id])
        assert await harness.broker.redrive([lease.id]) == []
        again = await harness.lease_one(harness.stranger())
        assert decode(again.envelope).generation == 1

    async def test_a_message_that_cannot_be_decoded_is_redriven_as_it_is(self, harness: Harness) -> None:
        message = await harness.put()
        raw = await harness.damage(message.id)
        await self._kill(harness)
        assert await harness.broker.redrive([message.id]) == [message.id]
        assert (await harness.lease_one(harness.stranger())).envelope == raw

    async def test_a_deleted_message_is_cancelled_and_never_lent(self, harness: Harness) -> None:
        ready, delayed = await harness.put(), await harness.put(delay_seconds=10.0)
        dead = await self._dead(harness, queue="other")
        ids = [ready.id, delayed.id, dead.id]
        assert await harness.broker.delete(ids) == ids
        assert [await harness.state_of(id) for id in ids] == [MessageState.CANCELLED] * 3
        assert (await harness.record(ready.id)).finished_at == harness.clock.wall()
        await harness.advance(20.0)
        assert await harness.lease_all(harness.stranger(), queues=(QUEUE, "other")) == []
        assert await harness.broker.redrive(ids) == []

    async def test_the_record_of_a_deleted_message_tells_of_it(self, harness: Harness) -> None:
        dead, ready = await self._dead(harness, queue="other"), await harness.put()
        await harness.advance(5.0)
        await harness.broker.delete([dead.id, ready.id])
        now = harness.clock.wall()
        history = (await harness.record(dead.id)).history
        assert [ending.how for ending in history] == ["dead", "cancelled"]
        assert history[-1] == Ending(now, "cancelled")
        assert (await harness.record(ready.id)).history == (Ending(now, "cancelled"),)

    async def test_what_somebody_holds_is_not_deleted(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        before = await harness.record(lease.id)
        assert await harness.broker.delete([lease.id]) == []
        assert await harness.record(lease.id) == before
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED

    async def test_deleting_what_is_done_or_unknown_changes_nothing(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.complete(lease, b"1")
        assert await harness.broker.delete([lease.id, "f" * 32]) == []
        assert (await harness.record(lease.id)).result == b"1"

    async def test_deleting_twice_removes_once(self, harness: Harness) -> None:
        message = await harness.put()
        assert await harness.broker.delete([message.id, message.id]) == [message.id]
        assert await harness.broker.delete([message.id]) == []

    async def test_a_message_given_back_can_be_deleted(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.give_back([GiveBack(lease, 30.0)])
        assert await harness.broker.delete([lease.id]) == [lease.id]
        assert await harness.send(decode(lease.envelope)) == [Sent(lease.id, duplicate=True)]

    async def _dead(self, harness: Harness, queue: str = QUEUE) -> Lease:
        lease = await harness.leased(harness.stranger(), queue=queue)
        await harness.broker.dead_letter([DeadLetter(lease, FINAL)])
        return lease

    async def _kill(self, harness: Harness) -> Lease:
        """Put the only ready message with the dead letters."""
        lease = await harness.lease_one(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(lease, FINAL)])
        return lease
