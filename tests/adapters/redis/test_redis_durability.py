"""`durability=replicated`: an answer means that a replica has it, on one server and in a cluster."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from redis import Redis
from redis.exceptions import ResponseError
from tests.adapters.redis.acting import KEYS, at_last, message, opened, request
from tests.servers import KINDS, Kind, RedisServer, start_cluster, start_redis
from tests.servers.replication import until_replicated
from tests.servers.server import start_somewhere, until

from tenure.adapters import redis
from tenure.adapters.redis.table import RedisTable
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerUnavailable
from tenure.message import MessageState, Outgoing
from tenure.settlement import Ack, Outcome
from tenure.table import RowKey, Write

pytestmark = [pytest.mark.real_time, pytest.mark.outage]

_IMPATIENT = "durability=replicated&timeout_seconds=2"
_PATIENT = "durability=replicated&timeout_seconds=20"


class Pair(NamedTuple):
    """A master, its replica, and the URL that leads to them."""

    url: str
    master: RedisServer
    replica: RedisServer


@pytest.fixture(params=KINDS)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """One server and its replica."""
    with (
        start_redis(request.param, tmp_path) as master,
        start_redis(request.param, tmp_path, config=[f"replicaof 127.0.0.1 {master.port}"]) as replica,
    ):
        until_replicated(master, replica)
        yield Pair(f"{master.url}?", master, replica)


@pytest.fixture
def in_cluster(tmp_path: Path) -> Iterator[Pair]:
    """A cluster in which only the node of the queue has a replica."""
    kind: Kind = "valkey9"
    lines = ["bind 127.0.0.1", 'save ""', "appendonly no", "cluster-enabled yes", "repl-diskless-sync-delay 0"]
    with start_cluster(kind, tmp_path, config=["repl-diskless-sync-delay 0"]) as cluster:
        master = cluster.node_of("{mail}")
        with start_somewhere(lambda free: RedisServer(kind, tmp_path, free, lines)) as replica:
            replica.ask("CLUSTER", "MEET", "127.0.0.1", master.port)
            name = str(master.ask("CLUSTER", "MYID"))
            until(lambda: name in str(replica.ask("CLUSTER", "NODES")), "the replica knows its master")
            replica.ask("CLUSTER", "REPLICATE", name)
            until_replicated(master, replica, key=f"{KEYS}probe")
            yield Pair(f"{cluster.url}?", master, replica)


async def test_what_was_answered_is_on_the_replica(pair: Pair) -> None:
    await _is_confirmed(pair)


async def test_in_a_cluster_the_node_of_the_queue_is_asked(in_cluster: Pair) -> None:
    await _is_confirmed(in_cluster)


async def _is_confirmed(pair: Pair) -> None:
    async with opened(pair.url + _PATIENT) as (broker, _):
        sent = message()
        await broker.send([Outgoing(sent)])
        # The replica's own word, at once: it had it before we were answered.
        assert sent.id in str(_kept(pair.replica))
        (lease,) = await broker.lease(request())
        assert [one.outcome for one in await broker.ack([Ack(lease)])] == [Outcome.DELETED]
        assert sent.id not in str(_kept(pair.replica))


def _kept(server: RedisServer) -> object:
    """The ids that a replica has."""
    client: Any = Redis(port=server.port, single_connection_client=True, decode_responses=True)
    with client:
        with contextlib.suppress(ResponseError):  # outside of a cluster there is no such word, and no need
            client.execute_command("READONLY")
        return client.hkeys(f"{KEYS}m")


async def test_a_sender_learns_that_no_replica_has_it_and_may_send_it_again(pair: Pair) -> None:
    await _is_not_confirmed(pair)


async def test_likewise_in_a_cluster(in_cluster: Pair) -> None:
    await _is_not_confirmed(in_cluster)


async def _is_not_confirmed(pair: Pair) -> None:
    async with opened(pair.url + _IMPATIENT) as (broker, state):
        sent = message()
        pair.replica.freeze()
        for _ in range(2):  # also when there is nothing left to write: it was written before
            with pytest.raises(BrokerUnavailable) as caught:
                await broker.send([Outgoing(sent)])
            assert caught.value.code == "not_replicated"
            assert caught.value.outcome_unknown
        assert (await state.records.get(sent.id)).state is MessageState.READY
        pair.replica.resume()
        (again,) = await at_last(lambda: broker.send([Outgoing(sent)]))
        assert again.duplicate
        assert len(await broker.lease(request())) == 1


async def test_a_settle_is_repeated_until_a_replica_has_it(pair: Pair) -> None:
    async with opened(pair.url + _IMPATIENT) as (broker, state):
        sent = message()
        await at_last(lambda: broker.send([Outgoing(sent)]))
        (lease,) = await broker.lease(request())
        pair.replica.freeze()
        for _ in range(2):
            with pytest.raises(BrokerUnavailable) as caught:
                await broker.ack([Ack(lease, b"1")])
            assert caught.value.code == "not_replicated"
            assert caught.value.outcome_unknown  # the outbox keeps it
            await broker._store.link.drop()  # another connection knows nothing of what this one wrote
        pair.replica.resume()
        await at_last(lambda: broker.ack([Ack(lease, b"1")]))
        assert (await state.records.get(sent.id)).state is MessageState.COMPLETED


async def test_state_that_is_kept_here_for_another_broker_is_confirmed_too(pair: Pair) -> None:
    async with _table(pair.url + _PATIENT) as table:
        assert await table.write([Write(_PLACE, "claimed", None)]) == ["claimed"]
        assert _told(pair.replica) == "claimed"  # the replica's own word, at once


async def test_nobody_is_told_that_it_stands_before_a_replica_has_it(pair: Pair) -> None:
    async with _table(pair.url + _IMPATIENT) as table:
        await at_last(lambda: table.write([Write(_PLACE, "claimed", None)]))
        pair.replica.freeze()
        for act in (
            lambda: table.write([Write(_PLACE, "done", "claimed")]),
            lambda: table.get([_PLACE]),  # as whoever got no answer does, to see whether it stands
            lambda: table.page(_PLACE.part),
        ):
            with pytest.raises(BrokerUnavailable) as caught:
                await act()
            assert caught.value.code == "not_replicated"
            assert caught.value.outcome_unknown
        pair.replica.resume()
        (row,) = await at_last(lambda: table.get([_PLACE]))
        assert row is not None
        assert row.text == "done" == _told(pair.replica)


_PLACE = RowKey("p", "one")


@contextlib.asynccontextmanager
async def _table(url: str) -> AsyncIterator[RedisTable]:
    table = RedisTable(redis.read_options(url, urlsplit(url)), SYSTEM_CLOCK)
    await table.open()
    try:
        yield table
    finally:
        await table.close()


def _told(server: RedisServer) -> object:
    client: Any = Redis(port=server.port, single_connection_client=True, decode_responses=True)
    with client:
        (name,) = client.keys("*t:p")
        return client.hget(name, _PLACE.sort)


async def test_without_it_nobody_waits_for_a_replica(pair: Pair) -> None:
    async with opened(pair.url) as (broker, _):
        pair.replica.freeze()
        await broker.send([Outgoing(message())])
        assert len(await broker.lease(request())) == 1
        assert pair.replica.is_running


async def test_a_script_that_the_server_forgot_is_confirmed_as_well(pair: Pair) -> None:
    async with opened(pair.url + _IMPATIENT) as (broker, _):
        await at_last(lambda: broker.send([Outgoing(message())]))
        pair.master.ask("SCRIPT", "FLUSH")
        await at_last(lambda: broker.send([Outgoing(message())]))
        pair.replica.freeze()
        pair.master.ask("SCRIPT", "FLUSH")
        with pytest.raises(BrokerUnavailable) as caught:
            await broker.send([Outgoing(message())])
        assert caught.value.code == "not_replicated"
        assert len(await broker.lease(request(want=10))) == 3


async def test_where_the_server_can_its_own_disk_is_asked_too(tmp_path: Path) -> None:
    with (
        start_redis("valkey9", tmp_path, appendonly=True) as master,
        start_redis("valkey9", tmp_path, config=[f"replicaof 127.0.0.1 {master.port}"]) as replica,
    ):
        until_replicated(master, replica)
        async with opened(f"{master.url}?{_PATIENT}") as (broker, _):
            await broker.send([Outgoing(message())])
        told = str(master.ask("INFO", "commandstats"))
        assert "cmdstat_waitaof:calls=" in told
        assert "failed_calls=0" in told.partition("cmdstat_waitaof")[2].splitlines()[0]
