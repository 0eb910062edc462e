"""A process that dies between any two calls of an act: nothing is lost, nothing is done twice.

For each number of calls the act is let so far, and then its process is gone: nothing that it says is heard any more,
and a fresh store looks at what the services know. And for each call its answer is lost, while the process lives and
says the whole again, as the runtime does.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.adapters.aws.house import From, Nth, ProxiedHarness

from tenure.claim import ClaimRequest, Fresh, Scope, Seal, digest
from tenure.envelope import decode
from tenure.errors import BrokerUnavailable
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN

#: More than any act makes.
MOST_CALLS = 30

Act = Callable[[ProxiedHarness, Lease], Awaitable[Any]]


@pytest.fixture
def house() -> ProxiedHarness:
    return ProxiedHarness()


async def _nack(house: ProxiedHarness, lease: Lease) -> Any:
    return await house.broker.nack([Nack(lease, 0.0, BROKEN)])


async def _give_back(house: ProxiedHarness, lease: Lease) -> Any:
    return await house.broker.give_back([GiveBack(lease)])


async def _dead_letter(house: ProxiedHarness, lease: Lease) -> Any:
    return await house.broker.dead_letter([DeadLetter(lease, BROKEN)])


async def _complete(house: ProxiedHarness, lease: Lease) -> Any:
    """As a worker does: claimed before, sealed, then acked."""
    message = decode(lease.envelope)
    request = ClaimRequest(Scope.of(message), message.id, lease.owner, lease.seconds, digest(message))
    (answer,) = await house.state.ledger.claim([request])
    if isinstance(answer, Fresh):
        await house.state.ledger.seal([Seal(answer.token, b"1")])
    return await house.broker.ack([Ack(lease, b"1")])


async def _points(house: ProxiedHarness, begin: Callable[[int], Awaitable[Any]], act: Any) -> AsyncIterator[Any]:
    """What `begin` made, after the process of `act` has died at each point of it; at last, after the whole of it."""
    for number in range(MOST_CALLS):
        begun = await begin(number)
        rule = house.proxy.rule(From(number), house.proxy.cut)
        with contextlib.suppress(BrokerUnavailable):
            await act(begun)
        was_cut = rule.used
        await house.die()
        yield number, begun
        if not was_cut:
            return
    raise AssertionError("an act takes more calls than were tried")


@pytest.mark.parametrize(
    ("act", "ends"),
    [
        (_nack, {MessageState.READY}),
        (_give_back, {MessageState.READY}),
        (_dead_letter, {MessageState.READY, MessageState.DEAD}),
        (_complete, {MessageState.READY, MessageState.COMPLETED}),
    ],
)
async def test_whoever_dies_while_it_settles_loses_nothing(
    house: ProxiedHarness, act: Act, ends: set[MessageState]
) -> None:
    met = set()

    async def begin(number: int) -> Lease:
        return await house.leased(house.stranger(), queue=f"queue-{number}")

    async for number, lease in _points(house, begin, lambda lease: act(house, lease)):
        await house.advance(house.lease_seconds * 2)
        record = await house.record(lease.id)
        assert record.state in ends, (number, record)
        met.add(record.state)
        assert record.counters.attempts <= 1, (number, record)
        found = await house.lease_all(house.stranger(), queues=(lease.queue,))
        if record.state is MessageState.READY:
            assert [one.id for one in found] == [lease.id], (number, record)
            continue
        for again in found:  # its copy was not deleted yet: it is only told that it is done, and deleted
            assert record.state is MessageState.COMPLETED
            (settlement,) = await house.broker.ack([Ack(again)])
            assert settlement.outcome is Outcome.DELETED
        if record.state is MessageState.DEAD:
            (browsed,) = await house.browse(lease.queue, MessageState.DEAD)
            assert (browsed.id, browsed.envelope) == (lease.id, lease.envelope)
    assert met == ends


async def test_whoever_dies_while_it_redrives_loses_nothing(house: ProxiedHarness) -> None:
    async def begin(number: int) -> Lease:
        lease = await house.leased(house.stranger(), queue=f"queue-{number}")
        await house.broker.dead_letter([DeadLetter(lease, BROKEN)])
        return lease

    async for number, lease in _points(house, begin, lambda lease: house.broker.redrive([lease.id])):
        await house.broker.redrive([lease.id])
        found = await house.lease_all(house.stranger(), queues=(lease.queue,))
        assert [one.id for one in found] == [lease.id], number
        assert decode(found[0].envelope).generation == 1
        assert await house.browse(lease.queue, MessageState.DEAD) == []


@pytest.mark.parametrize("is_retry", [False, True])
async def test_whoever_dies_while_it_promotes_leaves_the_rest_to_the_next_promotion(
    house: ProxiedHarness, is_retry: bool
) -> None:
    async def begin(number: int) -> Any:
        if not is_retry:
            return await house.put(queue=f"queue-{number}", delay_seconds=600.0)
        lease = await house.leased(house.stranger(), queue=f"queue-{number}")
        await house.broker.nack([Nack(lease, 600.0, BROKEN)])
        return lease

    met = set()
    async for number, one in _points(house, begin, lambda one: house.broker.promote([one.id])):
        (again,) = await house.broker.promote([one.id])
        met.add(again.was)
        (lease,) = await house.lease_all(house.stranger(), queues=(one.queue,))
        assert lease.id == one.id, number
        await house.complete(lease)
    assert met == {MessageState.DELAYED, MessageState.READY}


async def test_whoever_dies_after_a_promotion_began_has_only_left_it_for_its_time(house: ProxiedHarness) -> None:
    """Nobody promotes it again: the queue's own timer shows it."""

    async def begin(number: int) -> Any:
        return await house.put(queue=f"queue-{number}", delay_seconds=60.0)

    async for number, message in _points(house, begin, lambda one: house.broker.promote([one.id])):
        await house.advance(61.0)
        found = await house.lease_all(house.stranger(), queues=(message.queue,))
        assert [one.id for one in found] == [message.id], number


async def test_whoever_dies_while_it_sends_may_send_again_and_there_is_one(house: ProxiedHarness) -> None:
    async def begin(number: int) -> Any:
        return house.message(queue=f"queue-{number}")

    async for number, message in _points(house, begin, house.send):
        await house.send(message)
        found = await house.lease_all(house.stranger(), queues=(message.queue,))
        assert [one.id for one in found] == [message.id], number
        await house.complete(found[0])
        assert await house.lease_all(house.stranger(), queues=(message.queue,)) == []


async def test_whoever_dies_while_it_leases_leaves_it_to_others(house: ProxiedHarness) -> None:
    async def begin(number: int) -> Any:
        return await house.put(queue=f"queue-{number}")

    async def lease(message: Any) -> Any:
        return await house.broker.lease(house.request(house.stranger(), queues=(message.queue,)))

    await house.sweep()
    async for number, message in _points(house, begin, lease):
        await house.advance(house.lease_seconds * 2 + 15)
        found = await house.lease_all(house.stranger(), queues=(message.queue,))
        assert [one.id for one in found] == [message.id], number
        assert found[0].counters.attempts <= 1  # a holder without presence that came as far as to hold it


# -- the answer is lost, and the process lives -------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "outcome"),
    [
        (_nack, Outcome.RETURNED), (_give_back, Outcome.RETURNED), (_dead_letter, Outcome.DEAD),
        (_complete, Outcome.ALREADY_GONE),
    ],
)  # fmt: skip
async def test_a_settle_of_which_any_answer_was_lost_is_said_again_and_done_once(
    house: ProxiedHarness, act: Act, outcome: Outcome
) -> None:
    for number in range(MOST_CALLS):
        lease = await house.leased(house.stranger(), queue=f"queue-{number}")
        rule = house.proxy.rule(Nth(number), house.proxy.drop_reply, times=1)
        try:
            (settlement,) = await act(house, lease)
        except BrokerUnavailable:
            (settlement,) = await act(house, lease)
        was_lost = rule.used
        house.proxy.clear()
        # A delete that was repeated finds nothing where stale receipts are told.
        assert settlement.outcome in ({outcome, Outcome.DELETED} if act is _complete else {outcome}), number
        found = await house.lease_all(house.stranger(), queues=(lease.queue,))
        if outcome is Outcome.RETURNED:
            assert [(one.id, one.counters.attempts) for one in found] == [(lease.id, int(act is _nack))], number
        else:
            assert found == [], number
        if not was_lost:
            return
    raise AssertionError("an act takes more calls than were tried")
