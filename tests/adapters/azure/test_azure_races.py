"""Two who act at the same time, and a call that fails between two others: who must win, and what must not be lost."""

from typing import Any

import msgspec
import pytest
from tests.adapters.azure.test_azure_faults import RECEIVE, TOUCH, ProxiedHarness, harness, queue_proxy, table_proxy

from tenure.adapters import azure
from tenure.broker import Broker, Swept
from tenure.claim import ClaimRequest, Fresh, Scope
from tenure.errors import BrokerUnavailable
from tenure.lease import LeaseState
from tenure.message import MessageState
from tenure.settlement import GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE

__all__ = ["harness", "queue_proxy", "table_proxy"]

OTHER = "other"


async def _elsewhere(harness: ProxiedHarness) -> tuple[Broker, Any]:
    """Another process."""
    broker, _ = azure.connect(harness._options, clock=harness.clock, hook=harness._tell_time)
    await broker.open()
    return broker, broker._store  # type: ignore[attr-defined]


async def test_what_was_learnt_of_a_new_holder_does_not_let_the_old_one_settle(
    harness: ProxiedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch reads one message anew; meanwhile somebody here reads that the other one has a new holder."""
    first, second = harness.stranger(), harness.stranger()
    await harness.put_many(2)
    mine, other = await harness.lease_all(first)
    broker, _ = await _elsewhere(harness)
    store = harness._store
    store.shared.forget(other.id)
    real: Any = store.find

    async def find(id: str) -> Any:
        if id == other.id and not harness.__dict__.setdefault("done", False):
            harness.__dict__["done"] = True
            await broker.retire(first, crashed=False)
            assert len(await broker.lease(harness.request(second, 2))) == 2
            assert (await real(mine.id)).life.owner == second
        return await real(id)

    monkeypatch.setattr(store, "find", find)
    told = await harness.broker.nack([Nack(mine, 0.0, BROKEN), Nack(other, 0.0, BROKEN)])
    assert [one.outcome for one in told] == [Outcome.TAKEN_OVER, Outcome.TAKEN_OVER]
    held = await broker.held(second)
    assert {lease.id for lease in held} == {mine.id, other.id}
    assert {lease.counters.attempts for lease in held} == {0}
    await broker.close()


async def test_a_sweep_beside_one_that_grants_grace_returns_nothing(
    harness: ProxiedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await harness.leased(harness.stranger())
    await harness.advance(100.0, sweeping=False)
    broker, _ = await _elsewhere(harness)
    store = harness._store
    real = store.save
    swept: list[Swept] = []

    async def save(lives: Any, act: str = "replace") -> Any:
        if not swept:
            swept.append(await broker.sweep(harness.sweep_request()))
        return await real(lives, act)

    monkeypatch.setattr(store, "save", save)
    assert (await harness.sweep()).grace
    assert swept[0].returned == ()
    assert [one.id for one in await harness.broker.held(lease.owner)] == [lease.id]
    await broker.close()


async def test_what_one_queue_lent_is_not_forgotten_because_the_next_one_is_busy(harness: ProxiedHarness) -> None:
    owner = await harness.owner()
    sent = await harness.put_many(3)
    await harness.put(queue=OTHER)
    await harness.lease(owner, 1, queues=(OTHER,))  # it is there now, and empty
    harness.queue.rule(lambda call: RECEIVE(call) and f"-{OTHER}/" in call.path, harness.queue.answer(503))
    lent = set()
    for _ in range(2):  # whichever comes first
        request = harness.request(owner, 8, queues=(QUEUE, OTHER))
        with pytest.raises(BrokerUnavailable) as caught:
            await harness.broker.lease(request)
        if caught.value.outcome_unknown:  # then whoever asked looks after it
            lent |= {lease.id for lease in await harness.broker.held(owner.id, request.request_id)}
    assert lent == {message.id for message in sent}


async def test_a_touch_that_the_queue_does_not_take_spares_the_others_of_its_batch(harness: ProxiedHarness) -> None:
    owner = await harness.owner()
    await harness.put_many(3)
    leases = await harness.lease_all(owner)
    await harness.advance(harness.lease_seconds * 0.6)
    harness.queue.rule(TOUCH, harness.queue.answer(503), times=1)
    touched = await harness.broker.touch(leases)
    assert sorted(lease.state for lease in touched) == [LeaseState.HELD, LeaseState.HELD, LeaseState.UNCERTAIN]
    swept = await harness.advance(harness.lease_seconds * 0.6)
    assert swept.returned == ()
    assert len(await harness.broker.held(owner.id)) == 3


async def test_leases_stand_while_only_the_queues_are_away(harness: ProxiedHarness) -> None:
    """The table says whose a message is, and can be reached."""
    owner = await harness.owner()
    lease = await harness.leased(owner)
    harness.queue.rule(TOUCH, harness.queue.answer(503))
    for _ in range(5):
        await harness.advance(harness.lease_seconds * 0.4)
        await harness.state.roster.beat(owner)
        with pytest.raises(BrokerUnavailable):
            await harness.broker.touch([lease])
    assert [one.id for one in await harness.broker.held(owner.id)] == [lease.id]
    harness.queue.clear()
    (settled,) = await harness.broker.give_back([GiveBack(lease)])
    assert settled.outcome is Outcome.RETURNED
    assert await harness.state_of(lease.id) is MessageState.READY


async def test_what_a_touch_hid_that_came_too_late_is_shown_at_once(
    harness: ProxiedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue took the touch, and then the message was returned: whoever waits for it need not wait a lease long."""
    owner, next_ = harness.stranger(), harness.stranger()
    lease = await harness.leased(owner)
    await harness.advance(harness.lease_seconds / 2)
    broker, _ = await _elsewhere(harness)
    store = harness._store
    real = store.save
    returned: list[str] = []

    async def save(lives: Any, act: str = "replace") -> Any:
        if not returned:
            returned.extend((await broker.retire(owner, crashed=False)).returned)
        return await real(lives, act)

    monkeypatch.setattr(store, "save", save)
    (touched,) = await harness.broker.touch([lease])
    assert (returned, touched.state) == ([lease.id], LeaseState.LOST)
    assert [one.id for one in await broker.lease(harness.request(next_))] == [lease.id]
    await broker.close()


async def test_the_fence_of_a_claim_rises_though_the_next_ones_clock_is_a_little_behind(
    harness: ProxiedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = Scope(QUEUE, "deliver", "key:invoice-7")
    ledger = harness.state.ledger
    (first,) = await ledger.claim([ClaimRequest(scope, "one", harness.stranger(), 30.0, "digest")])
    assert isinstance(first, Fresh)
    assert await ledger.release([first.token]) == [True]
    broker, state = azure.connect(harness._options, clock=harness.clock, hook=harness._tell_time)
    await broker.open()
    timeline = broker._store.timeline  # type: ignore[attr-defined]
    real = timeline.now
    monkeypatch.setattr(timeline, "now", lambda: real() - 0.5)
    (second,) = await state.ledger.claim([ClaimRequest(scope, "two", harness.stranger(), 30.0, "digest")])
    assert isinstance(second, Fresh)
    assert second.token.fence > first.token.fence
    await broker.close()


async def test_a_touch_that_need_not_hide_keeps_the_receipt_of_one_that_did(
    harness: ProxiedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator gives the lease more time while its holder beats: the queue's newest receipt must be known."""
    lease = await harness.leased(harness.stranger(), seconds=600.0)
    broker, other = await _elsewhere(harness)
    store, real = harness._store, harness._store.save
    shown: list[str] = []

    async def save(lives: Any, act: str = "replace") -> Any:
        if not shown:
            found = await broker.find(lease.id, lease.owner, lease.fence)
            assert found is not None
            await broker.touch([msgspec.structs.replace(found, seconds=1200.0)])
            shown.append((await other.find(lease.id)).life.receipt)
        return await real(lives, act)

    monkeypatch.setattr(store, "save", save)
    (touched,) = await harness.broker.touch([msgspec.structs.replace(lease, seconds=30.0)])
    assert touched.state is LeaseState.HELD
    assert [(await other.find(lease.id)).life.receipt] == shown
    await broker.close()
