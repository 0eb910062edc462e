"""What is special to the in-memory adapter: what it lends, in which order, and how that comes back."""

import asyncio

import pytest
from tests.adapters.memory.asking import BOOM, asking, claiming, message, put, take

from tenure.adapters.memory import connect
from tenure.broker import SweepRequest, Swept
from tenure.errors import BadArgument, MessageNotFound, OwnerRetired
from tenure.lease import LeaseState
from tenure.message import Outgoing, Overrides
from tenure.owner import Owner
from tenure.probe import SYSTEM_PROBE
from tenure.record import Progress
from tenure.rules.presence import judge
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.virtual import VirtualClock

# --- waiting --------------------------------------------------------------------------------------------


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


# --- the order of lending -------------------------------------------------------------------------------


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


# --- leases ---------------------------------------------------------------------------------------------


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


# --- sweeping and retiring ------------------------------------------------------------------------------


async def test_an_outage_gives_everybody_a_fresh_window(virtual_clock: VirtualClock) -> None:
    broker, state = connect(clock=virtual_clock)
    await put(broker, "a")
    await take(broker)
    assert not (await broker.sweep(SweepRequest())).grace, "it has all of its window"
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
    assert swept == [Swept(returned=("a",), queues={"a": "q"}), Swept(dead=("a",), queues={"a": "q"})]
    record = await state.records.get("a")
    assert record is not None
    assert record.reason is not None
    assert record.reason.code == "max_attempts"
    assert [ending.how for ending in record.history] == ["failed", "failed", "dead"]
    assert (await broker.send([Outgoing(message("b", key="k"))]))[0].duplicate is False


async def test_a_holder_with_presence_only_lost_its_lease(virtual_clock: VirtualClock) -> None:
    broker, state = connect(clock=virtual_clock)
    await state.roster.join(Owner("w", "1"))
    await broker.sweep(SweepRequest())
    await put(broker, "a")
    await take(broker, seconds=1.0, has_presence=True)
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
    judged = judge(await state.roster.members(), SYSTEM_PROBE)
    assert [(dead.owner, dead.left) for dead in judged.dead] == [(owner, False), (other, True)]
    assert judged.owners == [third]

    assert (await broker.retire(owner.id, crashed=True)).returned == ("a",)
    await state.roster.join(owner)
    judged = judge(await state.roster.members(), SYSTEM_PROBE)
    assert [dead.owner for dead in judged.dead] == [other]
    assert judged.owners == [third]
    with pytest.raises(OwnerRetired):
        await broker.lease(asking())
    with pytest.raises(OwnerRetired):
        await state.ledger.claim([claiming(message("a"))])
    assert (await broker.ack([Ack(lease)]))[0].outcome is Outcome.ALREADY_GONE
    assert (await take(broker, owner="v/2")).counters.crashes == 1
