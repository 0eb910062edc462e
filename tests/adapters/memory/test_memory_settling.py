"""What is special to the in-memory adapter: how messages end in its two shapes, and what is done about them later."""

import asyncio

import msgspec
import pytest
from tests.adapters.memory.asking import BOOM, asking, claiming, message, put, take

from tenure.adapters.memory import connect
from tenure.broker import Query
from tenure.claim import Conflict, Done, Fresh, Running, Seal
from tenure.client.browse_all import pages
from tenure.message import MessageState, Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack
from tenure.testing.virtual import VirtualClock

# --- the two shapes -------------------------------------------------------------------------------------


async def test_exact_commits_result_key_and_handoffs_with_the_ack() -> None:
    broker, state = connect()
    await put(broker, "a", key="k")
    await broker.ack([Ack(await take(broker), b"42", (Outgoing(message("next")),))])
    record = await state.records.get("a")
    assert record is not None
    assert (record.state, record.result) == (MessageState.COMPLETED, b"42")
    [sent] = await broker.send([Outgoing(message("b", key="k"))])
    assert (sent.id, sent.duplicate) == ("a", True)
    assert await state.ledger.claim([claiming(message("b", key="k"))]) == [Done(b"42")]
    assert (await take(broker)).id == "next"


async def test_exact_refuses_a_key_with_another_payload() -> None:
    broker, _ = connect()
    first, second = message("a", key="k"), message("b", key="k", body=msgspec.Raw(b"[]"))
    sent = await broker.send([Outgoing(first), Outgoing(second)])
    assert sent[1].refusal is not None
    assert sent[1].refusal.code == "key_conflict"


async def test_a_sealed_result_stands_when_only_the_ack_is_repeated() -> None:
    broker, state = connect()
    await put(broker, "a", key="k")
    lease = await take(broker)
    [fresh] = await state.ledger.claim([claiming(message("a", key="k"))])
    assert isinstance(fresh, Fresh)
    assert await state.ledger.seal([Seal(fresh.token, b"42")]) == [True]
    await broker.ack([Ack(lease)])
    record = await state.records.get("a")
    assert record is not None
    assert record.result == b"42"


async def test_not_exact_knows_neither_results_nor_keys_nor_handoffs() -> None:
    broker, state = connect(exact=False)
    assert not broker.traits.settles_exactly_once
    assert not broker.traits.keys_at_send
    assert not broker.traits.unique_at_send
    await put(broker, "a", "b", key="k")
    leases = await broker.lease(asking())
    assert [lease.id for lease in leases] == ["a", "b"]
    await broker.ack([Ack(leases[0], b"42", (Outgoing(message("next")),))])
    assert await state.records.get("a") is None
    assert await broker.lease(asking()) == []
    assert (await broker.send([Outgoing(message("a"))]))[0].duplicate


async def test_not_exact_finds_status_and_result_in_the_ledger() -> None:
    broker, state = connect(exact=False)
    await put(broker, "a", "b", key="k")
    first, second = await broker.lease(asking())
    keyed = [message("a", key="k"), message("b", key="k")]
    [fresh, running] = await state.ledger.claim([claiming(keyed[0]), claiming(keyed[1], "w/2")])
    assert isinstance(fresh, Fresh)
    assert isinstance(running, Running)
    assert running.owner == "w/1"
    await state.ledger.seal([Seal(fresh.token, b"42", (Outgoing(message("next")),))])
    sealed = await state.records.get("a")
    assert sealed is not None
    assert (sealed.state, sealed.result) == (MessageState.COMPLETED, b"42")

    [done] = await state.ledger.claim([claiming(keyed[1], "w/2")])
    assert done == Done(b"42", (Outgoing(message("next")),))
    await broker.ack([Ack(first), Ack(second)])
    for id in ("a", "b"):
        record = await state.records.get(id)
        assert record is not None
        assert (record.state, record.result) == (MessageState.COMPLETED, b"42")


async def test_a_conflict_says_whose_key_it_is_and_does_not_make_the_other_done() -> None:
    broker, state = connect(exact=False)
    await put(broker, "a", key="k")
    [fresh] = await state.ledger.claim([claiming(message("a", key="k"))])
    assert isinstance(fresh, Fresh)
    await state.ledger.seal([Seal(fresh.token, b"1")])
    other = message("b", key="k", body=msgspec.Raw(b"[]"))
    assert await state.ledger.claim([claiming(other)]) == [Conflict("a")]
    assert await state.records.get("b") is None


# --- claims ---------------------------------------------------------------------------------------------


async def test_giving_a_message_back_ends_its_claim_where_both_are_one() -> None:
    for exact in (True, False):
        broker, state = connect(exact=exact)
        await put(broker, "a", key="k")
        (lease,) = await broker.lease(asking())
        [fresh] = await state.ledger.claim([claiming(message("a", key="k"))])
        assert isinstance(fresh, Fresh)
        await broker.give_back([GiveBack(lease)])
        # Not exact: the ledger is elsewhere, and whoever claimed must release.
        assert await state.ledger.renew([fresh.token]) == [not exact]


async def test_a_lapsed_claim_is_taken_over_by_a_higher_fence(virtual_clock: VirtualClock) -> None:
    _, state = connect(clock=virtual_clock)
    plain = message("a")
    [first] = await state.ledger.claim([claiming(plain)])
    await asyncio.sleep(31.0)
    [second] = await state.ledger.claim([claiming(plain, "w/2")])
    assert isinstance(first, Fresh)
    assert isinstance(second, Fresh)
    assert second.token.fence > first.token.fence
    assert await state.ledger.seal([Seal(first.token, b"1"), Seal(second.token, b"2")]) == [False, True]


async def test_releasing_an_unkeyed_claim_leaves_no_row() -> None:
    _, state = connect()
    [fresh] = await state.ledger.claim([claiming(message("a"))])
    assert isinstance(fresh, Fresh)
    assert await state.ledger.release([fresh.token, fresh.token]) == [True, True]
    keys = state._store.keys
    assert not keys._rows
    assert not keys._running
    assert not keys._scope_of


# --- redrive, delete, look ------------------------------------------------------------------------------


async def test_a_redrive_keeps_checkpoint_and_history_and_begins_a_new_generation() -> None:
    broker, state = connect()
    await put(broker, "a", key="k")
    lease = await take(broker)
    assert await state.records.checkpoint(lease, b"here")
    await broker.dead_letter([DeadLetter(lease, BOOM, counted=True)])
    await put(broker, "b", key="k")
    assert await broker.redrive(["a", "b", "missing"]) == ["a"]
    lease = await take(broker)
    assert msgspec.json.decode(lease.envelope)["generation"] == 1
    assert (lease.counters.attempts, lease.counters.deliveries) == (0, 1)
    assert await state.records.load_checkpoint("a") == b"here"
    record = await state.records.get("a")
    assert record is not None
    assert [ending.how for ending in record.history] == ["dead", "redriven"]


async def test_an_envelope_that_nobody_can_read_is_lent_buried_and_redriven_as_it_is() -> None:
    broker, state = connect()
    await put(broker, "a", key="k")
    raw = state.damage("a")
    await broker.dead_letter([DeadLetter(await take(broker), BOOM)])
    assert await broker.redrive(["a"]) == ["a"]
    assert (await take(broker)).envelope == raw


async def test_delete_cancels_what_nobody_holds() -> None:
    broker, state = connect()
    await put(broker, "a", "b", key=None)
    await take(broker)
    assert await broker.delete(["a", "b", "missing"]) == ["b"]
    record = await state.records.get("b")
    assert record is not None
    assert record.state is MessageState.CANCELLED
    assert (await broker.send([Outgoing(message("b"))]))[0].duplicate
    assert await broker.lease(asking()) == []


async def test_not_exact_does_not_know_what_waits() -> None:
    broker, _ = connect(exact=False)
    await put(broker, "a", "b", unique="u")
    assert [lease.id for lease in await broker.lease(asking())] == ["a", "b"]


async def test_nothing_is_remembered_of_a_unique_message_that_no_longer_waits() -> None:
    broker, _ = connect()
    await put(broker, "a", "b", unique="u")
    assert list(broker._store.uniques) == [("q", "t", "u")]
    await broker.cancel([(await take(broker)).id])
    assert not broker._store.uniques


async def test_browse_pages_in_order_of_arrival_and_depth_counts(virtual_clock: VirtualClock) -> None:
    broker, _ = connect(clock=virtual_clock)
    await put(broker, *"abcde")
    lease = await take(broker)
    await asyncio.sleep(5.0)
    await broker.nack([Nack(lease, 0.0, BOOM)])
    query = Query(states=(MessageState.READY,), queues=("q",), limit=2)
    found = [page.messages async for page in pages(broker, query)]
    assert [seen.id for page in found for seen in page] == list("abcde")
    assert [len(page) for page in found] == [2, 2, 1]
    [depth] = await broker.depth()
    assert (depth.ready, depth.delayed, depth.leased, depth.dead) == (5, 0, 0, 0)
    assert depth.oldest_age_seconds == pytest.approx(5.0)
    [empty] = await broker.depth(["other"])
    assert (empty.ready, empty.oldest_age_seconds) == (0, None)
