"""The server lost everything while workers live: restarted without a log, flushed, or a replica took over too early.

What is gone is gone; but what is sent from then on is looked after as ever.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis
from tests.adapters.redis.acting import QUEUE, message, opened, request, until
from tests.servers import KINDS, RedisServer, start_redis

from tenure.adapters.redis import store
from tenure.message import Outgoing
from tenure.owner import Owner

pytestmark = pytest.mark.real_time

_OWNER = Owner("one", "1", started_at=1.0)


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One that these tests may empty."""
    with start_redis(request.param, tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def raw(server: RedisServer) -> Iterator[Any]:
    """A plain client, and an empty server."""
    client: Any = Redis(port=server.port)
    client.flushall()
    yield client
    client.close()


async def test_a_worker_that_lives_is_on_the_roster_again_with_its_next_word(server: RedisServer, raw: Any) -> None:
    async with opened(server.url) as (_, state):
        await state.roster.join(_OWNER)
        raw.flushall()
        await state.roster.beat(_OWNER)
        assert [member.owner for member in await state.roster.members()] == [_OWNER]


async def test_one_that_was_retired_is_not(server: RedisServer, raw: Any) -> None:
    async with opened(server.url) as (broker, state):
        await state.roster.join(_OWNER)
        await broker.retire(_OWNER.id, crashed=True)
        await state.roster.beat(_OWNER)
        assert await state.roster.members() == []


async def test_what_is_sent_and_lent_afterwards_comes_back_when_its_worker_dies(
    server: RedisServer, raw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(server.url) as (sender, _), opened(server.url) as (worker, _):
        await sender.send([Outgoing(message())])
        await worker.lease(request())
        raw.flushall()
        monkeypatch.setattr(store, "_KNOWN_SECONDS", 3600.0)  # the sender has said it a moment ago, and will not again
        await sender.send([Outgoing(sent := message())])
        monkeypatch.setattr(store, "_KNOWN_SECONDS", 0.0)  # some time passes
        (lease,) = await worker.lease(request(_OWNER.id, seconds=600.0))
        assert lease.id == sent.id
        assert (await worker.retire(_OWNER.id, crashed=True)).returned == (sent.id,)


async def test_a_worker_whose_lines_ended_says_again_which_queues_it_serves(server: RedisServer, raw: Any) -> None:
    async with opened(server.url) as (sender, _), opened(server.url) as (worker, _):
        await worker.wait(["nothing"], 0.01)
        await sender.send([Outgoing(message())])
        await worker.lease(request())
        lines = raw.client_list()
        raw.flushall()
        for line in lines:
            if line["sub"] == "1":
                raw.client_kill_filter(_id=line["id"])

        async def is_known() -> bool:
            await sender.send([Outgoing(message())])
            await worker.lease(request())
            return QUEUE.encode() in raw.smembers("tenure:{%}:queues")

        assert await until(is_known, within=25.0)  # long before it would have said it again by itself
