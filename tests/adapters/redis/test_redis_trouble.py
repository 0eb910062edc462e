"""Trouble with a real server: refused logins, foreign keys, flushed scripts, full memory, cut lines, garbage."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from redis import Redis
from tests.conformance.redis_server import KINDS, RedisServer, is_installed

from tenure.adapters import redis
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerUnavailable, ConfigurationError, StoreForeign, TenureError
from tenure.lease import LeaseRequest
from tenure.message import Message, MessageState, Outgoing, new_id
from tenure.owner import Owner
from tenure.settlement import Ack, Outcome

pytestmark = pytest.mark.real_time

QUEUE = "mail"
KEYS = "tenure:{mail}:"


@pytest.fixture(scope="module", params=[kind for kind in KINDS if is_installed(kind)])
def server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    """One that these tests may spoil."""
    server = RedisServer(request.param)
    yield server
    server.stop()


@pytest.fixture
def raw(server: RedisServer) -> Iterator[Any]:
    """A plain client, and an empty server."""
    client: Any = Redis(port=server.port)
    client.flushall()
    client.script_flush()
    yield client
    client.config_set("maxmemory", 0)
    client.close()


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[tuple[Any, Any]]:
    """Broker and state on the machine's own clock."""
    broker, state = redis.connect(redis.read_options(url, urlsplit(url)), clock=SYSTEM_CLOCK)
    await broker.open()
    try:
        yield broker, state
    finally:
        await broker.close()


def message(**fields: Any) -> Message:
    """A new one."""
    wall = SYSTEM_CLOCK.wall()
    usual: dict[str, Any] = {
        "id": new_id(wall),
        "queue": QUEUE,
        "task": "deliver",
        "body": msgspec.Raw(b"{}"),
        "sent_at": wall,
    }
    return Message(**(usual | fields))


def request(owner: str = "one/1", want: int = 10) -> LeaseRequest:
    """Ask for some."""
    return LeaseRequest(owner, new_id(0.0), (QUEUE,), want, 30.0)


async def test_a_wrong_password_is_told_as_such(server: RedisServer, raw: Any) -> None:
    raw.config_set("requirepass", "secret")
    try:
        with pytest.raises(ConfigurationError) as caught:
            async with opened(server.url.replace("//", "//:wrong@")):
                pass
        assert caught.value.code == "login_refused"
        with pytest.raises(ConfigurationError) as caught:
            async with opened(server.url):
                pass
        assert caught.value.code == "login_refused"
        async with opened(server.url.replace("//", "//:secret@")) as (broker, _):
            await broker.send([Outgoing(message())])
    finally:
        raw.execute_command("AUTH", "secret")
        raw.config_set("requirepass", "")


async def test_a_command_that_is_not_allowed_is_named(server: RedisServer, raw: Any) -> None:
    raw.execute_command("ACL", "SETUSER", "poor", "on", ">word", "~*", "&*", "+@all", "-evalsha", "-eval")
    async with opened(server.url.replace("//", "//poor:word@")) as (broker, _):
        with pytest.raises(ConfigurationError) as caught:
            await broker.send([Outgoing(message())])
    assert caught.value.code == "permission_missing"


async def test_without_the_right_to_list_connections_presence_is_kept_by_beats(server: RedisServer, raw: Any) -> None:
    raw.execute_command(
        "ACL", "SETUSER", "modest", "on", ">word", "~*", "&*", "+@all", "-client", "+client|setname", "-config"
    )
    async with opened(server.url.replace("//", "//modest:word@")) as (_, state):
        owner = Owner("one", "1", started_at=1.0)
        await state.roster.join(owner)
        assert await state.roster.alive() == [owner]
        assert await state.roster.dead() == []


@pytest.mark.parametrize("name", ["meta", "m", "l", "d", "loan", "s5"])
async def test_a_key_of_another_kind_is_left_alone_and_nothing_is_half_done(
    server: RedisServer, raw: Any, name: str
) -> None:
    async with opened(server.url) as (broker, state):
        first = message()
        await broker.send([Outgoing(first)])
        kept = raw.dump(f"{KEYS}{name}") if raw.exists(f"{KEYS}{name}") else None
        raw.delete(f"{KEYS}{name}")
        raw.set(f"{KEYS}{name}", "somebody else's")
        with pytest.raises(StoreForeign):
            await broker.lease(request())
        assert raw.get(f"{KEYS}{name}") == b"somebody else's"
        raw.delete(f"{KEYS}{name}")
        if kept is not None:
            raw.restore(f"{KEYS}{name}", 0, kept)
        assert [one.id for one in await broker.lease(request())] == [first.id]
        assert (await state.records.get(first.id)).state is MessageState.LEASED


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


async def test_a_replica_is_told_as_an_outage(server: RedisServer, raw: Any) -> None:
    async with opened(server.url) as (broker, _):
        await broker.send([Outgoing(message())])
        raw.execute_command("REPLICAOF", "127.0.0.1", "1")
        try:
            with pytest.raises(BrokerUnavailable):
                await broker.send([Outgoing(message())])
        finally:
            raw.execute_command("REPLICAOF", "NO", "ONE")
        await broker.send([Outgoing(message())])


async def test_killed_connections_are_an_outage_and_made_anew(server: RedisServer, raw: Any) -> None:
    async with opened(server.url) as (broker, _):
        waiter = asyncio.create_task(broker.wait([QUEUE], 30.0))
        await asyncio.sleep(0.2)
        raw.execute_command("CLIENT", "KILL", "SKIPME", "yes")
        with pytest.raises(BrokerUnavailable):
            await waiter
        await asyncio.sleep(0.2)
        waiter = asyncio.create_task(broker.wait([QUEUE], 30.0))
        await asyncio.sleep(0.2)
        sent = message()
        for _ in range(5):
            try:
                await broker.send([Outgoing(sent)])
                break
            except BrokerUnavailable:
                continue
        await asyncio.wait_for(waiter, 5.0)
        assert [one.id for one in await broker.lease(request())] == [sent.id]


async def test_nobody_there_is_an_outage_before_anything_was_sent() -> None:
    with pytest.raises(BrokerUnavailable) as caught:
        async with opened("redis://127.0.0.1:1"):
            pass
    assert not caught.value.outcome_unknown


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
        witness = Owner("two", "1", started_at=2.0)
        await state.roster.join(witness)
        await state.roster.dead()
        await asyncio.sleep(3.1)  # nobody is blamed before all could have connected
        broker, other = redis.connect(redis.read_options(server.url, urlsplit(server.url)), clock=SYSTEM_CLOCK)
        await broker.open()
        owner = Owner("one", "1", started_at=1.0)
        await other.roster.join(owner)
        assert await state.roster.dead() == []
        assert len(await state.roster.alive()) == 2
        await broker.close()  # as the kernel closes what a killed process had open
        await _until(lambda: _names(raw) == 1)
        assert await state.roster.dead() == []
        await asyncio.sleep(1.1)
        (dead,) = await state.roster.dead()
        assert (dead.owner, dead.left) == (owner, False)
        assert "connection" in dead.proof


async def test_a_new_boot_under_the_same_name_ends_the_old_one_at_once(server: RedisServer, raw: Any) -> None:
    async with opened(server.url) as (_, state):
        broker, other = redis.connect(redis.read_options(server.url, urlsplit(server.url)), clock=SYSTEM_CLOCK)
        await broker.open()
        old, new = Owner("one", "1", started_at=1.0), Owner("one", "2", started_at=2.0)
        await other.roster.join(old)
        await state.roster.join(new)
        assert await state.roster.dead() == []  # two of one name, and both are there
        await broker.close()
        await _until(lambda: _names(raw) == 1)
        assert [one.owner for one in await state.roster.dead()] == [old]


async def test_every_error_is_one_of_ours(server: RedisServer, raw: Any) -> None:
    async with opened(server.url) as (broker, _):
        raw.set(f"{KEYS}m", "x")
        for act in (
            broker.send([Outgoing(message())]), broker.depth([QUEUE]), broker.lease(request()), broker.held("one/1")
        ):  # fmt: skip
            try:
                await act
            except TenureError:
                continue


def _names(raw: Any) -> int:
    """How many workers' connections the server has."""
    return sum(one["name"].startswith("tenure:") for one in raw.client_list())


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(5.0):
        while not is_so():  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)
