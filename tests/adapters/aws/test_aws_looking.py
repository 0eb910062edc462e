"""Looking: what is held, found by name, scanned, listed and told, and what a look reads for it."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from tests.conformance.aws_harness import DynamoHarness, LocalStateHarness, RedisStateHarness, SqsHarness

from tenure.broker import SweepRequest
from tenure.claim import ClaimRequest, Fresh, Scope
from tenure.errors import BadArgument
from tenure.event import Event, EventKind
from tenure.message import MessageState
from tenure.query import Query
from tenure.rowstore.store import Store
from tenure.settlement import Ack, DeadLetter
from tenure.testing.harness import BROKEN, QUEUE


@pytest.fixture
def house() -> SqsHarness:
    return SqsHarness()


def _store(house: SqsHarness) -> Store:
    return house._store


@contextmanager
def counted(table: Any) -> Iterator[Counter[str]]:
    """How many rows each verb of a table was asked for or gave."""
    rows: Counter[str] = Counter()
    get, write, page = table.get, table.write, table.page

    async def counted_get(places: Any) -> Any:
        rows["get"] += len(places)
        return await get(places)

    async def counted_write(batch: Any) -> Any:
        rows["write"] += len(batch)
        return await write(batch)

    async def counted_page(part: str, **words: Any) -> Any:
        found = await page(part, **words)
        rows["page"] += max(1, len(found))
        return found

    table.get, table.write, table.page = counted_get, counted_write, counted_page
    yield rows
    del table.get, table.write, table.page


async def test_a_beat_of_a_worker_is_one_write_and_counted_once(house: SqsHarness) -> None:
    async with house:
        message = await house.put()
        (lease,) = await house.lease(owner="one/1")
        request = ClaimRequest(Scope.of(message), message.id, "one/1", lease.seconds, "")
        (answer,) = await house.state.ledger.claim([request])
        assert isinstance(answer, Fresh)
        lease = msgspec.structs.replace(lease, size=7.0, predicted_seconds=60.0)
        for number in range(1, 4):
            await asyncio.sleep(lease.seconds / 3)
            with counted(_store(house).table) as rows:
                assert await house.state.ledger.renew([answer.token]) == [True]
                (lease,) = await house.broker.touch([lease])
            assert rows["write"] == 1
            assert [held.beats for held in (await house.broker.leases()).leases] == [number]
        (held,) = (await house.broker.leases()).leases
        assert (held.size, held.predicted_seconds) == (7.0, 60.0)


async def test_a_dead_letter_of_a_lease_that_was_found_by_name_keeps_its_body(house: SqsHarness) -> None:
    async with house:
        message = await house.put(body={"to": "ada"})
        (lease,) = await house.lease(owner="http:1/x")
        await house.reopen()
        found = await house.broker.find(lease.id, lease.owner, lease.fence)
        assert found is not None
        assert found.envelope == b""
        await house.broker.dead_letter([DeadLetter(found, BROKEN)])
        assert (await house.record(message.id)).state is MessageState.DEAD
        assert await house.lease(owner="two/1") == []  # whoever meets the copy keeps its body
        (browsed,) = await house.browse(QUEUE, MessageState.DEAD)
        assert browsed.envelope == lease.envelope
        assert await house.broker.redrive([message.id]) == [message.id]
        (again,) = await house.lease(owner="two/1")
        assert again.id == message.id


async def test_the_leases_of_a_fleet_are_read_by_their_owners(house: SqsHarness) -> None:
    async with house:
        await house.put_many(60)
        for number in range(3):
            for _ in range(2):
                await house.lease(owner=f"w{number}/1", want=10)
        await house.put_many(50)
        with counted(_store(house).table) as rows:
            held = (await house.broker.leases()).leases
        assert len(held) == 60
        assert [one.deadline for one in held] == sorted(one.deadline for one in held)
        assert rows["get"] == 60 + 1, "an entry each, and the row of the last sweep"
        assert rows["page"] == 3 + 6, "the holders, and the lots of each"


async def test_when_the_next_sweep_is_due_costs_a_sweep_nothing(house: SqsHarness) -> None:
    async with house:
        assert (await house.broker.leases(limit=0)).last_sweep_at is None
        await house.broker.sweep(SweepRequest(interval_seconds=20.0))
        with counted(_store(house).table) as rows:
            await house.broker.sweep(SweepRequest(interval_seconds=20.0))
        assert rows["write"] == 1
        leases = await house.broker.leases(limit=0)
        assert leases.last_sweep_at is not None
        assert leases.next_sweep_at == pytest.approx(leases.last_sweep_at + 20.0)
        assert leases.now == pytest.approx(leases.last_sweep_at, abs=1.0)


@pytest.mark.parametrize("place", ["memory", "dynamo", "redis", "file"])
async def test_what_waits_is_shown_by_a_scan_on_request(place: str) -> None:
    kinds = {"memory": SqsHarness, "dynamo": DynamoHarness, "redis": RedisStateHarness, "file": LocalStateHarness}
    async with kinds[place]() as house:
        ready = {message.id for message in await house.put_many(12)}
        other = await house.put(queue="other")
        delayed = await house.put(delay_seconds=60.0)
        lease = await house.leased("one/1", queue="done")
        await house.complete(lease)
        with pytest.raises(BadArgument):
            await house.broker.browse(Query(states=(MessageState.READY,)))
        query = Query(states=(MessageState.READY,), scan=True, limit=5, look_at=7, queues=(QUEUE,))
        found: list[str] = []
        while True:
            page = await house.broker.browse(query)
            assert len(page.messages) <= 5
            found += [one.id for one in page.messages]
            if page.cursor is None:
                break
            query = msgspec.structs.replace(query, cursor=page.cursor)
        assert set(found) == ready
        everywhere = Query(states=(MessageState.READY,), scan=True, queues=("o*",))
        assert [one.id for one in (await house.broker.browse(everywhere)).messages] == [other.id]
        for state, id in ((MessageState.DELAYED, delayed.id), (MessageState.COMPLETED, lease.id)):
            page = await house.broker.browse(Query(states=(state,), scan=True))
            assert [one.id for one in page.messages] == [id], state


async def test_what_lies_in_sqs_is_not_filtered_by_what_it_carries(house: SqsHarness) -> None:
    async with house:
        await house.leased("one/1")
        with pytest.raises(BadArgument, match="cannot be filtered"):
            await house.broker.browse(Query(states=(MessageState.LEASED,), text="ada"))


async def test_a_queue_is_noted_once_in_five_minutes(house: SqsHarness) -> None:
    async with house:
        await house.put()
        with counted(_store(house).table) as rows:
            for _ in range(4):
                await house.put()
                await asyncio.sleep(60)
        assert rows == {"write": 4}, "the entry of each, and nothing else"
        await asyncio.sleep(100)
        with counted(_store(house).table) as rows:
            await house.put()
        assert rows == {"get": 1, "write": 2}


async def test_forgetting_a_queue_leaves_that_of_sqs(house: SqsHarness) -> None:
    async with house:
        await house.broker.ack([Ack(await house.leased("one/1"))])
        assert await house.broker.forget_queue(QUEUE)
        assert await house.broker.queues() == []
        urls = house._behind().list_queues(QueueNamePrefix=house._name)["QueueUrls"]
        assert len(urls) == 1


async def test_the_story_of_one_message_is_read_without_the_rest_of_the_journal(house: SqsHarness) -> None:
    async with house:
        journal, clock = house.state.journal, house.clock
        for _ in range(60):
            await journal.append([Event(EventKind.COMPLETED, clock.wall(), message_id="x") for _ in range(500)])
            await asyncio.sleep(120)
        message = await house.put()
        await journal.append([Event(EventKind.COMPLETED, clock.wall(), message_id=message.id)])
        await house.broker.cancel([message.id])
        for _ in range(60):
            await asyncio.sleep(120)
            await journal.append([Event(EventKind.COMPLETED, clock.wall(), message_id="x") for _ in range(500)])
        with counted(_store(house).table) as rows:
            (found,) = await journal.about(message.id)
        assert found.event.message_id == message.id
        assert rows["page"] <= 40, "of 121 pages"


async def test_whoever_waits_for_events_asks_rarely_and_hears_of_its_own_at_once(house: SqsHarness) -> None:
    async with house:
        journal, clock = house.state.journal, house.clock
        with counted(_store(house).table) as rows:
            await journal.wait(0, 60.0)
        assert rows["page"] <= 33
        waiter = asyncio.create_task(journal.wait(await journal.last(), 60.0))
        await asyncio.sleep(1.0)
        began = clock.monotonic()
        await journal.append([Event(EventKind.COMPLETED, clock.wall(), message_id="x")])
        await waiter
        assert clock.monotonic() - began < 1.0
