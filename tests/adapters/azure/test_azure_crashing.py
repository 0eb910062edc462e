"""A process that ends between any two calls of a verb, or hears nothing of one of them: nothing lost, nothing twice."""

import pytest
from tests.adapters.azure.house import CrashingHarness, each_call, leased_by

from tenure.adapters.azure.naming import POISON
from tenure.broker import Broker
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE


@pytest.fixture
def harness() -> CrashingHarness:
    """In virtual time."""
    return CrashingHarness()


@pytest.mark.parametrize("delay", [0.0, 7.0])
async def test_a_nack_cut_off_anywhere_is_run_once_more(harness: CrashingHarness, delay: float) -> None:
    async def check(lease: Lease, calls: int) -> None:
        assert await harness.finish(lease.id) == 1, calls
        assert (await harness.record(lease.id)).state == MessageState.COMPLETED

    calls = await each_call(
        harness,
        lambda victim: leased_by(harness, victim),
        lambda victim, lease: victim.nack([Nack(lease, delay, BROKEN)]),
        check,
    )
    assert calls == 2


async def test_a_message_given_back_and_cut_off_anywhere_is_run_once_and_nothing_is_counted_twice(
    harness: CrashingHarness,
) -> None:
    async def check(lease: Lease, calls: int) -> None:
        await harness.lapse()
        (again,) = await harness.lease_all(harness.stranger())
        # Cut off before its life was changed, its holder has let it lapse.
        assert again.counters.attempts == (0 if calls else 1)
        await harness.broker.give_back([GiveBack(again)])
        assert await harness.finish(lease.id) == 1

    await each_call(
        harness,
        lambda victim: leased_by(harness, victim),
        lambda victim, lease: victim.give_back([GiveBack(lease)]),
        check,
    )


async def test_an_ack_cut_off_anywhere_is_never_run_again(harness: CrashingHarness) -> None:
    async def prepare(victim: Broker) -> Lease:
        lease = await leased_by(harness, victim)
        assert await harness.done(lease)
        return lease

    async def check(lease: Lease, calls: int) -> None:
        assert await harness.finish(lease.id) == 0, calls
        assert (await harness.record(lease.id)).state == MessageState.COMPLETED

    await each_call(harness, prepare, lambda victim, lease: victim.ack([Ack(lease, b"1")]), check)


async def test_a_dead_letter_cut_off_anywhere_is_dead_with_its_bytes_or_still_to_be_run(
    harness: CrashingHarness,
) -> None:
    async def check(lease: Lease, calls: int) -> None:
        await harness.lapse()
        if not calls:
            assert await harness.finish(lease.id) == 1
            return
        assert await harness.finish(lease.id) == 0, calls
        record = await harness.record(lease.id)
        assert (record.state, record.envelope) == (MessageState.DEAD, lease.envelope)
        assert await harness.shown(POISON) >= 1
        assert await harness.broker.redrive([lease.id]) == [lease.id]
        assert await harness.finish(lease.id) == 1
        await _empty(harness)

    calls = await each_call(
        harness,
        lambda victim: leased_by(harness, victim),
        lambda victim, lease: victim.dead_letter([DeadLetter(lease, BROKEN)]),
        check,
    )
    assert calls >= 4  # the life, the copy, where it is, the message


async def _empty(harness: CrashingHarness) -> None:
    """A copy too many may lie among the dead, for people only."""
    client = harness._store.queue(QUEUE, POISON)
    await harness._store.call("emptying", client.clear_messages)


async def test_a_redrive_cut_off_anywhere_is_run_once_however_often_it_is_repeated(harness: CrashingHarness) -> None:
    async def prepare(_victim: Broker) -> str:
        lease = await harness.leased(harness.stranger())
        (settlement,) = await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        assert settlement.outcome == Outcome.DEAD
        return lease.id

    async def check(id: str, calls: int) -> None:
        await harness.sweep()
        state = (await harness.record(id)).state
        assert state in (MessageState.DEAD, MessageState.READY), calls
        moved = await harness.broker.redrive([id])
        assert moved == ([id] if state is MessageState.DEAD else []), calls
        assert await harness.finish(id) == 1, calls
        assert (await harness.record(id)).state == MessageState.COMPLETED
        await _empty(harness)

    calls = await each_call(harness, prepare, lambda victim, id: victim.redrive([id]), check)
    assert calls >= 4  # read, changed, taken from the dead, put, noted


@pytest.mark.parametrize("is_retry", [False, True])
async def test_a_promotion_cut_off_anywhere_is_finished_by_the_next_sweep(
    harness: CrashingHarness, is_retry: bool
) -> None:
    async def prepare(victim: Broker) -> str:
        if not is_retry:
            return (await harness.put(delay_seconds=3_600.0)).id
        lease = await leased_by(harness, victim)
        await victim.nack([Nack(lease, 3_600.0, BROKEN)])
        return lease.id

    async def check(id: str, calls: int) -> None:
        if (await harness.record(id)).state is MessageState.DELAYED:
            assert calls <= 1
            await harness.broker.promote([id])
        await harness.sweep()
        (lease,) = await harness.lease_all(harness.stranger())
        assert lease.id == id, calls
        assert await harness.done(lease)
        await harness.broker.ack([Ack(lease, b"1")])
        await harness.advance(3_700.0, sweeping=False)
        assert await harness.finish(id) == 0, calls

    calls = await each_call(harness, prepare, lambda victim, id: victim.promote([id]), check)
    assert calls >= 3  # read, changed, shown, noted


async def test_a_cancel_cut_off_anywhere_runs_at_most_once_and_leaves_nothing_in_the_queue(
    harness: CrashingHarness,
) -> None:
    async def prepare(_victim: Broker) -> str:
        return (await harness.put()).id

    async def check(id: str, _calls: int) -> None:
        runs = await harness.finish(id)
        record = await harness.record(id)
        assert record.counters.deliveries <= 1
        state = record.state
        assert (runs, state) in ((0, MessageState.CANCELLED), (1, MessageState.COMPLETED))

    await each_call(harness, prepare, lambda victim, id: victim.cancel([id]), check)


async def test_a_lease_cut_off_anywhere_comes_back(harness: CrashingHarness) -> None:
    async def prepare(_victim: Broker) -> str:
        return (await harness.put()).id

    async def check(id: str, calls: int) -> None:
        assert await harness.finish(id) == 1, calls

    await each_call(harness, prepare, lambda victim, _id: victim.lease(harness.request(harness.stranger())), check)
