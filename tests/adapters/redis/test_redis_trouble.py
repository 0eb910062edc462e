"""Trouble with a real server: refused logins, flushed scripts, full memory, cut lines, garbage, dead workers."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis
from tests.adapters.redis.acting import KEYS, QUEUE, at_last, connected, message, opened, request, until
from tests.servers import KINDS, RedisServer, start_redis

from tenure.adapters.redis import roster
from tenure.errors import BrokerUnavailable, ConfigurationError
from tenure.message import MessageState, Outgoing
from tenure.owner import DeadOwner, Owner
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


async def test_without_the_right_to_list_connections_presence_is_kept_by_beats(server: RedisServer, raw: Any) -> None:
    raw.execute_command(
        "ACL", "SETUSER", "modest", "on", ">word", "~*", "&*", "+@all", "-client", "+client|setname", "-config"
    )
    async with opened(server.url.replace("//", "//modest:word@")) as (_, state):
        owner = Owner("one", "1", started_at=1.0)
        await state.roster.join(owner)
        assert await state.roster.alive() == [owner]
        assert await state.roster.dead() == []


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
        await asyncio.wait_for(waiter, 30.0)
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
        dead = await broker.browse(QUEUE, MessageState.DEAD)
        assert {one.reason.code for one in dead if one.reason} == {"malformed_entry"}
        raws = [one.envelope for one in dead]
        assert b"\xff raw" in raws
        assert b"a copy" in raws
        assert b'["who","me"]' in raws
        assert len(dead) == 4
        assert (await state.records.get(lost.id)).state is MessageState.DEAD
        assert [one.outcome for one in await broker.ack([Ack(one) for one in leases])] == [Outcome.DELETED] * 2


async def test_a_worker_is_dead_a_second_after_its_connection_ended(server: RedisServer, raw: Any) -> None:
    async with opened(server.url) as (_, state):
        await state.roster.join(Owner("two", "1", started_at=2.0))
        broker, other = connected(server.url)
        await broker.open()
        owner = Owner("one", "1", started_at=1.0)
        await other.roster.join(owner)
        assert await state.roster.dead() == []
        assert len(await state.roster.alive()) == 2
        await broker.close()  # as the kernel closes what a killed process had open
        (dead,) = await until(state.roster.dead)
        assert (dead.owner, dead.left) == (owner, False)
        assert "connection" in dead.proof


async def test_of_two_with_one_name_none_is_dead_because_its_connection_is_made_anew(
    server: RedisServer, raw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replicas of one deployment may all be called the same; a cut line is no end of a process."""
    monkeypatch.setattr(roster, "_UNHEARD_SECONDS", 10.0)  # however slow this machine is
    async with opened(server.url) as (broker, state), opened(server.url) as (_, other):
        old, new = Owner("one", "1", started_at=1.0), Owner("one", "2", started_at=2.0)
        await state.roster.join(old)
        await other.roster.join(new)
        assert await other.roster.dead() == []
        for _ in range(5):
            await state.roster.beat(old)
            other.roster._is_my_turn = True  # a new list, right after the cut
            (line,) = [one for one in raw.client_list() if one["name"] == f"tenure:{broker._store.token}"]
            raw.client_kill_filter(_id=line["id"])
            assert await other.roster.dead() == []

            async def is_back() -> bool:
                return any(one["name"] == f"tenure:{broker._store.token}" for one in raw.client_list())

            await until(is_back)


async def test_a_new_boot_under_the_same_name_ends_the_old_one(server: RedisServer, raw: Any) -> None:
    async with opened(server.url) as (_, state):
        broker, other = connected(server.url)
        await broker.open()
        old, new = Owner("one", "1", started_at=1.0), Owner("one", "2", started_at=2.0)
        await other.roster.join(old)
        await state.roster.join(new)
        assert await state.roster.dead() == []  # two of one name, and both are there
        await broker.close()
        dead: list[DeadOwner] = await until(state.roster.dead)
        assert [one.owner for one in dead] == [old]
        assert "new boot" in dead[0].proof
