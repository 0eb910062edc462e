"""Writes refused, answers lost, lines cut: what is told, what is kept, and how it goes on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from tests.adapters.redis.acting import KEYS, QUEUE, at_last, message, opened, request, until
from tests.servers import KINDS, Cluster, RedisServer, ServerError, start_cluster, start_redis
from tests.servers.proxy import Proxy
from tests.servers.server import until as seen

from tenure.errors import BrokerUnavailable
from tenure.message import MessageState, Outgoing
from tenure.settlement import Ack, Outcome

pytestmark = [pytest.mark.real_time, pytest.mark.outage]


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One for all of these tests."""
    with start_redis(request.param, tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def raw(server: RedisServer) -> Iterator[Any]:
    """A plain client, and an empty server."""
    client: Any = Redis(port=server.port)
    client.flushall()
    yield client
    client.close()


@contextlib.asynccontextmanager
async def holding(url: str) -> AsyncIterator[tuple[Any, Any, Any]]:
    """Broker, state, and the lease on one message."""
    async with opened(url) as (broker, state):
        await broker.send([Outgoing(message())])
        (lease,) = await broker.lease(request())
        yield broker, state, lease


async def _is_refused(broker: Any, lease: Any, words: str) -> None:
    """Every write, with the same words, and nothing is done."""
    acts: list[Callable[[], Awaitable[Any]]] = [
        lambda: broker.send([Outgoing(message())]), lambda: broker.lease(request()),
        lambda: broker.touch([lease]), lambda: broker.ack([Ack(lease)]),
    ]  # fmt: skip
    for act in acts:
        with pytest.raises(BrokerUnavailable) as caught:
            await act()
        assert words in str(caught.value)
        assert "nothing was written" in str(caught.value)
        assert not caught.value.outcome_unknown


async def _goes_on(broker: Any, state: Any, lease: Any) -> None:
    """The holder settles what it held, and there is nothing else."""
    settled = await at_last(lambda: broker.ack([Ack(lease)]))
    assert [one.outcome for one in settled] == [Outcome.DELETED]
    assert (await state.records.get(lease.id)).state is MessageState.COMPLETED
    assert await broker.depth() == []


async def test_too_few_replicas(server: RedisServer, raw: Any) -> None:
    async with holding(server.url) as (broker, state, lease):
        await broker.send([Outgoing(message())])
        raw.config_set("min-replicas-to-write", 1)
        try:
            await _is_refused(broker, lease, "min-replicas-to-write")
        finally:
            raw.config_set("min-replicas-to-write", 0)
        (other,) = await broker.lease(request())
        await broker.ack([Ack(other)])
        await _goes_on(broker, state, lease)


async def test_a_replica_and_the_way_to_the_next_master_is_looked_for(server: RedisServer, raw: Any) -> None:
    async with holding(server.url) as (broker, state, lease):
        await broker.send([Outgoing(message())])
        (other,) = await broker.lease(request())
        waiter = asyncio.create_task(broker.wait([QUEUE], 60.0))
        await until(lambda: _are_listening(raw, 1))
        before = {one["id"] for one in raw.client_list()}
        raw.execute_command("REPLICAOF", "127.0.0.1", "1")
        try:
            await _is_refused(broker, lease, "it is a replica now")
            # The name may lead elsewhere by now: every connection is made anew, also the one that listens.
            with pytest.raises(BrokerUnavailable):
                await waiter
            await until(lambda: _has_one_more(raw, before))
            mine = {one["id"] for one in raw.client_list() if one["cmd"] != "client|list"}
            assert not mine & before - {str(raw.client_id())}
        finally:
            raw.execute_command("REPLICAOF", "NO", "ONE")
        await broker.ack([Ack(other)])
        await _goes_on(broker, state, lease)


async def _are_listening(raw: Any, count: int) -> bool:
    return len(raw.client_list(_type="pubsub")) == count


async def _has_one_more(raw: Any, before: set[str]) -> bool:
    return bool({one["id"] for one in raw.client_list()} - before)


async def test_a_replica_without_its_master(server: RedisServer, raw: Any) -> None:
    async with holding(server.url) as (broker, state, lease):
        raw.config_set("replica-serve-stale-data", "no")
        raw.execute_command("REPLICAOF", "127.0.0.1", "1")
        try:
            await _is_refused(broker, lease, "the link to its master is down")
        finally:
            raw.execute_command("REPLICAOF", "NO", "ONE")
            raw.config_set("replica-serve-stale-data", "yes")
        await _goes_on(broker, state, lease)


async def test_somebody_elses_endless_script(server: RedisServer, raw: Any) -> None:
    raw.config_set("lua-time-limit", 20)
    async with holding(server.url) as (broker, state, lease):
        endless = asyncio.create_task(asyncio.to_thread(_run_for_ever, server))
        await until(lambda: _is_busy(server))
        await _is_refused(broker, lease, "another client's script blocks it")
        server.ask("SCRIPT", "KILL")
        assert "killed" in (await endless).lower()
        await _goes_on(broker, state, lease)


def _run_for_ever(server: RedisServer) -> str:
    client: Any = Redis(port=server.port, socket_timeout=60)
    try:
        return str(client.eval("while true do end", 0))
    except Exception as error:  # noqa: BLE001 - its end is what is waited for
        return str(error)
    finally:
        client.close()


async def _is_busy(server: RedisServer) -> bool:
    try:
        server.ask("GET", "x")
    except ServerError as error:
        return str(error).startswith("BUSY")
    return False


async def test_a_server_that_still_loads_its_data(tmp_path: Path) -> None:
    # Microseconds for each key; and it answers after each.
    slow = ["key-load-delay 20000", "loading-process-events-interval-bytes 1024", "rdbcompression no"]
    with start_redis("valkey9", tmp_path, config=slow) as server:
        async with holding(server.url) as (broker, state, lease):
            fill: Any = Redis(port=server.port)
            fill.eval("for i = 1, 250 do redis.call('SET', 'filler' .. i, string.rep('x', 2000)) end", 0)
            fill.save()
            fill.close()
            starting = asyncio.create_task(asyncio.to_thread(server.restart))
            await until(lambda: _is_loading(server))
            with pytest.raises(BrokerUnavailable):
                await broker.touch([lease])  # by a line to the process that was
            await _is_refused(broker, lease, "it is still loading its data")
            await starting
            await _goes_on(broker, state, lease)


async def _is_loading(server: RedisServer) -> bool:
    try:
        server.ask("GET", "x")
    except ServerError as error:
        return str(error).startswith("LOADING")
    except OSError:
        return False  # it has not begun
    return False


# --- lines that are cut ---------------------------------------------------------------------------------


@pytest.mark.parametrize("act", ["send", "lease", "ack"])
async def test_an_answer_that_is_lost_is_told_so_and_the_act_repeated_does_no_harm(
    server: RedisServer, raw: Any, act: str
) -> None:
    with Proxy(server.port) as proxy:
        async with opened(f"redis://127.0.0.1:{proxy.port}") as (broker, state):
            sent = message()
            asked = request()
            # So that neither the queue nor a script must be made known first, which would be answered in vain.
            await broker.send([Outgoing(message())])
            await broker.ack([Ack(lease) for lease in await broker.lease(request())])
            if act != "send":
                await broker.send([Outgoing(sent)])
            leases: list[Any] = await broker.lease(request()) if act == "ack" else []
            acts: dict[str, Callable[[], Awaitable[Any]]] = {
                "send": lambda: broker.send([Outgoing(sent)]),
                "lease": lambda: broker.lease(asked),
                "ack": lambda: broker.ack([Ack(lease, b"1") for lease in leases]),
            }
            done = {"send": "ready", "lease": "leased", "ack": "completed"}[act]
            async with opened(server.url) as (_, witness):
                proxy.drop_replies()
                unanswered = asyncio.ensure_future(acts[act]())
                await until(lambda: _is_in(witness, sent.id, done))
                proxy.cut()
                with pytest.raises(BrokerUnavailable) as caught:
                    await unanswered
                assert caught.value.outcome_unknown
                proxy.pass_on()
                if act == "send":
                    (again,) = await at_last(acts[act])
                    assert again.duplicate
                elif act == "lease":
                    assert await at_last(acts[act]) == []
                    (held,) = await broker.held(asked.owner, asked.request_id)
                    assert held.id == sent.id
                else:
                    assert [one.outcome for one in await at_last(acts[act])] == [Outcome.ALREADY_GONE]
                    assert (await state.records.get(sent.id)).result == b"1"
                assert await _is_in(witness, sent.id, done)


async def _is_in(state: Any, id: str, name: str) -> bool:
    record = await state.records.get(id)
    return record is not None and record.state.value == name


async def test_connections_killed_and_scripts_flushed_all_the_time_lose_nothing(server: RedisServer, raw: Any) -> None:
    """As the worker does it: whatever fails is said again, and a lease whose answer was lost is asked for."""
    async with opened(server.url) as (broker, state):
        stop = asyncio.Event()

        async def disturb() -> None:
            while not stop.is_set():
                raw.execute_command("CLIENT", "KILL", "SKIPME", "yes")
                raw.script_flush()
                await asyncio.sleep(0.05)

        trouble = asyncio.create_task(disturb())
        sent = [message() for _ in range(60)]
        for one in sent:
            await at_last(partial(broker.send, [Outgoing(one)]))
        done: list[str] = []
        while len(done) < len(sent):
            asked = request(want=7)
            try:
                leases = await broker.lease(asked)
            except BrokerUnavailable:
                leases = await at_last(partial(broker.held, asked.owner, asked.request_id))
            await at_last(partial(broker.ack, [Ack(one) for one in leases]))
            done += [one.id for one in leases]
        stop.set()
        await trouble
        assert sorted(done) == sorted(one.id for one in sent)
        assert await at_last(broker.depth) == []
        assert {(await state.records.get(one.id)).state for one in sent} == {MessageState.COMPLETED}


# --- a cluster ------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """One that these tests may spoil."""
    with start_cluster("valkey9", tmp_path, config=["cluster-require-full-coverage no"]) as cluster:
        yield cluster


async def test_a_slot_on_its_way_waits_and_then_everything_is_there(cluster: Cluster) -> None:
    source = cluster.node_of(KEYS)
    target = next(node for node in cluster.nodes if node is not source)
    async with holding(cluster.url) as (broker, state, lease):
        slot = int(str(source.ask("CLUSTER", "KEYSLOT", KEYS)))
        ids = {node: str(node.ask("CLUSTER", "MYID")) for node in cluster.nodes}
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source])
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target])
        # Half of the keys here, half there: a script must find none of them, rather than some.
        keys: Any = source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1000)
        assert len(keys) > 3
        for half in (keys[::2], keys[1::2]):
            await _is_refused(broker, lease, "on its way to another node")
            source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *half)
        await _is_refused(broker, lease, "on its way to another node")
        assert sorted(map(str, keys)) == sorted(map(str, _listed(target, slot)))  # nothing was added meanwhile
        for node in (target, source, *cluster.nodes):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", ids[target])
        await _goes_on(broker, state, lease)


def _listed(node: RedisServer, slot: int) -> list[Any]:
    keys: Any = node.ask("CLUSTER", "GETKEYSINSLOT", slot, 1000)
    return list(keys)


async def test_a_node_that_is_down_is_an_outage_of_its_queues_only(cluster: Cluster) -> None:
    async with opened(cluster.url) as (broker, _):
        names = [f"queue{n}" for n in range(50)]
        common = cluster.node_of("{%}")
        down = next(node for node in cluster.nodes if node is not common)
        there = next(name for name in names if cluster.node_of(f"{{{name}}}") is down)
        here = next(name for name in names if cluster.node_of(f"{{{name}}}") is common)
        first, second = message(queue=here), message(queue=there)
        for name in (here, there):
            await broker.send([Outgoing(message(queue=name))])  # so that both nodes know the script
            await broker.ack([Ack(one) for one in await broker.lease(request(queue=name))])
        down.kill()
        with pytest.raises(BrokerUnavailable) as caught:
            await broker.send([Outgoing(first), Outgoing(second)])
        assert caught.value.outcome_unknown  # one half of the batch was stored
        (again,) = await at_last(lambda: broker.send([Outgoing(first)]))
        assert again.duplicate
        assert [one.id for one in await broker.lease(request(queue=here))] == [first.id]
        seen(lambda: "cluster_known_nodes:3" in str(common.ask("CLUSTER", "INFO")), "the others go on")
