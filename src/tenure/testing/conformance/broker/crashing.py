"""Crashing: stop after any call, or in the middle of one, and nothing is lost and nothing is done twice.

A holder's act is often several calls: lease, claim, seal, ack. Each test here stops after one of them,
lets the system recover in both ways it can (the owner is proven dead and retired, or its lease lapses),
and looks at what a second owner finds. A call that is cut off in the middle has an unknown outcome, so it
is repeated, as after a lost reply; its effect must be there exactly once.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from tenure.claim import ClaimRequest, Done, Fresh, Running, Scope, Seal, Token, digest
from tenure.envelope import decode
from tenure.errors import OwnerRetired
from tenure.lease import Lease
from tenure.message import Counters, MessageState, Outgoing
from tenure.owner import Owner
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE, Harness

#: A call is cut off after this many turns of the event loop, one after the other.
CUTS = range(6)


class Crashing:
    """Tests of messages whose holder stopped."""

    async def test_stopped_between_send_and_its_reply(self, harness: Harness) -> None:
        for cut in CUTS:
            message = harness.message(queue=f"queue-{cut}")
            await _cut_off(harness.broker.send([Outgoing(message)]), cut)
            await harness.send(message)
            leases = await harness.lease_all(harness.stranger(), queues=(message.queue,))
            assert [lease.id for lease in leases] == [message.id]

    async def test_stopped_between_lease_and_its_reply(self, harness: Harness) -> None:
        for cut in CUTS:
            queue = f"queue-{cut}"
            messages = await harness.put_many(3, queue=queue)
            owner = await harness.owner()
            await _cut_off(harness.broker.lease(harness.request(owner, 2, queues=(queue,))), cut)
            await _retire(harness, owner)
            leases = await harness.lease_all(harness.stranger(), queues=(queue,))
            assert sorted(lease.id for lease in leases) == [message.id for message in messages]

    async def test_stopped_between_lease_and_ack(self, harness: Harness) -> None:
        async for recovered, owner, lease in _each_recovery(harness):
            await recovered()
            again = await self._runs(harness, lease)
            assert again.fence > lease.fence
            (late,) = await harness.broker.ack([Ack(lease, b'"late"')])
            assert late.outcome == Outcome.ALREADY_GONE
            assert (await harness.record(lease.id)).result == b'"second"'
            assert await harness.broker.held(owner.id) == []

    async def test_stopped_between_ack_and_its_reply(self, harness: Harness) -> None:
        for cut in CUTS:
            lease = await harness.leased(harness.stranger(), queue=f"queue-{cut}")
            handoff = harness.message(queue=f"next-{cut}")
            handoffs = (Outgoing(handoff),) if harness.traits.settles_exactly_once else ()
            await _cut_off(harness.broker.ack([Ack(lease, b"1", handoffs)]), cut)
            (settlement,) = await harness.broker.ack([Ack(lease, b"1", handoffs)])
            assert settlement.outcome in {Outcome.DELETED, Outcome.ALREADY_GONE}
            assert await harness.is_completed(lease.id)
            sent_on = await harness.lease_all(harness.stranger(), queues=(handoff.queue,))
            assert [one.id for one in sent_on] == [one.message.id for one in handoffs]

    async def test_stopped_between_nack_and_its_reply(self, harness: Harness) -> None:
        for cut in CUTS:
            lease = await harness.leased(harness.stranger(), queue=f"queue-{cut}")
            await _cut_off(harness.broker.nack([Nack(lease, 0.0, BROKEN)]), cut)
            await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
            record = await harness.record(lease.id)
            assert (record.state, record.counters) == (MessageState.READY, Counters(deliveries=1, attempts=1))

    async def test_stopped_between_give_back_and_its_reply(self, harness: Harness) -> None:
        for cut in CUTS:
            lease = await harness.leased(harness.stranger(), queue=f"queue-{cut}")
            await _cut_off(harness.broker.give_back([GiveBack(lease)]), cut)
            await harness.broker.give_back([GiveBack(lease)])
            record = await harness.record(lease.id)
            assert (record.state, record.counters) == (MessageState.READY, Counters(deliveries=1))

    async def test_stopped_in_the_middle_of_a_dead_lettering(self, harness: Harness) -> None:
        for cut in CUTS:
            lease = await harness.leased(harness.stranger(), queue=f"queue-{cut}")
            await _cut_off(harness.broker.dead_letter([DeadLetter(lease, BROKEN, counted=True)]), cut)
            await harness.broker.dead_letter([DeadLetter(lease, BROKEN, counted=True)])
            record = await harness.record(lease.id)
            assert (record.state, record.counters) == (MessageState.DEAD, Counters(deliveries=1, attempts=1))

    async def test_stopped_in_the_middle_of_a_redrive(self, harness: Harness) -> None:
        for cut in CUTS:
            lease = await harness.leased(harness.stranger(), queue=f"queue-{cut}")
            await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
            await _cut_off(harness.broker.redrive([lease.id]), cut)
            await harness.broker.redrive([lease.id])
            leases = await harness.lease_all(harness.stranger(), queues=(lease.queue,))
            assert [one.id for one in leases] == [lease.id]
            assert decode(leases[0].envelope).generation == 1

    async def test_stopped_in_the_middle_of_a_promotion(self, harness: Harness) -> None:
        for cut in CUTS:
            message = await harness.put(queue=f"sent-{cut}", delay_seconds=3_600.0)
            lease = await harness.leased(harness.stranger(), queue=f"failed-{cut}")
            await harness.broker.nack([Nack(lease, 3_600.0, BROKEN)])
            for id, queue in ((message.id, message.queue), (lease.id, lease.queue)):
                await _cut_off(harness.broker.promote([id]), cut)
                await harness.broker.promote([id])
                leases = await harness.lease_all(harness.stranger(), queues=(queue,))
                assert [one.id for one in leases] == [id]

    async def test_stopped_in_the_middle_of_a_cancellation(self, harness: Harness) -> None:
        for cut in CUTS:
            lease = await harness.leased(harness.stranger(), queue=f"queue-{cut}")
            await _cut_off(harness.broker.cancel([lease.id]), cut)
            await harness.broker.cancel([lease.id])
            record = await harness.record(lease.id)
            assert record.state == MessageState.CANCELLED
            assert [ending.how for ending in record.history] == ["cancelled"]
            assert (await harness.state.board.read()).cancels == cut + 1

    async def test_stopped_in_the_middle_of_a_deletion(self, harness: Harness) -> None:
        for cut in CUTS:
            message = await harness.put(queue=f"queue-{cut}")
            await _cut_off(harness.broker.delete([message.id]), cut)
            await harness.broker.delete([message.id])
            assert await harness.state_of(message.id) == MessageState.CANCELLED
            assert await harness.lease_all(harness.stranger(), queues=(message.queue,)) == []

    async def test_stopped_in_the_middle_of_a_sweep(self, harness: Harness) -> None:
        for cut in CUTS:
            lease = await harness.leased(harness.stranger(), queue=f"queue-{cut}")
            await harness.advance(harness.lease_seconds - 1)
            await harness.advance(2.0, sweeping=False)
            await _cut_off(harness.broker.sweep(harness.sweep_request()), cut)
            await harness.sweep()
            record = await harness.record(lease.id)
            assert (record.state, record.counters) == (MessageState.READY, Counters(deliveries=1, attempts=1))

    async def test_stopped_in_the_middle_of_a_retirement(self, harness: Harness) -> None:
        for cut in CUTS:
            owner = await harness.owner()
            lease = await harness.leased(owner, queue=f"queue-{cut}")
            await _cut_off(harness.broker.retire(owner.id, crashed=True), cut)
            await harness.broker.retire(owner.id, crashed=True)
            record = await harness.record(lease.id)
            assert (record.state, record.counters) == (MessageState.READY, Counters(deliveries=1, crashes=1))

    async def test_stopped_between_two_batches_of_a_retirement(self, harness: Harness) -> None:
        for cut in CUTS:
            owner = await harness.owner()
            leases = [await harness.leased(owner, queue=f"queue-{cut}") for _ in range(4)]
            await harness.broker.retire(owner.id, crashed=True, limit=2)
            await _cut_off(harness.broker.retire(owner.id, crashed=True, limit=1), cut)
            for _ in range(4):
                await harness.broker.retire(owner.id, crashed=True, limit=1)
            again = await harness.lease_all(harness.stranger(), queues=(f"queue-{cut}",))
            assert sorted(one.id for one in again) == sorted(lease.id for lease in leases)
            for lease in leases:
                assert (await harness.record(lease.id)).counters.crashes == 1
            assert await harness.state.roster.members() == []

    async def test_stopped_between_claim_and_run(self, harness: Harness) -> None:
        async for recovered, owner, lease in _each_recovery(harness):
            token = await _claimed(harness, lease, owner.id)
            await recovered()
            again = await harness.lease_one(harness.stranger(), queues=(lease.queue,))
            assert again.id == lease.id
            new = await _claimed(harness, again, again.owner)
            assert new.fence > token.fence
            assert await harness.state.ledger.seal([Seal(token, b'"late"')]) == [False]
            assert await harness.state.ledger.seal([Seal(new, b'"second"')]) == [True]
            (settlement,) = await harness.broker.ack([Ack(again, b'"second"')])
            assert settlement.outcome == Outcome.DELETED

    async def test_stopped_between_seal_and_ack(self, harness: Harness) -> None:
        async for recovered, owner, lease in _each_recovery(harness):
            handoff = Outgoing(harness.message(queue=f"next-{lease.queue}"))
            token = await _claimed(harness, lease, owner.id)
            assert await harness.state.ledger.seal([Seal(token, b'"first"', (handoff,))]) == [True]
            await recovered()
            again = await harness.lease_one(harness.stranger(), queues=(lease.queue,))
            assert again.id == lease.id
            answer = await _ask(harness, again, again.owner)
            # Not run again: the hand-offs that may be missing go out, and the message is only deleted.
            assert isinstance(answer, Done)
            assert answer == Done(b'"first"', (handoff,))
            for _ in range(2):
                await harness.broker.send([handoff])
            (settlement,) = await harness.broker.ack([Ack(again, answer.result)])
            assert settlement.outcome == Outcome.DELETED
            record = await harness.record(lease.id)
            assert (record.state, record.result) == (MessageState.COMPLETED, b'"first"')
            assert await _ask(harness, again, harness.stranger()) == Done(b'"first"', (handoff,))
            sent_on = await harness.lease_all(harness.stranger(), queues=(handoff.message.queue,))
            assert [one.id for one in sent_on] == [handoff.message.id]

    async def test_stopped_between_release_and_nack(self, harness: Harness) -> None:
        async for recovered, owner, lease in _each_recovery(harness):
            token = await _claimed(harness, lease, owner.id)
            assert await harness.state.ledger.release([token]) == [True]
            await recovered()
            again = await harness.lease_one(harness.stranger(), queues=(lease.queue,))
            assert again.id == lease.id
            assert isinstance(await _ask(harness, again, again.owner), Fresh)
            assert await harness.state.ledger.release([token]) == [False]

    async def test_stopped_in_the_middle_of_a_seal(self, harness: Harness) -> None:
        for cut in CUTS:
            lease = await harness.leased(harness.stranger(), queue=f"queue-{cut}")
            token = await _claimed(harness, lease, lease.owner)
            await _cut_off(harness.state.ledger.seal([Seal(token, b'"first"')]), cut)
            await harness.state.ledger.seal([Seal(token, b'"first"')])
            assert await _ask(harness, lease, harness.stranger()) == Done(b'"first"')

    async def test_stopped_in_the_middle_of_a_claim(self, harness: Harness) -> None:
        for cut in CUTS:
            owner = await harness.owner()
            lease = await harness.leased(owner, queue=f"queue-{cut}")
            await _cut_off(_ask(harness, lease, owner.id), cut)
            assert isinstance(await _ask(harness, lease, owner.id), Fresh | Running)
            await _retire(harness, owner)
            assert isinstance(await _ask(harness, lease, harness.stranger()), Fresh)

    async def test_a_late_lease_of_a_stopped_owner_holds_nothing(self, harness: Harness) -> None:
        owner = await harness.owner()
        message = await harness.put()
        await _retire(harness, owner)
        with contextlib.suppress(OwnerRetired):
            await harness.lease(owner)
        assert [one.id for one in await harness.lease_all(harness.stranger())] == [message.id]

    async def _runs(self, harness: Harness, lease: Lease) -> Lease:
        """A second owner finds the message and completes it; no owner finds it after that."""
        again = await harness.lease_one(harness.stranger(), queues=(lease.queue,))
        assert again.id == lease.id
        await harness.complete(again, b'"second"')
        assert await harness.lease_all(harness.stranger(), queues=(lease.queue,)) == []
        return again


async def _each_recovery(
    harness: Harness,
) -> AsyncIterator[tuple[Callable[[], Awaitable[None]], Owner, Lease]]:
    """An owner that holds a message, twice: to be found dead, and to let its lease lapse."""
    harness.need("receipts_fence")
    owner = await harness.owner("found-dead")
    lease = await harness.leased(owner, queue=QUEUE)

    async def found_dead() -> None:
        await _retire(harness, owner)

    yield found_dead, owner, lease

    frozen = await harness.owner("frozen")
    held = await harness.leased(frozen, queue="other")

    async def lapsed() -> None:
        # The finders of the first round may have let theirs lapse by now, too.
        assert held.id in (await harness.lapse()).returned

    yield lapsed, frozen, held


async def _retire(harness: Harness, owner: Owner) -> None:
    """Kill, prove it, retire: as the sweeper's liveness tick does."""
    await harness.kill(owner)
    assert (await harness.dead()).get(owner.id) is False, "a killed owner is not proven dead"
    await harness.broker.retire(owner.id, crashed=True)


async def _claimed(harness: Harness, lease: Lease, owner: str) -> Token:
    answer = await _ask(harness, lease, owner)
    assert isinstance(answer, Fresh)
    return answer.token


async def _ask(harness: Harness, lease: Lease, owner: str) -> object:
    message = decode(lease.envelope)
    request = ClaimRequest(Scope.of(message), message.id, owner, harness.lease_seconds, digest(message))
    (answer,) = await harness.state.ledger.claim([request])
    return answer


async def _cut_off(act: Coroutine[Any, Any, object], turns: int) -> None:
    """Let `act` run for this many turns of the loop, then stop it for good."""
    task = asyncio.create_task(act)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
