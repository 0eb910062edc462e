"""Browsing reads what it shows, whatever else lies in the table."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.adapters.azure.test_azure_faults import ProxiedHarness, harness, queue_proxy, table_proxy
from tests.conformance.azure_harness import AzureHarness, RedisStateHarness

from tenure.adapters.azure import rows
from tenure.message import MessageState, Outgoing
from tenure.settlement import DeadLetter, GiveBack
from tenure.testing.harness import BROKEN, QUEUE, Harness

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


async def _pages(harness: Harness, state: MessageState, limit: int) -> list[list[str]]:
    pages: list[list[str]] = []
    after = 0
    while page := await harness.broker.browse(QUEUE, state, limit=limit, after=after):
        pages.append([one.id for one in page])
        after = page[-1].cursor
    return pages


async def test_a_page_of_dead_letters_reads_nothing_of_what_is_ready(harness: ProxiedHarness, told: Told) -> None:
    await harness.put_many(6)
    dead = await _die(harness, 6)
    await harness.put_many(40)
    await harness.broker.send([Outgoing(harness.message(queue="other"))])
    told.clear()
    before = len(harness.table.calls)
    page = await harness.broker.browse(QUEUE, MessageState.DEAD, limit=2)
    assert [one.id for one in page] == dead[:2]
    assert len(told) == 6 + 2  # which there are; then the two
    assert sum(size for _, size in told[:6]) == 0
    assert len(harness.table.calls) - before == 1 + 2
    assert await _pages(harness, MessageState.DEAD, 4) == [dead[:4], dead[4:]]


async def test_a_page_of_a_backlog_reads_the_bodies_that_it_shows(harness: ProxiedHarness, told: Told) -> None:
    sent = [message.id for message in await harness.put_many(30)]
    first = await harness.broker.browse(QUEUE, MessageState.READY, limit=20)
    told.clear()
    second = await harness.broker.browse(QUEUE, MessageState.READY, limit=5, after=first[-1].cursor)
    assert [one.id for one in (*first, *second)] == sent[:25]
    assert len([size for _, size in told if size]) == 5
    assert len(told) == 10 + 5  # what was shown before is not told again


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
    (one,) = [one for one in await house.broker.browse(QUEUE, MessageState.READY) if one.id == foreign.id]
    assert one.envelope == foreign.envelope
