"""What is held, as others see it: beats are counted without a statement more, and a plain message grows by nothing."""

import asyncio

import msgspec

from tenure.broker import SweepRequest
from tenure.message import MessageState
from tenure.query import Query
from tenure.record import Progress
from tenure.settlement import Ack, GiveBack, Outcome

from .place import QUEUE, Place


async def test_a_touch_counts_and_says_what_the_worker_knows(place: Place) -> None:
    await place.send("a", "b")
    first, second = await place.lease(2, has_presence=True)
    begun = place.clock.wall()
    await asyncio.sleep(5.0)
    await place.broker.touch([msgspec.structs.replace(first, seconds=60.0, size=7.0, predicted_seconds=3.0)])
    await asyncio.sleep(5.0)
    await place.broker.touch([msgspec.structs.replace(first, seconds=60.0, size=8.0)])
    await place.state.records.progress([(first, Progress(0.5, "half"))])
    other, one = (await place.broker.leases()).leases
    assert (other.id, other.beats, other.last_beat_at, other.seconds) == ("b", 0, None, 30.0)
    assert (one.beats, one.seconds, one.size, one.predicted_seconds) == (2, 60.0, 8.0, None)
    assert one.progress == Progress(0.5, "half")
    assert abs((one.last_beat_at or 0.0) - begun - 10.0) < 0.01
    assert abs((one.leased_at or 0.0) - begun) < 0.01
    found = await place.broker.find("a", first.owner, first.fence)
    assert found is not None
    assert (found.seconds, found.receipt) == (60.0, first.receipt)
    assert [one.outcome for one in await place.broker.ack([Ack(found), Ack(second)])] == [Outcome.DELETED] * 2


async def test_a_touched_message_is_acked_as_fast_as_others(place: Place) -> None:
    await place.send("a", "b")
    leases = await place.lease(2)
    await place.broker.touch(leases)
    statements: list[str] = []
    place.store._writer._db.set_trace_callback(statements.append)
    await place.broker.ack([Ack(lease, b"1") for lease in leases])
    assert len([one for one in statements if one.startswith("UPDATE message")]) == 1
    assert not [one for one in statements if one.startswith("SELECT")]


async def test_the_next_holder_begins_at_zero(place: Place) -> None:
    await place.send("a")
    (lease,) = await place.lease(1)
    await place.broker.touch([msgspec.structs.replace(lease, size=7.0)])
    await place.broker.give_back([GiveBack(lease)])
    await place.lease(1, owner="w/2")
    (one,) = (await place.broker.leases()).leases
    assert (one.owner, one.beats, one.size) == ("w/2", 0, None)


async def test_the_sweeps_are_told_and_tidy_up_what_was_said(place: Place) -> None:
    assert (await place.broker.leases(limit=0)).next_sweep_at is None
    await place.send("a")
    (lease,) = await place.lease(1)
    await place.broker.touch([msgspec.structs.replace(lease, size=7.0)])
    await place.broker.ack([Ack(lease)])
    await place.send("b")
    await place.lease(1)  # the newest loan is never removed
    await place.broker.sweep(SweepRequest(interval_seconds=5.0))
    now = place.clock.wall()
    told = await place.broker.leases(limit=0)
    assert (told.last_sweep_at, told.next_sweep_at) == (now, now + 5.0)
    await place.store.write(lambda _: None)
    assert place.sql("SELECT count(*) FROM beat") == [(0,)]


async def test_completed_messages_behind_others_are_found_step_by_step(place: Place) -> None:
    """Along the primary key, whose rows are of every state: each call reads no more than was asked for."""
    await place.send(*(f"done-{number}" for number in range(3)), queue="done")
    await place.broker.ack([Ack(lease) for lease in await place.lease(3, queues=("done",))])
    await place.send(*(f"ready-{number}" for number in range(500)))
    query = Query(states=(MessageState.COMPLETED,), backwards=True, look_at=100)
    found: list[str] = []
    calls = 0
    while True:
        page = await place.broker.browse(query)
        assert page.looked_at <= 100
        found += [one.id for one in page.messages]
        calls += 1
        if page.cursor is None:
            break
        query = msgspec.structs.replace(query, cursor=page.cursor)
    assert found == ["done-2", "done-1", "done-0"]
    assert calls >= 5
    assert QUEUE in await place.broker.queues()
