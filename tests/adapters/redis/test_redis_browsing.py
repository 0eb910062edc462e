"""Browsing on Redis: the order of each state, both ways, page by page, over queues and priorities."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from tests.conformance.redis_harness import SINGLE, ClusterHarness, RedisHarness

from tenure.client.browse_all import browse_all
from tenure.clock import SystemClock
from tenure.errors import BadArgument
from tenure.message import MessageState, Outgoing
from tenure.query import Browsed, Query
from tenure.rules import cursor
from tenure.rules.paging import Pager
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack
from tenure.testing.harness import BROKEN, QUEUE

HARNESSES = [*SINGLE, ClusterHarness]


@pytest.fixture(params=HARNESSES, ids=[*(kind.kind for kind in SINGLE), "cluster"])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    kind: type[RedisHarness] = request.param
    return kind()


async def _all(harness: RedisHarness, state: MessageState, **fields: object) -> list[Browsed]:
    fields = {"queues": (QUEUE,), **fields}
    return [one async for one in browse_all(harness.broker, Query(states=(state,), **fields))]  # type: ignore[arg-type]


async def _ids(harness: RedisHarness, state: MessageState, **fields: object) -> list[str]:
    return [one.id for one in await _all(harness, state, **fields)]


async def _both_ways(harness: RedisHarness, state: MessageState, expected: list[str]) -> None:
    for limit in (1, 2, 3, 100):
        assert await _ids(harness, state, limit=limit) == expected
        assert await _ids(harness, state, limit=limit, backwards=True) == expected[::-1]
    # However few rows a call may look at, it gets through.
    assert await _ids(harness, state, look_at=1) == expected


async def test_ready_messages_come_by_arrival_over_priorities_returned_ones_among_them(harness: RedisHarness) -> None:
    sent = [await harness.put(priority=priority) for priority in (5, 9, 1, 5, 9, 5, 1)]
    leases = await harness.lease("one/1", 3)
    await harness.broker.give_back([GiveBack(lease, 0.0) for lease in leases])
    await _both_ways(harness, MessageState.READY, [message.id for message in sent])


async def test_ready_messages_are_shown_with_what_is_known_of_them(harness: RedisHarness) -> None:
    message = await harness.put(body={"n": 1})
    (shown,) = await _all(harness, MessageState.READY)
    assert (shown.queue, shown.task, shown.sent_at) == (QUEUE, message.task, message.sent_at)
    assert b'"n"' in shown.envelope
    (bare,) = await _all(harness, MessageState.READY, bodies=False)
    assert bare == msgspec.structs.replace(shown, envelope=b"")
    lease = await harness.lease_one("one/1")
    assert await _all(harness, MessageState.READY) == []
    await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
    (shown,) = await _all(harness, MessageState.READY)
    assert (shown.counters.attempts, shown.reason) == (1, BROKEN)


async def test_delayed_messages_come_by_due_time(harness: RedisHarness) -> None:
    sent = {delay: (await harness.put(delay_seconds=delay)).id for delay in (30.0, 10.0, 20.0, 40.0)}
    await _both_ways(harness, MessageState.DELAYED, [sent[delay] for delay in sorted(sent)])
    first = (await _all(harness, MessageState.DELAYED))[0]
    assert first.due_in == pytest.approx(10.0, abs=1.0)


async def test_leased_messages_come_by_deadline(harness: RedisHarness) -> None:
    seconds = {}
    for length in (50.0, 30.0, 40.0):
        await harness.put()
        seconds[length] = (await harness.lease_one("one/1", seconds=length)).id
    await _both_ways(harness, MessageState.LEASED, [seconds[length] for length in sorted(seconds)])
    first = (await _all(harness, MessageState.LEASED))[0]
    assert first.owner == "one/1"
    assert first.deadline_in == pytest.approx(30.0, abs=1.0)


async def test_leases_that_end_at_the_same_moment_are_each_seen_once(harness: RedisHarness) -> None:
    for _ in range(20):
        await harness.put()
    leases = await harness.lease("one/1", 20)
    seen = await _ids(harness, MessageState.LEASED, limit=3)
    assert sorted(seen) == sorted(lease.id for lease in leases)


async def test_a_page_goes_on_where_the_last_message_of_the_page_before_is_gone(harness: RedisHarness) -> None:
    for _ in range(9):
        await harness.put()
    leases = {lease.id: lease for lease in await harness.lease("one/1", 9)}
    seen: list[str] = []
    query = Query(states=(MessageState.LEASED,), queues=(QUEUE,), limit=2)
    while True:
        page = await harness.broker.browse(query)
        seen += [one.id for one in page.messages]
        if page.cursor is None:
            break
        if page.messages:
            await harness.broker.ack([Ack(leases[page.messages[-1].id])])
        query = msgspec.structs.replace(query, cursor=page.cursor)
    assert sorted(seen) == sorted(leases)


async def test_ended_messages_come_by_their_end(harness: RedisHarness) -> None:
    assert harness.broker.traits.ended_order == "end"
    for _ in range(9):
        await harness.put()
    leases = await harness.lease("one/1", 9)
    order = [leases[place] for place in (4, 0, 8)]
    for lease in order:
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    await _both_ways(harness, MessageState.DEAD, [lease.id for lease in order])
    first = (await _all(harness, MessageState.DEAD))[0]
    assert first.reason == BROKEN
    assert first.finished_at == pytest.approx(harness.clock.wall(), abs=5.0)
    batches = [[leases[3]], [leases[7], leases[1], leases[5]], [leases[2], leases[6]]]
    for batch in batches:
        await harness.broker.ack([Ack(lease, b"1") for lease in batch])
    await _both_ways(harness, MessageState.COMPLETED, [lease.id for batch in batches for lease in batch])


async def test_completed_messages_keep_task_times_and_counters_and_no_body(harness: RedisHarness) -> None:
    message = await harness.put(body={"n": 1})
    lease = await harness.lease_one("one/1")
    await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
    lease = await harness.lease_one("one/1")
    await harness.broker.ack([Ack(lease, b"[1:2]" * 1000)])
    (shown,) = await _all(harness, MessageState.COMPLETED)
    assert (shown.id, shown.task, shown.sent_at, shown.envelope) == (message.id, message.task, message.sent_at, b"")
    assert (shown.counters.deliveries, shown.counters.attempts) == (2, 1)
    assert shown.finished_at == pytest.approx(harness.clock.wall(), abs=5.0)
    assert await _ids(harness, MessageState.COMPLETED, task=message.task) == [message.id]
    assert await _ids(harness, MessageState.COMPLETED, task="other") == []
    with pytest.raises(BadArgument, match="text"):
        await _ids(harness, MessageState.COMPLETED, text="n")


async def test_cancelled_messages_are_listed_apart_from_completed_ones(harness: RedisHarness) -> None:
    messages = [await harness.put() for _ in range(4)]
    for number in (2, 0):
        await harness.broker.cancel([messages[number].id])
    for lease in await harness.lease("one/1", 9):
        await harness.broker.ack([Ack(lease)])
    await _both_ways(harness, MessageState.CANCELLED, [messages[2].id, messages[0].id])
    await _both_ways(harness, MessageState.COMPLETED, [messages[1].id, messages[3].id])


async def test_what_was_completed_long_ago_is_dropped_from_the_list(harness: RedisHarness) -> None:
    await harness.put()
    await harness.broker.ack([Ack(await harness.lease_one("one/1"))])
    await harness.advance(5 * 86_400.0, sweeping=False)
    await harness.put()
    new = await harness.lease_one("one/1")
    await harness.broker.ack([Ack(new)])
    await harness.advance(4 * 86_400.0, sweeping=False)
    await harness.sweep()
    assert await _ids(harness, MessageState.COMPLETED) == [new.id]
    keys = list(harness._raw.scan_iter(f"{harness._prefix}:*ended:*"))
    assert len(keys) == 1
    assert harness._raw.ttl(keys[0]) > 0


async def test_a_window_that_is_widened_takes_the_list_along(harness: RedisHarness) -> None:
    await harness.put()
    first = await harness.lease_one("one/1")
    await harness.broker.ack([Ack(first)])
    store = harness._store
    store._keep = str(3 * int(store._keep))
    await harness.put()
    second = await harness.lease_one("one/1")
    await harness.broker.ack([Ack(second)])
    assert await _ids(harness, MessageState.COMPLETED) == [first.id, second.id]


async def test_many_queues_with_little_in_each_take_few_scripts(
    harness: RedisHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"q{number:03d}" for number in range(60)]
    sent = [(await harness.put(queue=name)).id for name in names]
    commands = 0
    inner = harness._store.link.run_all

    async def counted(calls: Iterable[Any], *rest: Any, **more: Any) -> Any:
        nonlocal commands
        asked = list(calls)
        commands += len(asked)
        return await inner(asked, *rest, **more)

    monkeypatch.setattr(harness._store.link, "run_all", counted)
    page = await harness.broker.browse(Query(states=(MessageState.READY,), queues=("q*",)))
    assert [one.id for one in page.messages] == sent
    assert (page.cursor, page.looked_at) == (None, 60)
    if not harness._store.link.is_cluster:
        assert commands <= 6
    assert await _ids(harness, MessageState.READY, queues=("q*",), limit=7) == sent
    assert await _ids(harness, MessageState.READY, queues=None, backwards=True, limit=7) == sent
    assert await _ids(harness, MessageState.READY, queues=("q00*", "q059")) == [*sent[:10], sent[-1]]


async def test_states_come_one_after_the_other(harness: RedisHarness) -> None:
    lent = await harness.put()
    await harness.lease_one("one/1")
    waits, later = await harness.put(), await harness.put(delay_seconds=9.0)
    states = (MessageState.DELAYED, MessageState.LEASED, MessageState.READY, MessageState.DEAD)
    for limit in (1, 2, 9):
        found = [one async for one in browse_all(harness.broker, Query(states=states, queues=(QUEUE,), limit=limit))]
        assert [one.id for one in found] == [later.id, lent.id, waits.id]


async def test_filters_look_into_task_time_and_text(harness: RedisHarness) -> None:
    sent = [await harness.put(body={"name": name}) for name in ("Ann", "Bob", "anna")]
    assert await _ids(harness, MessageState.READY, text="ANN", bodies=False) == [sent[0].id, sent[2].id]
    assert await _ids(harness, MessageState.READY, text=sent[1].id[-8:]) == [sent[1].id]
    assert await _ids(harness, MessageState.READY, task="no") == []
    assert await _ids(harness, MessageState.READY, since=harness.clock.wall() + 60.0) == []
    assert len(await _ids(harness, MessageState.READY, until=harness.clock.wall() + 60.0)) == 3


async def test_large_bodies_end_a_script_early_and_lose_nothing(harness: RedisHarness) -> None:
    body = "x" * 100_000
    batch = [Outgoing(harness.message(body={"n": body})) for _ in range(50)]
    await harness.broker.send(batch)
    expected = [one.message.id for one in batch]
    assert await _ids(harness, MessageState.READY) == expected
    assert await _ids(harness, MessageState.READY, bodies=False, backwards=True) == expected[::-1]
    leases = await harness.lease_all("one/1")
    await harness.broker.ack([Ack(lease, body.encode()) for lease in leases])
    assert await _ids(harness, MessageState.COMPLETED) == [lease.id for lease in leases]


@pytest.mark.parametrize("state", MessageState)
async def test_a_cursor_that_was_edited_is_refused(harness: RedisHarness, state: MessageState) -> None:
    for _ in range(2):
        await harness.put()
    for mark in ("nonsense|", "1;2", "(1", "-1:2:3", "1\n"):
        query = Query(states=(state,), queues=(QUEUE,))
        states = frozenset(MessageState)
        place = Pager(query, lambda _: [QUEUE], clock=SystemClock(), ended_filters=frozenset(), visible=states)._place
        place.queue, place.mark = QUEUE, mark
        with pytest.raises(BadArgument, match="cursor"):
            await harness.broker.browse(msgspec.structs.replace(query, cursor=cursor.write(place)))
