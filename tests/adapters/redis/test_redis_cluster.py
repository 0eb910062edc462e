"""A real cluster at work: hand-offs over slots, outages judged for all nodes, slots on their way, a node that fails."""

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from redis.crc import key_slot
from tests.adapters.redis.showing import shown_in
from tests.conformance.redis_harness import ClusterHarness
from tests.servers import Cluster, RedisServer, start_cluster, start_redis
from tests.servers.replication import until_replicated
from tests.servers.server import until
from tests.servers.shared import shared_cluster

from tenure.adapters import redis
from tenure.broker import SweepRequest
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerUnavailable
from tenure.lease import LeaseRequest
from tenure.message import Message, MessageState, Outgoing, new_id
from tenure.settlement import Ack
from tenure.testing.harness import QUEUE

_SLOTS = 16_384
_SWEEP = SweepRequest()


@pytest.fixture
def harness() -> ClusterHarness:
    """Fresh keys in virtual time, on the cluster that others use too."""
    return ClusterHarness()


def _queues(harness: ClusterHarness) -> list[str]:
    """One on each node; the first beside what belongs to no queue."""
    names, nodes = harness._store.names, len(shared_cluster(harness.kind).nodes)

    def node(key: str) -> int:
        return key_slot(key.encode()) * nodes // _SLOTS

    common = node(names.common)
    by_node: dict[int, str] = {}
    for number in range(1000):
        by_node.setdefault(node(names.queue(f"q{number}")), f"q{number}")
    assert len(by_node) == nodes
    return [by_node.pop(common), *by_node.values()]


def _outbox(harness: ClusterHarness, queue: str) -> int:
    size: int = harness._raw.hlen(f"{harness._store.names.queue(queue)}outbox")
    return size


class Killed(BaseException):
    """As if the process had ended here."""


async def test_hand_offs_of_one_that_died_after_its_ack_are_sent_by_another(harness: ClusterHarness) -> None:
    here, _, there = _queues(harness)
    lease = await harness.leased(harness.stranger(), queue=here)
    handoff = harness.message(queue=there)

    async def die(acks: object) -> None:
        raise Killed

    broker: Any = harness.broker
    broker._outbox.empty = die
    with pytest.raises(Killed):
        await broker.ack([Ack(lease, b"1", (Outgoing(handoff),))])
    assert await harness.state_of(lease.id) is MessageState.COMPLETED
    assert _outbox(harness, here) == 1
    assert await harness.state.records.get(handoff.id) is None

    other = await harness.second()
    for _ in range(2):
        await other.sweep(harness.sweep_request())
        assert _outbox(harness, here) == 0
        (lent,) = await shown_in(harness.broker, there, MessageState.READY)
        assert lent.id == handoff.id


async def test_hand_offs_that_were_sent_and_not_struck_off_are_not_sent_twice(harness: ClusterHarness) -> None:
    here, _, there = _queues(harness)
    lease = await harness.leased(harness.stranger(), queue=here)
    handoff = harness.message(queue=there)
    broker: Any = harness.broker
    command_at = broker._store.command_at

    async def die(key: str, *command: Any) -> Any:
        if command[0] == "HDEL":
            raise Killed
        return await command_at(key, *command)

    broker._store.command_at = die
    with pytest.raises(Killed):
        await broker.ack([Ack(lease, b"1", (Outgoing(handoff),))])
    broker._store.command_at = command_at
    assert _outbox(harness, here) == 1
    # Even if it is done by now, it is not run again.
    await harness.complete(await harness.lease_one(harness.stranger(), queues=(there,)))
    await harness.sweep()
    assert _outbox(harness, here) == 0
    assert await harness.state_of(handoff.id) is MessageState.COMPLETED
    assert await shown_in(harness.broker, there, MessageState.READY) == []


async def test_after_a_gap_everybody_on_every_node_gets_a_fresh_window(harness: ClusterHarness) -> None:
    queues = _queues(harness)
    await harness.sweep()
    leases = [await harness.leased(harness.stranger(), queue=queue) for queue in queues]
    await harness.advance(60.0, sweeping=False)
    assert (await harness.sweep()).grace
    swept = await harness.advance(25.0)
    assert not swept.returned
    swept = await harness.advance(10.0)
    assert set(swept.returned) == {lease.id for lease in leases}


async def test_without_a_gap_what_is_overdue_comes_back_from_every_node(harness: ClusterHarness) -> None:
    queues = _queues(harness)
    await harness.sweep()
    leases = [await harness.leased(harness.stranger(), queue=queue) for queue in queues]
    assert set((await harness.lapse()).returned) == {lease.id for lease in leases}


async def test_who_was_banned_long_ago_is_forgotten_beside_every_queue(harness: ClusterHarness) -> None:
    queue = _queues(harness)[1]
    await harness.put(queue=queue)
    for owner in ("one/1", "two/1"):
        await harness.broker.retire(owner, crashed=True)
        await harness.advance(harness._options.keep_seconds + 1, sweeping=False)
    assert harness._raw.zrange(f"{harness._store.names.beside(queue)}ban", 0, -1) == [b"two/1"]


# --- on the machine's own clock, with a cluster that may be spoilt ------------------------------------------

_DIES = """
import asyncio, os, signal, sys
from urllib.parse import urlsplit
from tenure.adapters import redis
from tenure.broker import SweepRequest
from tenure.clock import SYSTEM_CLOCK
from tenure.envelope import decode
from tenure.lease import LeaseRequest
from tenure.message import Outgoing
from tenure.settlement import Ack
import msgspec

url, here, there, id = sys.argv[1:]

async def main():
    broker, _ = redis.connect(redis.read_options(url, urlsplit(url)), clock=SYSTEM_CLOCK)
    await broker.open()
    (lease,) = await broker.lease(LeaseRequest("one/1", "r", (here,), 1, 600.0))
    handoff = msgspec.structs.replace(decode(lease.envelope), id=id, queue=there)

    async def die(acks):
        os.kill(os.getpid(), signal.SIGKILL)

    broker._outbox.empty = die
    await broker.ack([Ack(lease, b"1", (Outgoing(handoff),))])

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One that these tests may spoil."""
    with start_cluster("valkey9", tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[tuple[Any, Any]]:
    """Broker and state on the machine's own clock."""
    broker, state = redis.connect(redis.read_options(url, urlsplit(url)), clock=SYSTEM_CLOCK)
    await broker.open()
    try:
        yield broker, state
    finally:
        await broker.close()


def message(queue: str = QUEUE) -> Message:
    """A new one."""
    wall = SYSTEM_CLOCK.wall()
    return Message(id=new_id(wall), queue=queue, task="deliver", body=msgspec.Raw(b"{}"), sent_at=wall)


async def patiently(act: Any) -> Any:
    """As a worker does: again, while the broker is away."""
    async with asyncio.timeout(30.0):
        while True:
            try:
                return await act()
            except BrokerUnavailable:
                await asyncio.sleep(0.1)


def request(queue: str = QUEUE, want: int = 100) -> LeaseRequest:
    """Ask for all."""
    return LeaseRequest("two/1", new_id(0.0), (queue,), want, 600.0)


@pytest.mark.outage
@pytest.mark.real_time
async def test_a_worker_killed_between_its_ack_and_its_hand_offs_leaves_them_to_another(cluster: Cluster) -> None:
    url = f"{cluster.url}?prefix=killed"
    handoff = new_id(0.0)
    async with opened(url) as (broker, state):
        first = message("here")
        await broker.send([Outgoing(first)])
        process = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", _DIES, url, "here", "there", handoff], timeout=30, check=False
        )
        assert process.returncode == -signal.SIGKILL
        assert (await state.records.get(first.id)).state is MessageState.COMPLETED
        assert await state.records.get(handoff) is None
        await broker.sweep(_SWEEP)
        await broker.sweep(_SWEEP)
        leases = await broker.lease(request("there"))
        assert [lease.id for lease in leases] == [handoff]


@pytest.mark.real_time
async def test_while_a_slot_is_on_its_way_nothing_is_done_and_then_all_is_there(cluster: Cluster) -> None:
    async with opened(f"{cluster.url}?prefix=moving") as (broker, _):
        sent = [message() for _ in range(20)]
        await broker.send([Outgoing(one) for one in sent])
        held = await broker.lease(request(want=5))
        slot = key_slot(broker._store.names.queue(QUEUE).encode())
        source = cluster.node_of(broker._store.names.queue(QUEUE))
        target = next(node for node in cluster.nodes if node is not source)
        move = Move(slot, source, target)
        move.begin()
        late = message()
        for part in (0, 2, 100):  # none of its keys have moved, some, all
            move.some(part)
            for act in (broker.send([Outgoing(late)]), broker.ack([Ack(held[0])]), broker.lease(request())):
                with pytest.raises(BrokerUnavailable):
                    await act
        move.end()
        assert [one.outcome for one in await patiently(lambda: broker.ack([Ack(one) for one in held]))] == [
            "deleted"
        ] * 5
        await broker.send([Outgoing(late)])
        leases = await broker.lease(request())
        assert [lease.id for lease in leases] == [one.id for one in [*sent[5:], late]]


class Move:
    """A slot goes from one node to another, as tools do it."""

    def __init__(self, slot: int, source: RedisServer, target: RedisServer) -> None:
        self.slot, self.source, self.target = slot, source, target

    def begin(self) -> None:
        self.target.ask("CLUSTER", "SETSLOT", self.slot, "IMPORTING", str(self.source.ask("CLUSTER", "MYID")))
        self.source.ask("CLUSTER", "SETSLOT", self.slot, "MIGRATING", str(self.target.ask("CLUSTER", "MYID")))

    def some(self, count: int) -> None:
        keys: Any = self.source.ask("CLUSTER", "GETKEYSINSLOT", self.slot, count) if count else []
        for key in keys:
            self.source.ask("MIGRATE", "127.0.0.1", self.target.port, key, 0, 5000)

    def end(self) -> None:
        owner = str(self.target.ask("CLUSTER", "MYID"))
        for node in (self.target, self.source):
            node.ask("CLUSTER", "SETSLOT", self.slot, "NODE", owner)


@pytest.mark.outage
@pytest.mark.real_time
async def test_when_a_node_fails_its_replica_carries_on(cluster: Cluster, tmp_path: Any) -> None:
    async with opened(f"{cluster.url}?prefix=failing&timeout_seconds=2") as (broker, state):
        sent = [message() for _ in range(10)]
        await broker.send([Outgoing(one) for one in sent])
        held = await broker.lease(request(want=4))
        master = cluster.node_of(broker._store.names.queue(QUEUE))
        config = ["cluster-enabled yes", "cluster-node-timeout 2000", "cluster-replica-validity-factor 0"]
        with start_redis("valkey9", tmp_path, config=config) as replica:
            replica.ask("CLUSTER", "MEET", "127.0.0.1", master.port)
            owner = str(master.ask("CLUSTER", "MYID"))
            await asyncio.to_thread(until, lambda: owner in str(replica.ask("CLUSTER", "NODES")), "they have met")
            await asyncio.to_thread(until, lambda: _follows(replica, owner), "it follows")
            await asyncio.to_thread(until_replicated, master, replica, key=f"{broker._store.names.queue(QUEUE)}probe")
            cluster.give_up_soon()
            master.kill()
            outcomes = await patiently(lambda: broker.ack([Ack(one, b"1") for one in held]))
            assert [one.outcome for one in outcomes] == ["deleted"] * 4
            leases = await patiently(lambda: broker.lease(request()))
            assert [lease.id for lease in leases] == [one.id for one in sent[4:]]
            assert (await state.records.get(sent[0].id)).state is MessageState.COMPLETED


def _follows(replica: RedisServer, owner: str) -> bool:
    with contextlib.suppress(Exception):
        return str(replica.ask("CLUSTER", "REPLICATE", owner)) == "OK"
    return False
