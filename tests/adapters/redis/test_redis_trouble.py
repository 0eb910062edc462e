"""Trouble with a real server: refused logins, flushed scripts, full memory, cut lines, garbage, dead workers."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis
from tests.adapters.redis.acting import KEYS, QUEUE, at_last, connected, message, opened, request, until
from tests.adapters.redis.showing import shown_in
from tests.servers import KINDS, RedisServer, start_redis

from tenure.broker import RETIRE_BATCH
from tenure.errors import BrokerUnavailable, ConfigurationError
from tenure.lease import LeaseState
from tenure.message import MessageState, Outgoing
from tenure.owner import Owner
from tenure.probe import SYSTEM_PROBE
from tenure.rules.presence import judge
from tenure.settlement import Ack, GiveBack, Outcome

pytestmark = pytest.mark.real_time


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One that these tests may spoil."""
    with start_redis(request.param, tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def raw(server: RedisServer) -> Iterator[Any]:
    """A plain client, and an empty server."""
    client: Any = Redis(port=server.port)
    client.flushall()
    client.script_flush()
    yield client
    client.config_set("maxmemory", 0)
    client.close()


async def test_a_wrong_password_is_told_as_such(server: RedisServer, raw: Any) -> None:
    raw.config_set("requirepass", "secret")
    try:
        for login in ("", ":wrong@"):
            broker, _ = connected(server.url.replace("//", f"//{login}"))
            with pytest.raises(ConfigurationError) as caught:
                await broker.open()
            assert caught.value.code == "login_refused"
        async with opened(server.url.replace("//", "//:secret@")) as (broker, _):
            await broker.send([Outgoing(message())])
    finally:
        raw.execute_command("AUTH", "secret")
        raw.config_set("requirepass", "")


async def test_a_user_that_may_ask_neither_for_clients_nor_for_settings_can_work(server: RedisServer, raw: Any) -> None:
    raw.execute_command("ACL", "SETUSER", "modest", "on", ">word", "~*", "&*", "+@all", "-client", "-config")
    async with opened(server.url.replace("//", "//modest:word@")) as (_, state):
        owner = Owner("one", "1", started_at=1.0)
        await state.roster.join(owner)
        assert [member.owner for member in await state.roster.members()] == [owner]


async def test_flushed_scripts_are_brought_again(server: RedisServer, raw: Any) -> None:
    async with opened(server.url) as (broker, _):
        for _ in range(2):
            await broker.send([Outgoing(message())])
            raw.script_flush()
            (lease,) = await broker.lease(request())
            raw.script_flush()
            assert [one.outcome for one in await broker.ack([Ack(lease)])] == [Outcome.DELETED]


async def test_a_full_server_refuses_what_is_new_and_takes_what_is_done(server: RedisServer, raw: Any) -> None:
    async with opened(server.url) as (broker, state):
        first, second = message(), message()
        await broker.send([Outgoing(first)])
        (lease,) = await broker.lease(request())
        raw.config_set("maxmemory", 1)
        with pytest.raises(BrokerUnavailable) as caught:
            await broker.send([Outgoing(second)])
        assert not caught.value.outcome_unknown
        assert [one.outcome for one in await broker.ack([Ack(lease, b"1")])] == [Outcome.DELETED]
        raw.config_set("maxmemory", 0)
        assert await state.records.get(second.id) is None
        assert (await state.records.get(first.id)).result == b"1"


async def test_a_full_server_still_lends_so_that_workers_can_catch_up(server: RedisServer, raw: Any) -> None:
    """Also what fell due, or came back, and to somebody who has just begun."""
    async with opened(server.url) as (broker, _):
        await broker.send([Outgoing(message()) for _ in range(3)])
        (lease,) = await broker.lease(request(want=1))
        await broker.give_back([GiveBack(lease)])
        await broker.send([Outgoing(message(), delay_seconds=0.05)])

        async def is_due() -> bool:
            ((_, due),) = raw.zrange(f"{KEYS}z", 0, 0, withscores=True)
            seconds, rest = raw.time()
            return bool(seconds * 1_000_000 + rest > due)

        await until(is_due)
        async with opened(server.url) as (other, _):
            raw.config_set("maxmemory", 1)
            leases = await other.lease(request())
            assert len(leases) == 4
            assert [one.outcome for one in await other.ack([Ack(one) for one in leases])] == [Outcome.DELETED] * 4


async def test_killed_connections_are_an_outage_and_made_anew(server: RedisServer, raw: Any) -> None:
    async with opened(server.url) as (broker, _):
        waiter = asyncio.create_task(broker.wait([QUEUE], 60.0))
        await until(lambda: _waits(raw))
        raw.execute_command("CLIENT", "KILL", "SKIPME", "yes")
        with pytest.raises(BrokerUnavailable):
            await waiter
        waiter = asyncio.create_task(at_last(lambda: broker.wait([QUEUE], 60.0)))
        await until(lambda: _waits(raw))
        sent = message()
        await at_last(lambda: broker.send([Outgoing(sent)]))
        async with asyncio.timeout(30.0):
            await waiter
        assert [one.id for one in await broker.lease(request())] == [sent.id]


async def _waits(raw: Any) -> bool:
    """Whether somebody is told of what happens in the queue."""
    ((_, count),) = raw.pubsub_numsub(f"{KEYS}wake")
    return bool(count)


async def test_garbage_goes_to_the_dead_letters_and_the_rest_goes_on(server: RedisServer, raw: Any) -> None:
    async with opened(server.url) as (broker, state):
        first, lost, last = message(), message(), message()
        await broker.send([Outgoing(first)])
        raw.xadd(f"{KEYS}s5", {"who": "me"})
        raw.xadd(f"{KEYS}s5", {"i": "unknown", "e": b"\xff raw"})
        raw.xadd(f"{KEYS}s5", {"i": first.id, "e": b"a copy"})
        await broker.send([Outgoing(lost), Outgoing(last)])
        raw.hset(f"{KEYS}m", lost.id, "nonsense")
        raw.zadd(f"{KEYS}z", {"nobody": 0})
        raw.zadd(f"{KEYS}d", {"nobody": 0})
        raw.zadd(f"{KEYS}b5", {"nobody": 0})
        leases = await broker.lease(request())
        assert [one.id for one in leases] == [first.id, last.id]
        dead = await shown_in(broker, QUEUE, MessageState.DEAD)
        assert {one.reason.code for one in dead if one.reason} == {"malformed_entry"}
        raws = [one.envelope for one in dead]
        assert b"\xff raw" in raws
        assert b"a copy" in raws
        assert b'["who","me"]' in raws
        assert len(dead) == 4
        assert (await state.records.get(lost.id)).state is MessageState.DEAD
        assert [one.outcome for one in await broker.ack([Ack(one) for one in leases])] == [Outcome.DELETED] * 2


async def test_a_worker_whose_connections_are_cut_is_not_dead_and_keeps_its_lease(
    server: RedisServer, raw: Any
) -> None:
    """A proxy restart, a NAT reset: a process runs, and reaches the server again."""
    async with opened(server.url) as (broker, state), opened(server.url) as (_, other):
        owner = Owner("one", "1", started_at=1.0)
        await state.roster.join(owner)
        await other.roster.join(Owner("one", "2", started_at=2.0))  # replicas may all be called the same
        await broker.send([Outgoing(message())])
        (lease,) = await broker.lease(request(owner.id))
        for _ in range(3):
            raw.client_kill_filter(_type="normal", skipme=True)
            raw.client_kill_filter(_type="pubsub")
            members = await at_last(other.roster.members)
            assert judge(members, SYSTEM_PROBE).dead == []
        (touched,) = await at_last(lambda: broker.touch([lease]))
        assert touched.state is LeaseState.HELD


async def test_no_script_of_a_retirement_moves_more_than_a_page(server: RedisServer, raw: Any) -> None:
    """An owner with thousands of leases must not stop the server for everybody."""
    async with opened(server.url) as (broker, state):
        sent = [message() for _ in range(3_000)]
        await broker.send([Outgoing(one) for one in sent])
        await state.roster.join(Owner("one", "1"))
        for _ in range(3):
            assert len(await broker.lease(request("one/1", want=1000))) == 1000
        returned: list[str] = []
        more = True
        while more:
            swept = await broker.retire("one/1", crashed=True)
            assert len(swept.returned) <= RETIRE_BATCH
            returned += swept.returned
            more = swept.more
        assert sorted(returned) == sorted(one.id for one in sent)
        assert await broker.held("one/1") == []
        assert await state.roster.members() == []
