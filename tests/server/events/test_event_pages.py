"""Pages of the journal over HTTP: the newest first in reach, back to the first, and on to the last."""

import asyncio
from typing import Any

import httpx
import pytest
from tests.server.asking import bearer, new_token, serving

from tenure import Tenure
from tenure.server.principal import AccessScope
from tenure.testing.virtual import VirtualClock

from .following import append, names

EVENTS = "/api/v1/events"


@pytest.fixture
def app(virtual_clock: VirtualClock) -> Tenure:
    return Tenure("memory://", clock=virtual_clock)


async def page(client: httpx.AsyncClient, **query: Any) -> tuple[list[str], Any]:
    answer = await client.get(EVENTS, params=query)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    return [one["message_id"] for one in document["events"]], document


async def test_the_newest_come_first_in_reach(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        await append(app, *names(0, 2_500))
        shown, last = await page(client, limit=10)
        assert shown == names(2_490, 2_500)
        assert (last["first"], last["last"], last["after"], last["before"]) == (1, 2_500, 2_500, 2_491)
        shown, older = await page(client, limit=10, before=last["before"])
        assert shown == names(2_480, 2_490)
        everything: list[str] = []
        before = older["before"]
        while before is not None:
            shown, document = await page(client, limit=1000, before=before)
            everything, before = shown + everything, document["before"]
        assert everything == names(0, 2_480)
        await append(app, "new")
        assert (await page(client, after=last["after"]))[0] == ["new"]


async def test_going_back_finds_what_is_rare(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        await append(app, "rare", task="once")
        await append(app, *names(0, 30_000))
        shown, document = await page(client, task="once")
        assert shown == []
        assert document["before"] is not None, "it says that there is more to look at"
        shown, document = await page(client, task="once", before=document["before"])
        assert (shown, document["before"]) == (["rare"], None)


async def test_the_events_of_one_message(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        for _ in range(5):
            await append(app, "a", "b")
        _, newest = await page(client, message="a", limit=2)
        assert [one["seq"] for one in newest["events"]] == [7, 9]
        _, older = await page(client, message="a", limit=10, before=newest["before"])
        assert [one["seq"] for one in older["events"]] == [1, 3, 5]
        assert older["before"] is None


async def test_an_empty_journal_has_an_empty_page(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        shown, document = await page(client)
        assert shown == []
        assert (document["first"], document["last"], document["before"], document["gap"]) == (0, 0, None, False)


async def test_a_pruned_part_is_said(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        await append(app, *names(0, 10))
        await asyncio.sleep(3600)
        await append(app, "new")
        await app.state.journal.prune(60.0)
        shown, document = await page(client, after=3)
        assert (shown, document["gap"]) == (["new"], True)
        assert (await page(client))[1]["before"] is None


async def test_without_the_scope_no_payload_is_shown(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (served, client):
        token = await new_token(served, AccessScope.READ, queues=("other",))
        reader = await new_token(served, AccessScope.READ)
        await append(app, "a", data={"reason": "card 4111", "code": "error"})
        answer = await client.get(EVENTS, headers=bearer(token))
        assert answer.json()["events"] == []
        (entry,) = (await client.get(EVENTS, headers=bearer(reader))).json()["events"]
        assert entry["data"] == {"code": "error"}
        assert entry["redacted"]


async def test_both_ways_at_once_is_refused(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        for query in ("after=1&before=5", "limit=0", "limit=1001", "before=0", "after=-1"):
            answer = await client.get(f"{EVENTS}?{query}")
            assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid"), query
