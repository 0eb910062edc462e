"""Browsing reads what it shows, whatever else lies in the table."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.adapters.azure.test_azure_faults import ProxiedHarness, harness, queue_proxy, table_proxy
from tests.conformance.azure_harness import AzureHarness, RedisStateHarness

from tenure.adapters.azure import rows
from tenure.adapters.azure.entry import life_row
from tenure.errors import BadArgument
from tenure.message import MessageState, Outgoing
from tenure.query import Query
from tenure.settlement import Ack, DeadLetter, GiveBack
from tenure.testing.harness import BROKEN, QUEUE, TASK, Harness

__all__ = ["harness", "queue_proxy", "table_proxy"]

Told = list[tuple[str, int]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Every row that the service told us of, by its key, and how many bytes of bodies came with it."""
    seen: Told = []
    real: Callable[[Any], rows.Row] = rows._row

    def row(found: Any) -> rows.Row:
        made = real(found)
        seen.append((made.key, len(made.fields.get("Envelope", b""))))
        return made

    monkeypatch.setattr(rows, "_row", row)
    return seen


async def _die(harness: Harness, count: int) -> list[str]:
    leases = await harness.broker.lease(harness.request(harness.stranger(), count))
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN) for lease in leases])
    return [lease.id for lease in leases]


async def _pages(harness: Harness, state: MessageState, limit: int, **more: Any) -> list[list[str]]:
    pages = await harness.pages(QUEUE, state, limit=limit, scan=True, **more)
    return [[one.id for one in page.messages] for page in pages if page.messages]


async def test_a_page_of_dead_letters_reads_nothing_of_what_is_ready(harness: ProxiedHarness, told: Told) -> None:
    await harness.put_many(6)
    dead = await _die(harness, 6)
    await harness.put_many(40)
    await harness.broker.send([Outgoing(harness.message(queue="other"))])
    told.clear()
    before = len(harness.table.calls)
    page = await harness.broker.browse(Query(states=(MessageState.DEAD,), queues=(QUEUE,), limit=2))
    assert [one.id for one in page.messages] == dead[:2]
    assert len(told) == 6 + 2  # which there are; then the two
    assert sum(size for _, size in told[:6]) == 0
    assert len(harness.table.calls) - before == 1 + 2
    assert await _pages(harness, MessageState.DEAD, 4) == [dead[:4], dead[4:]]


async def test_a_page_without_bodies_reads_none(harness: ProxiedHarness, told: Told) -> None:
    await harness.put_many(6)
    dead = await _die(harness, 6)
    told.clear()
    page = await harness.broker.browse(Query(states=(MessageState.DEAD,), bodies=False))
    assert [one.id for one in page.messages] == dead
    assert sum(size for _, size in told) == 0
    assert {one.task for one in page.messages} == {TASK}
    assert all(one.sent_at is not None and one.finished_at is not None for one in page.messages)


async def test_a_page_of_a_backlog_reads_the_bodies_that_it_shows(harness: ProxiedHarness, told: Told) -> None:
    sent = [message.id for message in await harness.put_many(30)]
    query = Query(states=(MessageState.READY,), queues=(QUEUE,), limit=20, scan=True)
    first = await harness.broker.browse(query)
    told.clear()
    second = await harness.broker.browse(msgspec.structs.replace(query, limit=5, cursor=first.cursor or ""))
    assert [one.id for one in (*first.messages, *second.messages)] == sent[:25]
    assert len([size for _, size in told if size]) == 5


@pytest.mark.parametrize("state", [MessageState.READY, MessageState.DELAYED, MessageState.COMPLETED])
async def test_what_may_be_millions_is_shown_on_request_only(harness: ProxiedHarness, state: MessageState) -> None:
    with pytest.raises(BadArgument, match="scan"):
        await harness.broker.browse(Query(states=(state,)))


async def test_a_scan_goes_on_in_windows_and_misses_nothing(harness: ProxiedHarness) -> None:
    await harness.put_many(40)
    leases = await harness.broker.lease(harness.request(harness.stranger(), 15))
    await harness.broker.ack([Ack(lease) for lease in leases[:9]])
    ended = {lease.id for lease in leases[:9]}
    waiting = {one.id for one in await harness.browse(QUEUE, MessageState.READY, scan=True)}
    assert len(waiting) == 25
    for state, ids in ((MessageState.READY, waiting), (MessageState.COMPLETED, ended)):
        pages = await harness.pages(QUEUE, state, limit=4, look_at=7, scan=True)
        shown = [one.id for page in pages for one in page.messages]
        assert (len(shown), set(shown)) == (len(ids), ids)
        assert max(page.looked_at for page in pages) <= 7


async def test_what_is_completed_says_when_and_of_which_task(harness: ProxiedHarness) -> None:
    first, second = [await harness.put(body={"n": n}) for n in range(2)]
    leases = {lease.id: lease for lease in await harness.lease_all(harness.stranger())}
    for message in (second, first):
        await harness.advance(1)
        await harness.broker.ack([Ack(leases[message.id])])
    shown = await harness.browse(QUEUE, MessageState.COMPLETED, scan=True, task=TASK)
    assert [one.id for one in shown] == [second.id, first.id]
    assert all(one.finished_at is not None and one.sent_at is not None for one in shown)
    newest = await harness.browse(QUEUE, MessageState.COMPLETED, scan=True, backwards=True)
    assert [one.id for one in newest] == [first.id, second.id]
    assert await harness.browse(QUEUE, MessageState.COMPLETED, scan=True, task="other") == []


async def test_text_is_found_in_bodies_that_lie_in_letters_and_in_lives(harness: ProxiedHarness) -> None:
    needle, dead = await harness.put(body={"text": "Needle"}), await harness.put(body={"text": "a needle, too"})
    await harness.put_many(3)
    leases = {lease.id: lease for lease in await harness.lease_all(harness.stranger())}
    await harness.broker.dead_letter([DeadLetter(leases[dead.id], BROKEN)])
    for state, id in ((MessageState.LEASED, needle.id), (MessageState.DEAD, dead.id)):
        assert [one.id for one in await harness.browse(QUEUE, state, text="NEEDLE")] == [id]


async def test_rows_of_an_older_version_are_told_from_their_letters(harness: ProxiedHarness) -> None:
    message = await harness.put()
    await _die(harness, 1)
    kept = await harness._store.find(message.id)
    assert kept is not None
    kept.life.task, kept.life.sent_at = "", None
    row = life_row(kept, 1)
    await harness._change("upsert", row.part, row.key, row.fields)
    (shown,) = await harness.browse(QUEUE, MessageState.DEAD, task=TASK, since=message.sent_at)
    assert (shown.id, shown.task, shown.sent_at) == (message.id, TASK, message.sent_at)


@pytest.fixture(params=[AzureHarness, RedisStateHarness], ids=["tables", "redis"])
def house(request: pytest.FixtureRequest) -> Harness:
    """Wherever the rows lie."""
    made: Harness = request.param()
    return made


async def test_what_waits_again_stands_where_it_was_sent_and_on_one_page_only(house: Harness) -> None:
    sent = [message.id for message in await house.put_many(9)]
    leases = await house.broker.lease(house.request(house.stranger(), 4))
    await house.broker.give_back([GiveBack(lease) for lease in leases[:3]])
    waiting = [id for id in sent if id != leases[3].id]
    assert await _pages(house, MessageState.READY, 2) == [waiting[n : n + 2] for n in range(0, 8, 2)]
    assert await _pages(house, MessageState.LEASED, 2) == [[leases[3].id]]


async def test_a_message_that_is_not_ours_is_shown_once_too(house: Harness) -> None:
    assert isinstance(house, AzureHarness)
    store = house._store
    await house.put_many(3)
    await store.on_queue("sending", QUEUE, lambda client: client.send_message('{"plain":1}'))
    leases = await house.broker.lease(house.request(house.stranger(), 4))
    (foreign,) = [lease for lease in leases if lease.id.startswith("azure-")]
    await house.broker.give_back([GiveBack(lease) for lease in leases])
    for limit in (1, 2, 3, 9):
        shown = [id for page in await _pages(house, MessageState.READY, limit) for id in page]
        assert sorted(shown) == sorted(lease.id for lease in leases)
    (one,) = [one for one in await house.browse(QUEUE, MessageState.READY, scan=True) if one.id == foreign.id]
    assert one.envelope == foreign.envelope
