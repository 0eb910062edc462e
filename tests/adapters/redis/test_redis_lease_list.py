"""The list of leases on Redis: what each field says, over queues, within bounds; and one lease by its name."""

import msgspec
import pytest
from tests.conformance.redis_harness import SINGLE, ClusterHarness, RedisHarness

from tenure.adapters.redis.sweep_time import sweep_key
from tenure.lease import LeaseState
from tenure.message import Outgoing
from tenure.record import Progress
from tenure.settlement import Ack, Nack
from tenure.testing.harness import BROKEN, QUEUE

HARNESSES = [*SINGLE, ClusterHarness]


@pytest.fixture(params=HARNESSES, ids=[*(kind.kind for kind in SINGLE), "cluster"])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    kind: type[RedisHarness] = request.param
    return kind()


async def test_a_lease_is_listed_with_all_that_is_known(harness: RedisHarness) -> None:
    owner = await harness.owner()
    message = await harness.put()
    began = harness.clock.wall()
    lease = await harness.lease_one(owner, seconds=60.0)
    await harness.advance(5.0, sweeping=False)
    (held,) = (await harness.broker.leases()).leases
    assert (held.id, held.queue, held.task, held.owner) == (message.id, QUEUE, message.task, owner.id)
    assert (held.fence, held.attempt, held.seconds, held.has_presence) == (lease.fence, 1, 60.0, True)
    assert held.leased_at == pytest.approx(began, abs=0.01)
    assert held.deadline_in == pytest.approx(55.0, abs=0.01)
    assert held.deadline == pytest.approx(began + 60.0, abs=0.01)
    assert (held.beats, held.last_beat_at, held.progress, held.size, held.predicted_seconds) == (0, *[None] * 4)
    await harness.broker.touch([msgspec.structs.replace(lease, size=12.5)])
    await harness.advance(5.0, sweeping=False)
    told = msgspec.structs.replace(lease, size=13.0, predicted_seconds=9.0, seconds=90.0)
    await harness.broker.touch([told])
    await harness.state.records.progress([(lease, Progress(0.5))])
    await harness.advance(1.0, sweeping=False)
    answer = await harness.broker.leases()
    (held,) = answer.leases
    assert (held.beats, held.size, held.predicted_seconds, held.seconds) == (2, 13.0, 9.0, 90.0)
    assert held.last_beat_at == pytest.approx(began + 10.0, abs=0.01)
    assert held.progress == Progress(0.5)
    assert answer.now == pytest.approx(harness.clock.wall(), abs=0.01)
    assert not answer.is_cut


async def test_a_new_lease_on_the_same_message_begins_with_no_beats(harness: RedisHarness) -> None:
    await harness.put()
    lease = await harness.lease_one("client/1")
    await harness.broker.touch([lease])
    await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
    again = await harness.lease_one("client/1")
    (held,) = (await harness.broker.leases()).leases
    assert (held.beats, held.attempt, held.has_presence) == (0, 2, False)
    await harness.broker.touch([again])
    assert (await harness.broker.leases()).leases[0].beats == 1


async def test_the_beats_of_what_has_ended_are_dropped_by_later_touches(harness: RedisHarness) -> None:
    key = f"{harness._store.names.queue(QUEUE)}beats"
    for _ in range(400):
        await harness.put()
    leases = await harness.lease_all("client/1")
    await harness.broker.touch(leases)
    assert harness._raw.hlen(key) == 400
    assert harness._raw.ttl(key) > 3600
    await harness.broker.ack([Ack(lease) for lease in leases[1:]])
    for _ in range(20):
        (touched,) = await harness.broker.touch(leases[:1])
        assert touched.state is LeaseState.HELD
    assert harness._raw.hlen(key) < 150
    assert (await harness.broker.leases()).leases[0].beats == 21


async def test_a_message_that_is_never_touched_leaves_no_beats(harness: RedisHarness) -> None:
    await harness.put()
    await harness.broker.ack([Ack(await harness.lease_one("client/1"))])
    assert not harness._raw.exists(f"{harness._store.names.queue(QUEUE)}beats")


async def test_a_touch_is_good_where_the_beats_are_something_else(harness: RedisHarness) -> None:
    key = f"{harness._store.names.queue(QUEUE)}beats"
    await harness.put()
    lease = await harness.lease_one("client/1")
    harness._raw.set(key, "somebody else's")
    (touched,) = await harness.broker.touch([lease])
    assert touched.state is LeaseState.HELD
    harness._raw.delete(key)
    harness._raw.hset(key, lease.id, "nonsense")
    assert (await harness.broker.leases()).leases[0].beats == 0
    harness._raw.hset(key, lease.id, f"{lease.fence}:x:y")
    assert (await harness.broker.leases()).leases[0].beats == 0
    await harness.broker.touch([lease])
    assert (await harness.broker.leases()).leases[0].beats == 1


async def test_leases_come_soonest_first_over_queues_and_within_the_limit(harness: RedisHarness) -> None:
    expected: list[tuple[str, str]] = []
    for number, queue in enumerate(("a-tasks", "b-tasks", "c") * 7):
        await harness.put(queue=queue)
        seconds = 100.0 - 3 * number
        lease = await harness.lease_one("client/1", queues=(queue,), seconds=seconds)
        expected.insert(0, (lease.id, queue))
    answer = await harness.broker.leases()
    assert [(one.id, one.queue) for one in answer.leases] == expected
    assert not answer.is_cut
    for limit in (1, 5, 20):
        answer = await harness.broker.leases(limit=limit)
        assert [(one.id, one.queue) for one in answer.leases] == expected[:limit]
        assert answer.is_cut
    answer = await harness.broker.leases(["*-tasks"])
    assert [(one.id, one.queue) for one in answer.leases] == [one for one in expected if one[1] != "c"]
    answer = await harness.broker.leases(["c", "none"])
    assert {one.queue for one in answer.leases} == {"c"}
    answer = await harness.broker.leases(limit=0)
    assert answer.leases == ()
    assert answer.now == pytest.approx(harness.clock.wall(), abs=0.01)


async def test_many_leases_in_one_queue_are_read_in_several_scripts(harness: RedisHarness) -> None:
    await harness.broker.send([Outgoing(harness.message()) for _ in range(1000)])
    leases = await harness.lease_all("client/1")
    answer = await harness.broker.leases()
    assert {one.id for one in answer.leases} == {lease.id for lease in leases}
    assert len(answer.leases) == 1000
    answer = await harness.broker.leases(limit=450)
    assert (len(answer.leases), answer.is_cut) == (450, True)


async def test_when_the_store_was_swept_is_told_once_it_was(harness: RedisHarness) -> None:
    key = sweep_key(harness._store.names)
    harness._raw.delete(key)
    answer = await harness.broker.leases()
    assert (answer.last_sweep_at, answer.next_sweep_at) == (None, None)
    now = round(harness.clock.monotonic() * 1e6)
    harness._raw.hset(key, mapping={"at": now - 2_000_000, "wall": 1.0, "every": 5_000_000})
    answer = await harness.broker.leases(limit=0)
    assert answer.last_sweep_at == pytest.approx(harness.clock.wall() - 2.0, abs=0.01)
    assert answer.next_sweep_at == pytest.approx(harness.clock.wall() + 3.0, abs=0.01)
    harness._raw.hset(key, mapping={"at": "nonsense", "every": "inf"})
    assert (await harness.broker.leases()).last_sweep_at is None


async def test_a_lease_is_found_by_its_name_and_can_be_settled(harness: RedisHarness) -> None:
    message = await harness.put(queue="here")
    await harness.put(queue="there")
    lease = await harness.lease_one("client/1", queues=("here",), seconds=60.0)
    broker = harness.broker
    for queue in (None, "here", "there", "nowhere"):
        found = await broker.find(message.id, "client/1", lease.fence, queue)
        assert found is not None
        assert (found.id, found.queue, found.envelope, found.fence, found.receipt) == (
            message.id,
            "here",
            lease.envelope,
            lease.fence,
            lease.receipt,
        )
        assert found.counters == lease.counters
    assert await broker.find(message.id, "client/2", lease.fence) is None
    assert await broker.find(message.id, "client/1", lease.fence + 1) is None
    assert await broker.find("other", "client/1", lease.fence) is None
    named = await broker.find(message.id, "client/1", lease.fence)
    assert named is not None
    (touched,) = await broker.touch([named])
    assert touched.state is LeaseState.HELD
    await broker.ack([Ack(named)])
    assert await broker.find(message.id, "client/1", lease.fence) is None
