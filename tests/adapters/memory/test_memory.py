"""What is special to the in-memory adapter: who shares it, from any thread, and how much it keeps.

What every adapter does is in the conformance suite.
"""

import asyncio
import gc
import threading
from collections.abc import Callable

import msgspec
import pytest
from tests.adapters.memory.asking import asking, message, put, take

from tenure.adapters import memory
from tenure.adapters.memory import MemoryBroker, MemoryState, connect
from tenure.adapters.memory.agenda import Agenda
from tenure.adapters.memory.retention import Retention
from tenure.broker import Broker
from tenure.errors import BadSetting
from tenure.event import Event, EventKind
from tenure.message import Message, MessageState, Outgoing
from tenure.settlement import Ack, Outcome
from tenure.state import State
from tenure.testing.virtual import VirtualClock


def test_it_is_a_broker_and_a_state() -> None:
    broker, state = connect()
    port: Broker = broker
    ports: State = state
    assert port.twin() is broker
    assert ports.twin() is state


# --- one name, one store --------------------------------------------------------------------------------


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


# --- any thread, any loop -------------------------------------------------------------------------------


@pytest.mark.real_time
async def test_a_send_from_another_thread_wakes_a_waiter() -> None:
    broker, _ = connect()
    waiter = asyncio.create_task(broker.wait(["q"], 60.0))
    await asyncio.sleep(0.05)
    thread = threading.Thread(target=lambda: asyncio.run(put(broker, "a")))
    thread.start()
    async with asyncio.timeout(30.0):
        await waiter
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


# --- the journal and the bounds -------------------------------------------------------------------------


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
