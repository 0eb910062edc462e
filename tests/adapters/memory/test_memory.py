"""What is special to the in-memory adapter; what every adapter does is in the conformance suite."""

import asyncio
import gc
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tenure.adapters import memory
from tenure.adapters.memory import MemoryBroker, MemoryState, connect
from tenure.adapters.memory.agenda import Agenda
from tenure.adapters.memory.retention import Retention
from tenure.broker import Broker, SweepRequest, Swept
from tenure.claim import ClaimRequest, Conflict, Done, Fresh, Running, Scope, Seal, digest
from tenure.errors import BadArgument, BadSetting, MessageNotFound, OwnerRetired
from tenure.event import Event, EventKind
from tenure.lease import Lease, LeaseRequest, LeaseState
from tenure.message import Message, MessageState, Outgoing, Overrides
from tenure.owner import Owner
from tenure.record import Progress
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.state import State
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Reason

BOOM = Reason("error", "it broke")


def message(id: str, **changes: Any) -> Message:
    return Message(**{"id": id, "queue": "q", "task": "t", "body": msgspec.Raw(b"{}"), **changes})


def asking(owner: str = "w/1", want: int = 10, **changes: Any) -> LeaseRequest:
    fields = {"owner": owner, "request_id": "r", "queues": ("q",), "want": want, "seconds": 30.0}
    return LeaseRequest(**{**fields, **changes})


def claiming(message: Message, owner: str = "w/1", seconds: float = 30.0) -> ClaimRequest:
    return ClaimRequest(Scope.of(message), message.id, owner, seconds, digest(message))


async def put(broker: MemoryBroker, *ids: str, **changes: Any) -> None:
    await broker.send([Outgoing(message(id, **changes)) for id in ids])


async def take(broker: MemoryBroker, **changes: Any) -> Lease:
    [lease] = await broker.lease(asking(**{"want": 1, **changes}))
    return lease


def test_it_is_a_broker_and_a_state() -> None:
    broker, state = connect()
    port: Broker = broker
    ports: State = state
    assert port.twin() is broker
    assert ports.twin() is state


# ---- one name, one store


async def test_the_same_name_is_the_same_store() -> None:
    first, _ = connect("shared")
    second, state = connect("shared")
    await put(first, "a")
    assert (await take(second)).id == "a"
    record = await state.records.get("a")
    assert record is not None
    assert record.state is MessageState.LEASED


async def test_without_a_name_every_store_is_private() -> None:
    first, _ = connect()
    second, _ = connect()
    await put(first, "a")
    assert await second.lease(asking()) == []


def test_a_store_dies_with_its_users() -> None:
    kept = connect("mortal")
    assert "mortal" in memory._stores
    del kept
    gc.collect()
    assert "mortal" not in memory._stores


def test_one_name_with_other_settings_is_refused(virtual_clock: VirtualClock) -> None:
    kept = connect("picky")
    with pytest.raises(BadSetting, match="memory://picky"):
        connect("picky", exact=False)
    with pytest.raises(BadSetting, match="another clock"):
        connect("picky", clock=virtual_clock)
    assert kept


def test_only_traits_it_can_behave_by_can_be_changed() -> None:
    broker, _ = connect(body_limit=100, fairness=None)
    assert broker.traits.body_limit == 100
    assert broker.traits.fairness is None
    with pytest.raises(BadSetting, match="native_expiry"):
        connect(native_expiry=1)


# ---- any thread, any loop


@pytest.mark.real_time
async def test_a_send_from_another_thread_wakes_a_waiter() -> None:
    broker, _ = connect()
    waiter = asyncio.create_task(broker.wait(["q"], 60.0))
    await asyncio.sleep(0.05)
    thread = threading.Thread(target=lambda: asyncio.run(put(broker, "a")))
    thread.start()
    await asyncio.wait_for(waiter, 30.0)
    thread.join()
    assert (await take(broker)).id == "a"


@pytest.mark.real_time
async def test_many_threads_lend_each_message_once() -> None:
    broker, _ = connect()
    await put(broker, *(f"{number:04}" for number in range(500)))
    taken: list[str] = []

    async def consume(owner: str) -> None:
        while leases := await broker.lease(asking(owner, want=3)):
            taken.extend(lease.id for lease in leases)
            settlements = await broker.ack([Ack(lease) for lease in leases])
            assert {settlement.outcome for settlement in settlements} == {Outcome.DELETED}

    def run(owner: str) -> Callable[[], None]:
        return lambda: asyncio.run(consume(owner))

    threads = [threading.Thread(target=run(f"w/{number}")) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert sorted(taken) == [f"{number:04}" for number in range(500)]


async def test_a_busy_consumer_lets_other_tasks_run() -> None:
    broker, _ = connect()
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    for _ in range(10):
        await broker.lease(asking())
    task.cancel()
    assert turns >= 9


# ---- waiting


async def test_wait_ends_when_the_next_message_is_due(virtual_clock: VirtualClock) -> None:
    broker, _ = connect(clock=virtual_clock)
    await broker.send([Outgoing(message("a"), 7.3)])
    began = virtual_clock.now
    await broker.wait(["other", "q"], 60.0)
    assert virtual_clock.now - began == pytest.approx(7.3)
    assert (await take(broker)).id == "a"


async def test_wait_can_be_cancelled_and_leaves_nothing_behind(virtual_clock: VirtualClock) -> None:
    broker, _ = connect(clock=virtual_clock)
    waiter = asyncio.create_task(broker.wait(["q"], 60.0))
    await asyncio.sleep(1.0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert not broker._store.sleepers._by_queue


async def test_a_return_wakes_a_waiter(virtual_clock: VirtualClock) -> None:
    broker, _ = connect(clock=virtual_clock)
    await put(broker, "a")
    lease = await take(broker)
    waiter = asyncio.create_task(broker.wait(["q"], 60.0))
    await asyncio.sleep(1.0)
    await broker.give_back([GiveBack(lease)])
    await waiter
    assert virtual_clock.now == pytest.approx(1001.0)


# ---- the order of lending


async def test_every_tenth_message_is_the_oldest_of_a_lower_priority() -> None:
    broker, _ = connect()
    await put(broker, "low")
    await put(broker, "lower", priority=1)
    await put(broker, *(f"high{number:02}" for number in range(25)), priority=9)
    order = [lease.id for lease in await broker.lease(asking(want=27))]
    assert order.index("low") == 9
    assert order.index("lower") == 19


async def test_a_returned_message_comes_before_the_backlog() -> None:
    broker, _ = connect()
    await put(broker, "a", "b", "c")
    lease = await take(broker)
    await broker.nack([Nack(lease, 0.0, BOOM)])
    assert [lease.id for lease in await broker.lease(asking())] == ["a", "b", "c"]


async def test_a_call_begins_at_another_queue_each_time() -> None:
    broker, _ = connect()
    for queue in ("q", "p"):
        await put(broker, *(f"{queue}{number}" for number in range(4)), queue=queue)
    order = [(await take(broker, queues=("q", "p"))).queue for _ in range(4)]
    assert sorted(order) == ["p", "p", "q", "q"]


# ---- leases


async def test_a_message_has_its_own_lease_before_its_tasks(virtual_clock: VirtualClock) -> None:
    broker, _ = connect(clock=virtual_clock)
    await put(broker, "a", overrides=Overrides(lease_seconds=5.0))
    await put(broker, "b")
    await put(broker, "c", task="other")
    leases = await broker.lease(asking(seconds_by_task={"t": 9.0}))
    assert [lease.seconds for lease in leases] == [5.0, 9.0, 30.0]
    assert [lease.deadline for lease in leases] == [1005.0, 1009.0, 1030.0]


async def test_max_hold_ends_a_delivery_however_often_it_is_touched(virtual_clock: VirtualClock) -> None:
    broker, _ = connect(clock=virtual_clock, max_hold_seconds=40.0)
    await put(broker, "a")
    lease = await take(broker)
    await asyncio.sleep(20.0)
    [lease] = await broker.touch([lease])
    assert lease.deadline == 1040.0


async def test_a_stale_holder_changes_nothing(virtual_clock: VirtualClock) -> None:
    broker, state = connect(clock=virtual_clock)
    await broker.sweep(SweepRequest())
    await put(broker, "a")
    stale = await take(broker, seconds=1.0)
    await asyncio.sleep(2.0)
    assert (await broker.sweep(SweepRequest())).returned == ("a",)
    assert (await broker.ack([Ack(stale)]))[0].outcome is Outcome.ALREADY_GONE
    lease = await take(broker, owner="w/2")
    assert lease.fence > stale.fence
    for settlement in (
        *await broker.ack([Ack(stale)]),
        *await broker.nack([Nack(stale, 0.0, BOOM)]),
        *await broker.give_back([GiveBack(stale)]),
        *await broker.dead_letter([DeadLetter(stale, BOOM)]),
    ):
        assert settlement.outcome is Outcome.TAKEN_OVER
    assert (await broker.touch([stale]))[0].state is LeaseState.LOST
    assert await state.records.progress([(stale, Progress(0.5))]) == [False]
    assert await state.records.checkpoint(stale, b"x") is False
    assert [held.fence for held in await broker.held("w/2", "r")] == [lease.fence]


# ---- sweeping and retiring


async def test_an_outage_gives_everybody_a_fresh_window(virtual_clock: VirtualClock) -> None:
    broker, state = connect(clock=virtual_clock)
    await put(broker, "a")
    await take(broker)
    assert (await broker.sweep(SweepRequest())).grace
    await asyncio.sleep(31.0)
    assert (await broker.sweep(SweepRequest())).grace
    record = await state.records.get("a")
    assert record is not None
    assert record.deadline_in == pytest.approx(30.0)
    assert (await broker.sweep(SweepRequest())) == Swept()


async def test_a_holder_without_presence_uses_its_attempts_up(virtual_clock: VirtualClock) -> None:
    broker, state = connect(clock=virtual_clock)
    await broker.sweep(SweepRequest())
    await put(broker, "a", key="k", overrides=Overrides(max_attempts=2))
    swept = []
    for _ in range(2):
        await take(broker, seconds=1.0)
        await asyncio.sleep(2.0)
        swept.append(await broker.sweep(SweepRequest()))
    assert swept == [Swept(returned=("a",)), Swept(dead=("a",))]
    record = await state.records.get("a")
    assert record is not None
    assert record.reason is not None
    assert record.reason.code == "max_attempts"
    assert [ending.how for ending in record.history] == ["failed", "failed"]
    assert (await broker.send([Outgoing(message("b", key="k"))]))[0].duplicate is False


async def test_a_holder_with_presence_only_lost_its_lease(virtual_clock: VirtualClock) -> None:
    broker, state = connect(clock=virtual_clock)
    await state.roster.join(Owner("w", "1"))
    await broker.sweep(SweepRequest())
    await put(broker, "a")
    await take(broker, seconds=1.0)
    await asyncio.sleep(2.0)
    assert (await broker.sweep(SweepRequest(max_attempts=1))).returned == ("a",)
    lease = await take(broker)
    assert (lease.counters.lost, lease.counters.attempts, lease.counters.deliveries) == (1, 0, 2)


async def test_a_lease_without_a_deadline_is_adopted(virtual_clock: VirtualClock) -> None:
    broker, state = connect(clock=virtual_clock)
    await broker.sweep(SweepRequest())
    await put(broker, "a")
    with pytest.raises(MessageNotFound):
        state.drop_deadline("a")
    lease = await take(broker)
    state.drop_deadline("a")
    assert (await broker.sweep(SweepRequest(lease_seconds=4.0))).adopted == ("a",)
    record = await state.records.get("a")
    assert record is not None
    assert record.deadline_in == 4.0
    assert (await broker.ack([Ack(lease)]))[0].took_effect


async def test_a_killed_owner_is_proven_dead_until_it_is_retired() -> None:
    broker, state = connect()
    owner, other, third = Owner("w", "1"), Owner("v", "2"), Owner("u", "3")
    with pytest.raises(BadArgument):
        state.kill(owner.id)
    for member in (owner, other, third):
        await state.roster.join(member)
    await put(broker, "a")
    lease = await take(broker)
    state.kill(owner.id)
    await state.roster.leave(other)
    assert [(dead.owner, dead.left) for dead in await state.roster.dead()] == [(other, True), (owner, False)]
    assert await state.roster.alive() == [third]

    assert (await broker.retire(owner.id, crashed=True)).returned == ("a",)
    await state.roster.join(owner)
    assert [dead.owner for dead in await state.roster.dead()] == [other]
    assert await state.roster.alive() == [third]
    with pytest.raises(OwnerRetired):
        await broker.lease(asking())
    with pytest.raises(OwnerRetired):
        await state.ledger.claim([claiming(message("a"))])
    assert (await broker.ack([Ack(lease)]))[0].outcome is Outcome.ALREADY_GONE
    assert (await take(broker, owner="v/2")).counters.crashes == 1


# ---- the two shapes


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


# ---- claims


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


# ---- redrive, delete, look


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
    page = await broker.browse("q", MessageState.READY, limit=2)
    rest = await broker.browse("q", MessageState.READY, after=page[-1].cursor)
    assert [seen.id for seen in page + rest] == list("abcde")
    [depth] = await broker.depth()
    assert (depth.ready, depth.delayed, depth.leased, depth.dead) == (5, 0, 0, 0)
    assert depth.oldest_age_seconds == pytest.approx(5.0)
    [empty] = await broker.depth(["other"])
    assert (empty.ready, empty.oldest_age_seconds) == (0, None)


# ---- the journal and the bounds


async def test_places_in_the_journal_are_never_used_again(virtual_clock: VirtualClock) -> None:
    _, state = connect(clock=virtual_clock)
    journal = state.journal
    old = Event(EventKind.COMPLETED, virtual_clock.wall() - 100)
    await journal.append([old, old, Event(EventKind.DEAD, virtual_clock.wall())])
    assert [stored.seq for stored in await journal.read(1, 1)] == [2]
    assert await journal.prune(50.0) == 2
    assert [stored.seq for stored in await journal.read()] == [3]
    assert await journal.prune(-1.0) == 1
    assert await journal.last() == 3


async def test_finished_records_are_bounded_but_known_for_ten_minutes(virtual_clock: VirtualClock) -> None:
    broker, state = connect(clock=virtual_clock, keep_records=2)
    for id in "abc":
        await put(broker, id)
        await broker.ack([Ack(await take(broker), b"1")])
    assert (await broker.send([Outgoing(message("a"))]))[0].duplicate
    await asyncio.sleep(601.0)
    await put(broker, "d")
    await broker.ack([Ack(await take(broker))])
    assert [await state.records.get(id) is not None for id in "abcd"] == [False, False, True, True]


def test_retention_drops_by_age_and_by_number() -> None:
    kept: Retention[str] = Retention(limit=2, seconds=1000.0)
    assert kept.keep("a", 0.0) == []
    assert kept.keep("b", 10.0) == []
    assert kept.keep("c", 605.0) == ["a"]
    assert kept.keep("d", 606.0) == []
    assert kept.keep("e", 1700.0) == ["b", "c", "d"]
    assert "e" in kept


def test_an_agenda_stays_small_when_its_ids_come_and_go() -> None:
    agenda = Agenda()
    agenda.put("last", (1e9,))
    for number in range(1000):
        agenda.put(f"{number}", (float(number),))
        agenda.remove(f"{number}")
    for number in range(1000):
        agenda.put("moving", (float(number),))
    assert len(agenda._heap) < 200
    assert agenda.first() == ((999.0,), "moving")


def test_both_ends_of_a_connection_share_one_store() -> None:
    broker, state = connect()
    assert isinstance(broker, MemoryBroker)
    assert isinstance(state, MemoryState)
    assert broker._store is state._store


async def test_who_waits_is_woken_in_the_order_in_which_they_came() -> None:
    broker, _ = connect()
    woken: list[int] = []

    async def wait(number: int) -> None:
        await broker.wait(["q"], 60.0)
        woken.append(number)

    waiting = [asyncio.create_task(wait(number)) for number in range(50)]
    await asyncio.sleep(0.1)
    await broker.send([Outgoing(Message(id="m", queue="q", task="t", body=msgspec.Raw(b"{}")))])
    await asyncio.gather(*waiting)
    assert woken == list(range(50))
