"""Records: what is known of a message is true, and only its holder may add to it."""

import msgspec

from tenure.envelope import decode
from tenure.lease import Lease
from tenure.message import Counters, MessageState
from tenure.record import Progress, Record
from tenure.settlement import DeadLetter, GiveBack, Nack
from tenure.testing.conformance.broker.staleness import all_kinds, unchanged
from tenure.testing.harness import BROKEN, QUEUE, Harness

HALF = Progress(0.5, "half way")


class Records:
    """The promises of the records."""

    async def test_an_unknown_message_has_no_record(self, harness: Harness) -> None:
        assert await harness.state.records.get("f" * 32) is None
        assert await harness.state.records.load_checkpoint("f" * 32) is None

    async def test_many_are_read_together_each_as_by_itself(self, harness: Harness) -> None:
        await harness.put(id="dead-1")
        await harness.broker.dead_letter([DeadLetter(await harness.lease_one(harness.stranger()), BROKEN)])
        await harness.put(id="done-1")
        await harness.complete(await harness.lease_one(harness.stranger()), b"42")
        lease = await harness.leased(harness.stranger())
        await harness.state.records.progress([(lease, HALF)])
        await harness.put(id="print-1", queue="print")
        wanted = [
            ("done-1", QUEUE), ("unknown-1", QUEUE), (lease.id, None), ("print-1", "another"), ("unknown-2", None),
            ("dead-1", None), ("print-1", "print"), (lease.id, QUEUE),
        ]  # fmt: skip
        get = harness.state.records.get
        alone = [_timeless(await get(id, queue)) for id, queue in wanted]
        together = await harness.state.records.get_many(wanted)
        assert [_timeless(one) for one in together] == alone
        assert [None if one is None else one.id for one in alone] == [
            None if id.startswith("unknown") else id for id, _ in wanted
        ]
        assert await harness.state.records.get_many([]) == []

    async def test_ids_are_found_by_their_beginning(self, harness: Harness) -> None:
        ids = ["order-17", "order-171", "order-172", "order-2", "ord", "other/order-17", "order*17", "order_17"]
        for id in ids:
            await harness.put(id=id, queue="print" if id == "order-172" else QUEUE)
        await harness.broker.delete(["order-171"])
        find = harness.state.records.find_ids
        found = await find("order-17", 10)
        if not harness.finds_ids:
            assert found is None
            return
        assert found == ["order-17", "order-171", "order-172"]
        assert await find("order-172", 10) == ["order-172"]
        assert await find("other", 10) == await find("other/", 10) == ["other/order-17"]
        assert await find("order-3", 10) == []
        some = await find("order-17", 2)
        assert some is not None
        assert len(some) == 2
        assert {*some} < {*found}
        # What means something else in a pattern is a letter here.
        for beginning in ("order*", "order_", "orde[r]", "o?der", "%"):
            assert await find(beginning, 10) == [id for id in ids if id.startswith(beginning)]

    async def test_a_finished_message_is_found_by_the_beginning_of_its_id(self, harness: Harness) -> None:
        await harness.put(id="finished-1")
        await harness.complete(await harness.lease_one(harness.stranger()))
        expected = ["finished-1"] if harness.finds_ids else None
        assert await harness.state.records.find_ids("finished", 10) == expected

    async def test_a_record_follows_its_message(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=10.0)
        states = [await harness.state_of(message.id)]
        await harness.advance(11.0)
        lease = await harness.lease_one(harness.stranger())
        states.append(await harness.state_of(message.id))
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        states.append(await harness.state_of(message.id))
        lease = await harness.lease_one(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        states.append(await harness.state_of(message.id))
        await harness.broker.redrive([message.id])
        await harness.complete(await harness.lease_one(harness.stranger()))
        states.append(await harness.state_of(message.id))
        assert states == [
            MessageState.DELAYED,
            MessageState.LEASED,
            MessageState.READY,
            MessageState.DEAD,
            MessageState.COMPLETED,
        ]

    async def test_a_record_has_the_envelope_until_the_message_is_finished(self, harness: Harness) -> None:
        first, second = await harness.put(), await harness.put(delay_seconds=10.0)
        for message in (first, second):
            raw = (await harness.record(message.id)).envelope
            # Where waiting messages cannot be read, only the broker may have their bytes.
            is_shown = MessageState.READY in harness.traits.browsable
            assert (raw is None and not is_shown) or decode(raw or b"") == message
        await harness.complete(await harness.lease_one(harness.stranger()))
        await harness.broker.delete([second.id])
        for message in (first, second):
            assert (await harness.record(message.id)).envelope is None

    async def test_a_record_names_queue_task_and_times(self, harness: Harness) -> None:
        message = await harness.put(queue="print", task="render")
        sent_at = harness.clock.wall()
        await harness.advance(5.0)
        record = await harness.record(message.id)
        assert (record.id, record.queue, record.task) == (message.id, "print", "render")
        assert (record.sent_at, record.finished_at) == (sent_at, None)
        await harness.complete(await harness.lease_one(harness.stranger(), queues=("print",)))
        record = await harness.record(message.id)
        assert (record.id, record.queue, record.task) == (message.id, "print", "render")
        assert record.finished_at == harness.clock.wall()

    async def test_a_completed_message_keeps_its_counters(self, harness: Harness) -> None:
        message = await harness.put()
        await harness.broker.nack([Nack(await harness.lease_one(harness.stranger()), 0.0, BROKEN)])
        await harness.broker.give_back([GiveBack(await harness.lease_one(harness.stranger()))])
        await harness.complete(await harness.lease_one(harness.stranger()))
        record = await harness.record(message.id)
        assert (record.state, record.counters) == (MessageState.COMPLETED, Counters(deliveries=3, attempts=1))
        assert record.attempt == 2

    async def test_the_holder_may_say_how_far_it_is(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        assert (await harness.record(lease.id)).progress is None
        assert await harness.state.records.progress([(lease, Progress(0.25))]) == [True]
        assert await harness.state.records.progress([(lease, HALF)]) == [True]
        assert (await harness.record(lease.id)).progress == HALF

    async def test_a_holder_that_cannot_say_how_far_may_say_what(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        note = Progress(None, "reading")
        assert await harness.state.records.progress([(lease, note)]) == [True]
        assert (await harness.record(lease.id)).progress == note

    async def test_progress_of_a_batch_is_answered_in_order(self, harness: Harness) -> None:
        await harness.put_many(3)
        first, second, third = await harness.lease(harness.stranger(), 3)
        await harness.broker.give_back([GiveBack(second, 60.0)])
        batch = [(third, Progress(0.3)), (second, Progress(0.2)), (first, Progress(0.1))]
        assert await harness.state.records.progress(batch) == [True, False, True]
        assert (await harness.record(first.id)).progress == Progress(0.1)
        assert (await harness.record(third.id)).progress == Progress(0.3)

    async def test_a_touched_lease_may_write_too(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        (touched,) = await harness.broker.touch([lease])
        assert await harness.state.records.progress([(touched, HALF)]) == [True]
        assert await harness.state.records.checkpoint(touched, b"page 3")

    async def test_a_stale_holder_cannot_write_its_progress(self, harness: Harness) -> None:
        for stale in await all_kinds(harness):
            written = await unchanged(harness, stale, lambda lease: harness.state.records.progress([(lease, HALF)]))
            assert written == [False], stale.how

    async def test_a_stale_holder_cannot_keep_a_checkpoint(self, harness: Harness) -> None:
        for stale in await all_kinds(harness):
            kept = await unchanged(harness, stale, lambda lease: harness.state.records.checkpoint(lease, b"stale"))
            assert kept is False, stale.how
            assert await harness.state.records.load_checkpoint(stale.lease.id) is None, stale.how

    async def test_the_latest_checkpoint_counts(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        assert await harness.state.records.load_checkpoint(lease.id) is None
        assert await harness.state.records.checkpoint(lease, b"page 3")
        assert await harness.state.records.checkpoint(lease, b"\x00\xffpage 4")
        assert await harness.state.records.load_checkpoint(lease.id) == b"\x00\xffpage 4"

    async def test_a_checkpoint_outlives_a_failure(self, harness: Harness) -> None:
        lease = await self._with_checkpoint(harness)
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        await self._is_still_there(harness, lease)

    async def test_a_checkpoint_outlives_being_given_back(self, harness: Harness) -> None:
        lease = await self._with_checkpoint(harness)
        await harness.broker.give_back([GiveBack(lease)])
        await self._is_still_there(harness, lease)

    async def test_a_checkpoint_outlives_a_sweep(self, harness: Harness) -> None:
        lease = await self._with_checkpoint(harness)
        assert (await harness.lapse()).returned == (lease.id,)
        await self._is_still_there(harness, lease)

    async def test_a_checkpoint_outlives_its_owner(self, harness: Harness) -> None:
        lease = await self._with_checkpoint(harness)
        assert (await harness.broker.retire(lease.owner, crashed=True)).returned == (lease.id,)
        await self._is_still_there(harness, lease)

    async def test_a_checkpoint_outlives_a_redrive(self, harness: Harness) -> None:
        lease = await self._with_checkpoint(harness)
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        await harness.broker.redrive([lease.id])
        await self._is_still_there(harness, lease)

    async def test_a_checkpoint_ends_with_the_ack(self, harness: Harness) -> None:
        lease = await self._with_checkpoint(harness)
        await harness.state.records.progress([(lease, HALF)])
        await harness.complete(lease)
        assert await harness.state.records.load_checkpoint(lease.id) is None
        assert (await harness.record(lease.id)).progress is None

    async def test_a_checkpoint_ends_with_a_deletion(self, harness: Harness) -> None:
        lease = await self._with_checkpoint(harness)
        await harness.broker.give_back([GiveBack(lease)])
        await harness.broker.delete([lease.id])
        assert await harness.state.records.load_checkpoint(lease.id) is None

    async def test_a_record_stays_when_the_message_is_gone(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.complete(lease, b"42")
        await harness.advance(600.0)
        record = await harness.record(lease.id)
        assert (record.state, record.result) == (MessageState.COMPLETED, b"42")

    async def _with_checkpoint(self, harness: Harness) -> Lease:
        lease = await harness.leased(harness.stranger())
        assert await harness.state.records.checkpoint(lease, b"page 3")
        return lease

    async def _is_still_there(self, harness: Harness, lease: Lease) -> None:
        assert await harness.state.records.load_checkpoint(lease.id) == b"page 3"
        again = await harness.lease_one(harness.stranger())
        assert again.id == lease.id
        assert await harness.state.records.load_checkpoint(lease.id) == b"page 3"


def _timeless(record: Record | None) -> Record | None:
    """Without what changes while a real store is asked twice."""
    return None if record is None else msgspec.structs.replace(record, deadline_in=None, due_in=None)
