"""Many queues: only those that have something are asked, each gets its turn, and empty ones cost nothing."""

import asyncio
from collections import Counter

import pytest

from tenure.broker import SweepRequest
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.query import Query
from tenure.settlement import Ack

from .place import Place

QUEUES = tuple(f"client-{number:03d}-tasks" for number in range(200))


def _queues(leases: list[Lease]) -> list[str]:
    return [lease.queue for lease in leases]


async def _statements(place: Place, queues: tuple[str, ...], want: int) -> int:
    found: list[str] = []
    place.store._writer._db.set_trace_callback(found.append)
    await place.lease(want, queues=queues)
    place.store._writer._db.set_trace_callback(None)
    return len(found)


async def test_idle_queues_cost_no_statement(place: Place) -> None:
    await place.send("a", queue=QUEUES[7])
    assert await _statements(place, QUEUES, 10) <= 12
    assert await _statements(place, QUEUES, 10) <= 8, "an idle look"


async def test_one_message_in_each_of_many_queues_takes_few_statements(place: Place) -> None:
    for queue in QUEUES[:100]:
        await place.send(f"m-{queue}", queue=queue)
    assert await _statements(place, QUEUES, 100) <= 16
    assert (await place.broker.depth(QUEUES[:1]))[0].leased == 1


@pytest.mark.parametrize("is_interleaved", [True, False])
async def test_each_busy_queue_gets_its_turn(place: Place, *, is_interleaved: bool) -> None:
    """However the messages lie in the file."""
    pairs = [(queue, number) for queue in QUEUES[:40] for number in range(5)]
    for queue, number in sorted(pairs, key=lambda pair: pair[1]) if is_interleaved else pairs:
        await place.send(f"{queue}-{number}", queue=queue)
    first: Counter[str] = Counter()
    for _ in range(40):
        first.update(_queues(await place.lease(5, queues=("client-*",))))
    assert first == dict.fromkeys(QUEUES[:40], 5)


async def test_a_lease_is_filled_from_what_there_is(place: Place) -> None:
    for number in range(6):
        for queue in QUEUES[:3]:
            await place.send(f"{queue}-{number}", queue=queue)
    assert Counter(_queues(await place.lease(10, queues=QUEUES))) == {QUEUES[0]: 4, QUEUES[1]: 4, QUEUES[2]: 2}
    assert len(await place.lease(10, queues=QUEUES)) == 8


async def test_high_priorities_come_first_and_low_ones_have_their_turn_in_many_queues(place: Place) -> None:
    queue = QUEUES[3]
    await place.send(*(f"low-{number}" for number in range(5)), queue=queue, priority=1)
    await place.send(*(f"high-{number}" for number in range(20)), queue=queue, priority=9)
    await place.send("other", queue=QUEUES[4])
    ids = [lease.id for lease in await place.lease(12, queues=QUEUES)]
    assert ids[:9] == [f"high-{number}" for number in range(9)]
    assert ids[9] == "low-0"


async def test_patterns_serve_new_queues_and_leave_excluded_ones_out(place: Place) -> None:
    await place.send("a", queue="a-tasks")
    await place.send("b", queue="b-tasks")
    await place.send("c", queue="other")
    assert _queues(await place.lease(9, queues=("*-tasks",), excluded=("a-tasks",))) == ["b-tasks"]
    assert sorted(_queues(await place.lease(9, queues=("*-tasks", "other")))) == ["a-tasks", "other"]
    await place.send("d", queue="c-tasks")
    assert _queues(await place.lease(9, queues=("*-tasks",))) == ["c-tasks"]


async def test_what_is_due_in_any_queue_is_lent(place: Place) -> None:
    await place.send("a", queue=QUEUES[9], delay=5.0)
    await place.send("foreign", queue="other", delay=1.0)
    assert await place.lease(9, queues=QUEUES) == []
    start = place.clock.monotonic()
    await place.broker.wait(QUEUES, 60.0)
    waited = place.clock.monotonic() - start
    await asyncio.sleep(max(0.0, 5.0 - waited))
    assert _queues(await place.lease(9, queues=QUEUES)) == [QUEUES[9]]


async def test_a_wait_by_pattern_ends_with_the_first_message_of_a_new_queue(place: Place) -> None:
    waiting = asyncio.ensure_future(place.broker.wait(("*-tasks",), 60.0))
    await asyncio.sleep(0.1)
    start = place.clock.monotonic()
    await place.send("a", queue="new-tasks")
    await waiting
    assert place.clock.monotonic() - start < 1.0


async def test_a_queue_is_listed_for_an_hour_after_its_last_message(place: Place) -> None:
    await place.send("a", queue="mail")
    leases = await place.lease(1, queues=("mail",))
    await place.broker.ack([Ack(lease) for lease in leases])
    assert await place.broker.queues() == ["mail"]
    for _ in range(2):
        await asyncio.sleep(1_900.0)
        assert await place.broker.queues() == ["mail"]
        await place.broker.sweep(SweepRequest())
    await place.broker.depth()
    await place.store.write(lambda tx: None)
    assert await place.broker.queues() == []
    assert (await place.send("a", queue="mail"))[0].duplicate, "what was completed is still recognised"


async def test_a_forgotten_queue_comes_back_with_its_next_message(place: Place) -> None:
    await place.send("a", queue="mail")
    assert not await place.broker.forget_queue("mail")
    await place.broker.delete(["a"])
    assert await place.broker.forget_queue("mail")
    assert await place.broker.queues() == []
    await place.send("b", queue="mail")
    await place.broker.delete(["b"])
    assert await place.broker.queues() == ["mail"]


async def test_pages_go_from_queue_to_queue_in_both_directions(place: Place) -> None:
    for number in range(3):
        for queue in QUEUES[:20]:
            await place.send(f"{queue}-{number}", queue=queue, priority=number)
    query = Query(states=(MessageState.READY,), limit=7)
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await place.broker.browse(Query(states=query.states, limit=7, cursor=cursor))
        seen += [one.id for one in page.messages]
        cursor = page.cursor
    assert seen == [f"{queue}-{number}" for queue in QUEUES[:20] for number in range(3)]
    backwards = await place.broker.browse(Query(states=query.states, queues=(QUEUES[0],), backwards=True))
    assert [one.id for one in backwards.messages] == [f"{QUEUES[0]}-{number}" for number in (2, 1, 0)]
