"""Owning: a message is taken and given up with no worker at all, as a consumer of another language does it.

Held to its word here is `tenure.runtime.ownership`, over every store: what is taken may be worked on, everything else
has its verdict at once, and only the holder of the latest lease and of the claim settles anything.
"""

import asyncio
from typing import Any

import msgspec

from tenure import assembly
from tenure.claim import ClaimRequest, Done, Fresh, Scope, Seal, Token, digest
from tenure.client.claim_check import ClaimCheck
from tenure.envelope import encode
from tenure.foreign import Router
from tenure.lease import Lease
from tenure.message import Counters, Message, MessageState, Outgoing
from tenure.rules.lapse import MAX_LOST
from tenure.runtime.ownership import Concluded, Owned, Ownership, Reading, Settled
from tenure.runtime.ownership.ownership import owned
from tenure.settlement import Outcome, Settlement
from tenure.tasks.call import Call
from tenure.tasks.task_address import TaskAddress
from tenure.testing.harness import BROKEN, QUEUE, TASK, Harness, NotApplicable
from tenure.testing.wire import Wire
from tenure.verdict import Completed, Dead, Duplicate, Lost, Retried, Returned, Verdict

RESULT = b'{"pages":3}'


class Owning:
    """The promises to code that takes messages by hand."""

    async def test_a_message_is_taken_worked_on_and_completed(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        message = await harness.put()
        one = await consumer.take_one()
        assert (one.id, one.message) == (message.id, message)
        assert (one.token is None) == harness.traits.settles_exactly_once
        lease = await consumer.touch(one)
        assert await consumer.settle(one, Completed(RESULT), lease) == Outcome.DELETED
        record = await harness.record(message.id)
        assert (record.state, record.counters.attempts) == (MessageState.COMPLETED, 0)
        assert record.result == RESULT
        assert await harness.lease_all(harness.stranger()) == []

    async def test_a_batch_is_taken_and_given_up_together(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        sent = await harness.put_many(4)
        taken = [await consumer.take_one() for _ in sent]
        verdicts: list[Verdict] = [Completed(RESULT), Retried(60.0, BROKEN), Returned(60.0, BROKEN), Dead(BROKEN)]
        settled = await consumer.settle_all(dict(zip(taken, verdicts, strict=True)))
        assert (settled.open, settled.outage) == ([], None)
        outcomes = [_outcome(settled.settlements[one]) for one in taken]
        assert outcomes == [Outcome.DELETED, Outcome.RETURNED, Outcome.RETURNED, Outcome.DEAD]
        records = [await harness.record(one.id) for one in taken]
        assert [record.counters.attempts for record in records] == [0, 1, 0, 0]

    async def test_what_failed_can_be_taken_again_at_once(self, harness: Harness) -> None:
        """Its claim is free as soon as its verdict is settled."""
        first, second = await _consumer(harness), await _consumer(harness)
        await harness.put(key="k")
        one = await first.take_one()
        assert await first.settle(one, Retried(0.0, BROKEN)) == Outcome.RETURNED
        again = await second.take_one()
        assert (again.id, again.lease.counters.attempts) == (one.id, 1)
        assert again.fence > one.fence

    async def test_the_claim_is_sealed_before_the_message_is_settled_or_with_it(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        message = await harness.put(key="k")
        one = await consumer.take_one()
        del consumer.wire.said[:]
        await consumer.settle(one, Completed(RESULT))
        assert consumer.wire.said == ["broker.ack"] if harness.traits.acks_claims else ["ledger.seal", "broker.ack"]
        request = ClaimRequest(
            Scope.of(message), "another", (await harness.owner()).id, seconds=30.0, digest=digest(message)
        )
        (answer,) = await harness.state.ledger.claim([request])
        assert isinstance(answer, Done)
        assert answer.result == RESULT

    async def test_nothing_is_settled_for_a_claim_that_another_has_now(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        message = await harness.put(key="k")
        one = await consumer.take_one()
        if one.token is None:
            raise NotApplicable("lease and claim are one here")
        await harness.state.ledger.release([one.token])
        await _claimed_elsewhere(harness, message)
        assert await consumer.settle(one, Completed(RESULT)) != Outcome.DELETED
        assert (await harness.record(message.id)).state is not MessageState.COMPLETED

    # --- what has its verdict at once -------------------------------------------------------------------

    async def test_what_is_done_is_only_deleted(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        message = await harness.put(key="k")
        token = await _claimed_elsewhere(harness, message)
        assert await harness.state.ledger.seal([Seal(token, RESULT)]) == [True]
        one, verdict = await consumer.take()
        assert verdict == Duplicate(RESULT)
        assert await consumer.settle(one, verdict) == Outcome.DELETED
        assert await harness.lease_all(harness.stranger()) == []

    async def test_what_runs_elsewhere_goes_back_until_its_claim_could_have_ended(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        message = await harness.put(key="k")
        await _claimed_elsewhere(harness, message, seconds=100.0)
        one, verdict = await consumer.take()
        assert isinstance(verdict, Returned)
        assert verdict.reason.code == "running_elsewhere"
        assert 90.0 < verdict.after_seconds <= 100.0
        assert await consumer.settle(one, verdict) == Outcome.RETURNED
        assert (await harness.record(one.id)).counters == Counters(deliveries=1)

    async def test_another_payload_under_a_key_is_dead(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        message = await harness.put(key="k")
        await _claimed_elsewhere(harness, message)
        lease = await consumer.leased()
        other = msgspec.structs.replace(message, body=msgspec.Raw(b'{"another":"payload"}'))
        one, verdict = await consumer.take(msgspec.structs.replace(lease, envelope=encode(other)))
        assert _code(verdict) == "key_conflict"
        assert await consumer.settle(one, verdict) == Outcome.DEAD

    async def test_what_has_expired_is_not_worked_on(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        await harness.put(expires_at=harness.state.wall() + 1.0)
        await asyncio.sleep(3.0)
        if harness.traits.native_expiry:
            assert await harness.lease_all(consumer.owner) == []
            return
        one, verdict = await consumer.take()
        assert _code(verdict) == "expired"
        assert await consumer.settle(one, verdict) == Outcome.DEAD

    async def test_what_was_lost_too_often_is_given_up(self, harness: Harness) -> None:
        consumer = await _consumer(harness, has_presence=False)
        await harness.put()
        taken = await consumer.leased()
        often = msgspec.structs.replace(taken, counters=Counters(deliveries=MAX_LOST + 1, lost=MAX_LOST))
        one, verdict = await consumer.take(often)
        assert _code(verdict) == "max_lost"
        assert await consumer.settle(one, verdict) == Outcome.DEAD

    async def test_what_cannot_be_read_is_dead_and_kept(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        message = await harness.put()
        raw = await harness.damage(message.id)
        one, verdict = await consumer.take()
        assert (one.message, _code(verdict)) == (None, "body_undecodable")
        assert await consumer.settle(one, verdict) == Outcome.DEAD
        assert (await harness.record(message.id)).envelope == raw

    async def test_what_a_newer_tenure_wrote_is_left_to_a_newer_process(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        await harness.put()
        lease = await consumer.leased()
        newer = lease.envelope.replace(b'"tenure":1', b'"tenure":999')
        one, verdict = await consumer.take(msgspec.structs.replace(lease, envelope=newer))
        assert isinstance(verdict, Returned)
        assert verdict.after_seconds > 0.0
        assert await consumer.settle(one, verdict) == Outcome.RETURNED
        assert (await harness.record(one.id)).counters.attempts == 0

    async def test_what_tenure_did_not_send_is_read_by_its_route(self, harness: Harness) -> None:
        router = Router("test")
        router.add(
            None, lambda foreign: Call(TaskAddress(TASK, QUEUE), msgspec.Raw(b'{"bytes":%d}' % len(foreign.raw)))
        )
        consumer = await _consumer(harness, router=router)
        message = await harness.put()
        raw = await harness.damage(message.id)
        one = await consumer.take_one()
        assert one.message is not None
        assert (one.is_routed, one.message.task, bytes(one.message.body)) == (True, TASK, b'{"bytes":%d}' % len(raw))
        assert await consumer.settle(one, Completed(RESULT)) == Outcome.DELETED
        assert (await harness.record(message.id)).task == TASK

    # --- bodies -----------------------------------------------------------------------------------------

    async def test_a_large_body_is_fetched_and_discarded_after_the_ack(self, harness: Harness) -> None:
        check = ClaimCheck(assembly.blob_store("memory://", clock=harness.clock))
        consumer = await _consumer(harness, claim_check=check)
        message = harness.message(body={"text": "x" * 2_000})
        (ticketed,) = await check.check_in([Outgoing(message)], 1_000)
        await harness.send(ticketed.message)
        one = await consumer.take_one()
        assert one.message is not None
        assert one.message.ticket is not None
        assert await consumer.ownership.bodies.bring(one) is None
        assert one.whole == message
        settled = await consumer.settle_all({one: Completed(RESULT)})
        consumer.ownership.bodies.settled([*settled.settlements.items()])
        await consumer.ownership.bodies.flush()
        assert await check.blob_store.browse() == []

    # --- who may settle ---------------------------------------------------------------------------------

    async def test_whoever_lost_its_message_settles_nothing(self, harness: Harness) -> None:
        first, second = await _consumer(harness), await _consumer(harness)
        message = await harness.put()
        one = await first.take_one()
        await harness.lapse()
        held = await second.take_one()
        outcome = await first.settle(one, Completed(b'"too late"'))
        assert outcome in (None, Outcome.TAKEN_OVER, Outcome.ALREADY_GONE)
        assert await harness.state_of(message.id) == MessageState.LEASED
        assert await second.settle(held, Completed(RESULT)) == Outcome.DELETED
        assert (await harness.record(message.id)).result == RESULT

    async def test_what_was_lost_while_it_was_worked_on_is_not_settled(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        await harness.put()
        one = await consumer.take_one()
        del consumer.wire.said[:]
        assert await consumer.settle(one, Lost()) is None
        assert consumer.wire.said == []

    async def test_a_lease_that_came_with_its_claim_is_not_asked_about(self, harness: Harness) -> None:
        """Where a store can answer the claim with the lease, that saves a call."""
        consumer = await _consumer(harness)
        message = await harness.put(key="k")
        lease = await consumer.leased()
        token = await _claimed_elsewhere(harness, message, owner=consumer.owner)
        del consumer.wire.said[:]
        one, verdict = await consumer.take(lease, token=token)
        assert (verdict, one.fence, consumer.wire.said) == (None, token.fence, [])
        assert await consumer.settle(one, Completed(RESULT)) == Outcome.DELETED

    # --- outages ----------------------------------------------------------------------------------------

    async def test_without_the_ledgers_word_nothing_is_taken(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        message = await harness.put(key="k")
        await _claimed_elsewhere(harness, message)  # so that no lease comes with its claim
        lease = await consumer.leased()
        consumer.wire.away("ledger.*")
        one, verdict = await consumer.take(lease)
        assert _code(verdict) == "broker_unavailable"
        consumer.wire.back()
        assert await consumer.settle(one, verdict) == Outcome.RETURNED
        assert (await harness.record(one.id)).counters.attempts == 0

    async def test_what_an_outage_left_open_is_the_callers_to_try_again(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        await harness.put(key="k")
        one = await consumer.take_one()
        for away in ("broker.*",) if harness.traits.acks_claims else ("ledger.*", "broker.*"):
            consumer.wire.away(away)
            settled = await consumer.settle_all({one: Completed(RESULT)})
            assert [left.owned for left in settled.open] == [one]
            assert settled.outage is not None
            assert dict(settled.settlements) == {}
            consumer.wire.back()
        if not harness.traits.acks_claims:
            assert consumer.wire.said.count("ledger.seal") == 2, "what was sealed was sealed again"
        assert await consumer.settle(one, Completed(RESULT)) == Outcome.DELETED

    async def test_a_lost_reply_is_never_called_a_success_that_it_was_not(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        message = await harness.put()
        one = await consumer.take_one()
        consumer.wire.lose_replies("broker.nack")
        settled = await consumer.settle_all({one: Retried(60.0, BROKEN)})
        (left,) = settled.open
        assert left.is_repeated
        again = await consumer.ownership.settle([left])
        assert _outcome(again.settlements[one]) in (Outcome.RETURNED, Outcome.UNKNOWN)
        assert (await harness.record(message.id)).counters.attempts == 1

    async def test_one_that_cannot_be_settled_spoils_no_other(self, harness: Harness) -> None:
        consumer = await _consumer(harness)
        good, bad = [await harness.put() for _ in range(2)]
        taken = {one.id: one for one in [await consumer.take_one(), await consumer.take_one()]}

        def spy(name: str, arguments: tuple[Any, ...]) -> None:
            if name == "broker.ack" and any(entry.lease.id == bad.id for entry in arguments[0]):
                msg = "no store takes this"
                raise ValueError(msg)

        consumer.wire.spy = spy
        one, other = taken[good.id], taken[bad.id]
        settled = await consumer.settle_all({one: Completed(RESULT), other: Completed(RESULT)})
        assert ({left.owned for left in settled.open}, settled.outage) == ({one, other}, None)
        assert await consumer.settle(one, Completed(RESULT)) == Outcome.DELETED
        last = await consumer.settle_all({other: Completed(RESULT)})
        if harness.traits.settles_exactly_once:
            (left,) = last.open
            assert _code(left.verdict) == "unsettleable"
            assert _outcome((await consumer.ownership.settle([left])).settlements[other]) == Outcome.DEAD
        else:  # it is sealed: done, and left for its next sighting
            assert _outcome(last.settlements[other]) == Outcome.UNKNOWN


class _Consumer:
    """Takes and gives up messages by hand, over a wire of its own."""

    def __init__(self, harness: Harness, owner: str, *, has_presence: bool = True, **options: Any) -> None:
        self.owner = owner
        self.wire = Wire(harness.broker, harness.state)
        self.ownership = Ownership(
            self.wire.broker,
            self.wire.state.ledger,
            harness.clock,
            wall=harness.state.wall,
            has_presence=has_presence,
            **options,
        )
        self._harness = harness
        self._has_presence = has_presence

    async def leased(self) -> Lease:
        return await self._harness.lease_one(self.owner, has_presence=self._has_presence)

    async def take(self, lease: Lease | None = None, token: Token | None = None) -> tuple[Owned, Verdict | None]:
        def own(reading: Reading) -> tuple[Owned, Verdict | None]:
            if token is None:
                return owned(reading)
            return Owned(reading.lease, reading.message, token=token), reading.verdict

        leases = [await self.leased() if lease is None else lease]
        ((one, verdict),) = await self.ownership.take(leases, self.owner, own)
        return one, verdict

    async def take_one(self) -> Owned:
        one, verdict = await self.take()
        assert verdict is None, f"it was to be taken: {verdict}"
        return one

    async def touch(self, one: Owned) -> Lease:
        await asyncio.sleep(self._harness.lease_seconds / 2)
        if one.token is not None:
            assert await self.wire.state.ledger.renew([one.token]) == [True]
        (lease,) = await self.wire.broker.touch([one.lease])
        return lease

    async def settle_all(self, verdicts: dict[Owned, Verdict]) -> Settled[Owned]:
        return await self.ownership.settle([Concluded(one, one.lease, verdict) for one, verdict in verdicts.items()])

    async def settle(self, one: Owned, verdict: Verdict | None, lease: Lease | None = None) -> Outcome | None:
        assert verdict is not None
        settled = await self.ownership.settle([Concluded(one, lease or one.lease, verdict)])
        assert settled.open == [], f"it is still open: {settled.outage}"
        return _outcome(settled.settlements[one])


async def _consumer(harness: Harness, **options: Any) -> _Consumer:
    return _Consumer(harness, (await harness.owner()).id, **options)


async def _claimed_elsewhere(harness: Harness, message: Message, owner: str | None = None, **changes: Any) -> Token:
    fields: dict[str, Any] = {"seconds": harness.lease_seconds, "digest": digest(message)} | changes
    own = owner is not None
    request = ClaimRequest(
        Scope.of(message), message.id if own else "another", owner or (await harness.owner()).id, **fields
    )
    (answer,) = await harness.state.ledger.claim([request])
    assert isinstance(answer, Fresh)
    return answer.token


def _outcome(settlement: Settlement | None) -> Outcome | None:
    return None if settlement is None else settlement.outcome


def _code(verdict: Verdict | None) -> str:
    assert isinstance(verdict, Dead | Returned)
    return verdict.reason.code
