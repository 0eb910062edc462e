"""What is gone, or refused for good, while workers run: told, and held against one message alone."""

from collections.abc import Iterator

import msgspec
import pytest
from tests.adapters.azure.test_azure_faults import DELETE, PUT, TOUCH, ProxiedHarness
from tests.servers.azure import shared_azure
from tests.servers.proxy_http import HttpProxy

from tenure.adapters import azure
from tenure.adapters.azure.store import COMMON
from tenure.adapters.azure.traits import TRAITS
from tenure.broker import Broker
from tenure.envelope import encode
from tenure.errors import BrokerUnavailable, StoreMissing
from tenure.lease import LeaseState
from tenure.message import MessageState, Outgoing
from tenure.settlement import Ack, DeadLetter, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE

#: As the service answers who asks it to hide a message for longer than it lives.
_OUT_OF_RANGE = {"x-ms-error-code": "OutOfRangeQueryParameterValue"}


@pytest.fixture
def queue_proxy() -> Iterator[HttpProxy]:
    """Before the queues."""
    with HttpProxy(shared_azure().ports["queue"]) as proxy:
        yield proxy


@pytest.fixture
def table_proxy() -> Iterator[HttpProxy]:
    """Before the table."""
    with HttpProxy(shared_azure().ports["table"]) as proxy:
        yield proxy


@pytest.fixture
def harness(queue_proxy: HttpProxy, table_proxy: HttpProxy) -> ProxiedHarness:
    """In virtual time."""
    return ProxiedHarness(queue_proxy, table_proxy)


async def _another(harness: ProxiedHarness, **options: object) -> Broker:
    """Another process, which creates nothing unless told."""
    account = msgspec.structs.replace(harness._options, **{"create": False} | options)
    broker, _ = azure.connect(account, clock=harness.clock, hook=harness._tell_time)
    await broker.open()
    return broker


async def _remove_queue(harness: ProxiedHarness) -> None:
    await harness._store.call("removing", harness._store.queue(QUEUE).delete_queue)


# --- what the queue refuses for good --------------------------------------------------------------------


async def test_a_touch_that_is_refused_for_good_leaves_the_lease_uncertain_and_spares_the_others(
    harness: ProxiedHarness,
) -> None:
    owner = await harness.owner()
    await harness.put_many(3)
    leases = await harness.lease_all(owner)
    await harness.advance(harness.lease_seconds * 0.6)
    harness.queue.rule(TOUCH, harness.queue.answer(400, b"", **_OUT_OF_RANGE), times=1)
    touched = await harness.broker.touch(leases)
    assert sorted(lease.state for lease in touched) == [LeaseState.HELD, LeaseState.HELD, LeaseState.UNCERTAIN]
    assert len(await harness.broker.held(owner.id)) == 3


async def test_a_nack_stands_though_the_queue_refuses_to_show_its_message(harness: ProxiedHarness) -> None:
    lease = await harness.leased(harness.stranger())
    harness.queue.rule(TOUCH, harness.queue.answer(400, b"", **_OUT_OF_RANGE), times=1)
    (settlement,) = await harness.broker.nack([Nack(lease, 7.0, BROKEN)])
    assert settlement.outcome == Outcome.RETURNED
    assert await harness.state_of(lease.id) is MessageState.DELAYED


async def test_a_message_that_the_queue_refuses_to_hide_again_ends_no_lease_call(harness: ProxiedHarness) -> None:
    lease = await harness.leased(harness.stranger())
    store = harness._store
    kept = await store.find(lease.id)
    assert kept is not None
    await store.call(
        "showing",
        lambda: store.queue(QUEUE).update_message(kept.life.message_id, kept.life.receipt, visibility_timeout=0),
    )
    harness.queue.rule(TOUCH, harness.queue.answer(400, b"", **_OUT_OF_RANGE), times=1)
    assert await harness.lease(harness.stranger()) == []
    assert await harness.state_of(lease.id) is MessageState.LEASED


@pytest.mark.parametrize("verb", ["ack", "dead_letter"])
async def test_what_is_settled_stays_so_though_the_queue_refuses_to_delete_it(
    harness: ProxiedHarness, verb: str
) -> None:
    lease = await harness.leased(harness.stranger())
    harness.queue.rule(DELETE, harness.queue.answer(400, b"", **_OUT_OF_RANGE), times=1)
    if verb == "ack":
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert (settlement.outcome, settlement.attempts) == (Outcome.UNKNOWN, 1)
    else:
        (settlement,) = await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        assert settlement.outcome == Outcome.DEAD
        assert await harness.state_of(lease.id) is MessageState.DEAD


# --- what is half done and cannot be finished -----------------------------------------------------------


@pytest.mark.parametrize("is_removed", [True, False], ids=["queue removed", "text refused"])
async def test_a_redrive_that_cannot_be_finished_holds_up_no_sweep(harness: ProxiedHarness, is_removed: bool) -> None:
    dead = await harness.leased(harness.stranger())
    await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
    broker = await _another(harness)
    if is_removed:
        await _remove_queue(harness)
        with pytest.raises(StoreMissing):
            await broker.redrive([dead.id])
    else:
        harness.queue.rule(PUT, harness.queue.answer(413, b"", **{"x-ms-error-code": "RequestBodyTooLarge"}))
        with pytest.raises(Exception, match="RequestBodyTooLarge"):
            await broker.redrive([dead.id])
    for _ in range(2):
        await harness.advance(5.0, sweeping=False)
        await broker.sweep(harness.sweep_request())
    harness.queue.clear()
    if is_removed:
        await harness._store.create(harness._store.queue(QUEUE).create_queue)
    await harness.advance(5.0, sweeping=False)
    await broker.sweep(harness.sweep_request())
    assert (await harness.lease_one(harness.stranger())).id == dead.id
    await broker.close()


@pytest.mark.parametrize("encoding", ["plain", "base64"])
@pytest.mark.parametrize("wire", ["envelope", "plain"])
async def test_the_largest_message_can_be_redriven(harness: ProxiedHarness, encoding: str, wire: str) -> None:
    broker = await _another(harness, create=True, encoding=encoding, wire=wire)
    # What XML cannot carry takes as much room as base64 in either encoding.
    message = harness.message(body={"text": "\ufffe"})
    spare = TRAITS.body_limit - len(encode(message))
    sent = None
    while sent is None or sent.refusal is not None:
        message = harness.message(body={"text": "\ufffe" + "x" * spare})
        (sent,) = await broker.send([Outgoing(message)])
        spare -= 1
    for _ in range(12):
        lease = await harness.lease_one(harness.stranger())
        assert lease.id == message.id
        await broker.dead_letter([DeadLetter(lease, BROKEN)])
        assert await broker.redrive([lease.id]) == [lease.id]
    await broker.close()


# --- what goes ------------------------------------------------------------------------------------------


async def test_a_queue_that_was_never_there_is_missing_and_one_that_goes_is_an_outage(harness: ProxiedHarness) -> None:
    broker = await _another(harness)
    with pytest.raises(StoreMissing):
        await broker.lease(harness.request(harness.stranger()))
    await harness.put()
    (lease,) = await broker.lease(harness.request(harness.stranger()))
    await _remove_queue(harness)
    with pytest.raises(BrokerUnavailable, match="tried again"):
        await broker.lease(harness.request(harness.stranger()))
    with pytest.raises(BrokerUnavailable, match="tried again"):
        await broker.wait([QUEUE], 1.0)
    await harness.advance(5.0, sweeping=False)
    (touched,) = await broker.touch([lease])
    assert touched.state == LeaseState.UNCERTAIN
    (done,) = await broker.ack([Ack(touched)])
    assert done.outcome == Outcome.ALREADY_GONE
    await broker.close()


async def test_a_table_that_goes_is_an_outage_and_nobodys_lease_is_lost(harness: ProxiedHarness) -> None:
    owner = await harness.owner()
    await harness.put_many(2)
    leases = await harness.lease_all(owner)
    await harness._store.call("removing", harness._store.clients.table.delete_table)
    with pytest.raises(BrokerUnavailable, match="tried again"):
        await harness.broker.touch(leases)
    with pytest.raises(BrokerUnavailable, match="tried again"):
        await harness.broker.ack([Ack(leases[0])])
    with pytest.raises(BrokerUnavailable, match="tried again"):
        await harness._store.rows.get(COMMON, "layout")
