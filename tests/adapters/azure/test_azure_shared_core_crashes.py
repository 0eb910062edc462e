"""A process that ends between any two calls, under the shared core: nothing is lost, and nothing is done twice."""

from typing import Any

import pytest
from tests.adapters.azure.house import SharedCrashingHarness, each_call, leased_by

from tenure.announcement import AnnounceRequest
from tenure.broker import Broker
from tenure.claim import ClaimRequest, Fresh, Scope, Seal, digest
from tenure.envelope import decode
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN


@pytest.fixture
def harness() -> SharedCrashingHarness:
    """In virtual time."""
    return SharedCrashingHarness()


async def _sealed(harness: SharedCrashingHarness, lease: Lease) -> None:
    """As its holder: the claim came with the lease."""
    message, ledger = decode(lease.envelope), harness.victim_state.ledger
    (answer,) = await ledger.claim([ClaimRequest(Scope.of(message), message.id, lease.owner, 30.0, digest(message))])
    assert isinstance(answer, Fresh)
    assert await ledger.seal([Seal(answer.token, b"1", announce=AnnounceRequest.of(message))]) == [True]


@pytest.mark.parametrize("delay", [0.0, 7.0])
async def test_a_nack_cut_off_anywhere_is_run_once_more(harness: SharedCrashingHarness, delay: float) -> None:
    async def nack(victim: Broker, lease: Lease) -> Any:
        return await victim.nack([Nack(lease, delay, BROKEN)])

    async def check(lease: Lease, calls: int) -> None:
        assert await harness.finish(lease.id) == 1, calls
        record = await harness.record(lease.id)
        assert (record.state, record.counters.attempts) == (MessageState.COMPLETED, 1)

    await each_call(harness, lambda victim: leased_by(harness, victim), nack, check)


async def test_a_message_given_back_and_cut_off_anywhere_is_run_once(harness: SharedCrashingHarness) -> None:
    async def give_back(victim: Broker, lease: Lease) -> Any:
        return await victim.give_back([GiveBack(lease)])

    async def check(lease: Lease, calls: int) -> None:
        assert await harness.finish(lease.id) == 1, calls

    await each_call(harness, lambda victim: leased_by(harness, victim), give_back, check)


async def test_a_touch_cut_off_anywhere_leaves_a_message_that_is_run_once(harness: SharedCrashingHarness) -> None:
    async def touch(victim: Broker, lease: Lease) -> Any:
        return await victim.touch([lease])

    async def check(lease: Lease, calls: int) -> None:
        assert await harness.finish(lease.id) == 1, calls

    await each_call(harness, lambda victim: leased_by(harness, victim), touch, check)


async def test_an_ack_cut_off_anywhere_is_never_run_again(harness: SharedCrashingHarness) -> None:
    async def prepare(victim: Broker) -> Lease:
        lease = await leased_by(harness, victim)
        await _sealed(harness, lease)
        return lease

    async def ack(victim: Broker, lease: Lease) -> Any:
        return await victim.ack([Ack(lease, b"1")])

    async def check(lease: Lease, calls: int) -> None:
        assert await harness.finish(lease.id) == 0, calls
        assert (await harness.record(lease.id)).state == MessageState.COMPLETED

    await each_call(harness, prepare, ack, check)


async def test_a_dead_letter_cut_off_anywhere_is_dead_with_its_bytes_or_still_to_be_run(
    harness: SharedCrashingHarness,
) -> None:
    async def dead_letter(victim: Broker, lease: Lease) -> Any:
        return await victim.dead_letter([DeadLetter(lease, BROKEN)])

    async def check(lease: Lease, calls: int) -> None:
        runs = await harness.finish(lease.id)
        record = await harness.record(lease.id)
        if runs:
            assert record.state == MessageState.COMPLETED
            return
        assert (record.state, record.envelope) == (MessageState.DEAD, lease.envelope), calls
        assert await harness.broker.redrive([lease.id]) == [lease.id]
        assert await harness.finish(lease.id) == 1

    await each_call(harness, lambda victim: leased_by(harness, victim), dead_letter, check)


async def test_a_redrive_cut_off_anywhere_is_run_once_after_its_repeat(harness: SharedCrashingHarness) -> None:
    async def prepare(_victim: Broker) -> str:
        lease = await harness.leased(harness.stranger())
        (settlement,) = await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        assert settlement.outcome == Outcome.DEAD
        return lease.id

    async def redrive(victim: Broker, id: str) -> Any:
        return await victim.redrive([id])

    async def check(id: str, calls: int) -> None:
        await harness.broker.redrive([id])
        assert await harness.finish(id) == 1, calls
        assert (await harness.record(id)).state == MessageState.COMPLETED

    assert await each_call(harness, prepare, redrive, check) >= 4


@pytest.mark.parametrize("is_retry", [False, True])
async def test_a_promotion_cut_off_anywhere_is_finished_by_its_repeat(
    harness: SharedCrashingHarness, is_retry: bool
) -> None:
    async def prepare(victim: Broker) -> str:
        if not is_retry:
            return (await harness.put(delay_seconds=3_600.0)).id
        lease = await leased_by(harness, victim)
        await victim.nack([Nack(lease, 3_600.0, BROKEN)])
        return lease.id

    async def promote(victim: Broker, id: str) -> Any:
        return await victim.promote([id])

    async def check(id: str, calls: int) -> None:
        await harness.broker.promote([id])
        (lease,) = await harness.lease_all(harness.stranger())
        assert lease.id == id, calls
        assert await harness.done(lease)
        await harness.broker.ack([Ack(lease, b"1")])
        await harness.advance(3_700.0, sweeping=False)
        assert await harness.finish(id) == 0, calls

    await each_call(harness, prepare, promote, check)


async def test_a_cancel_cut_off_anywhere_runs_at_most_once_and_leaves_nothing_in_the_queue(
    harness: SharedCrashingHarness,
) -> None:
    async def prepare(_victim: Broker) -> str:
        return (await harness.put()).id

    async def cancel(victim: Broker, id: str) -> Any:
        return await victim.cancel([id])

    async def check(id: str, _calls: int) -> None:
        runs = await harness.finish(id)
        assert (runs, (await harness.record(id)).state) in ((0, MessageState.CANCELLED), (1, MessageState.COMPLETED))

    await each_call(harness, prepare, cancel, check)


async def test_a_lease_cut_off_anywhere_comes_back(harness: SharedCrashingHarness) -> None:
    async def prepare(_victim: Broker) -> str:
        return (await harness.put()).id

    async def lease(victim: Broker, _id: str) -> Any:
        return await victim.lease(harness.request(harness.stranger()))

    async def check(id: str, calls: int) -> None:
        assert await harness.finish(id) == 1, calls

    await each_call(harness, prepare, lease, check)
