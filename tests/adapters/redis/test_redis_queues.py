"""Many queues on Redis: only those that have something are asked, and whatever happens to the list stops nothing."""

import asyncio
import os
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from tests.conformance.redis_harness import SINGLE, ClusterHarness, RedisHarness

from tenure.adapters import redis
from tenure.adapters.redis import served as served_module
from tenure.adapters.redis import store as store_module
from tenure.adapters.redis.listing import LISTED_SECONDS
from tenure.adapters.redis.script import BUSY, SWEEP
from tenure.adapters.redis.served import ServedQueues
from tenure.adapters.redis.topology import ScriptCall
from tenure.lease import Lease, LeaseRequest
from tenure.settlement import Ack, GiveBack

QUEUES = tuple(f"client{number:02d}-tasks" for number in range(30))


@pytest.fixture(params=[*SINGLE, ClusterHarness], ids=[*(kind.kind for kind in SINGLE), "cluster"])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    """Fresh keys in virtual time."""
    kind: type[RedisHarness] = request.param
    return kind()


async def take(harness: RedisHarness, *queues: str, want: int = 100, excluded: tuple[str, ...] = ()) -> list[Lease]:
    """What one call lends."""
    request = LeaseRequest(
        "one/1", os.urandom(4).hex(), queues or ("*-tasks",), want, harness.lease_seconds, excluded=excluded
    )
    return await harness.broker.lease(request)


def listed(harness: RedisHarness) -> set[str | None]:
    """The queues on the list of those that have something."""
    names = harness._store.names
    return {names.queue_of(prefix) for prefix in harness._raw.zrange(names.busy, 0, -1)}


async def found_by(harness: RedisHarness, seconds: float, *queues: str) -> list[Lease]:
    """What is lent after so long at the latest."""
    for _ in range(int(seconds * 2) + 1):
        if leases := await take(harness, *queues):
            return leases
        await harness.advance(0.5, sweeping=False)
    return []


async def test_a_queue_is_listed_while_it_has_something_and_no_longer(harness: RedisHarness) -> None:
    await harness.put(queue=QUEUES[0])
    assert listed(harness) == {QUEUES[0]}
    (lease,) = await take(harness)
    assert listed(harness) == set()
    await harness.broker.give_back([GiveBack(lease)])
    assert listed(harness) == {QUEUES[0]}
    (lease,) = await take(harness)
    await harness.broker.ack([Ack(lease)])
    assert listed(harness) == set()


async def test_a_delayed_message_is_found_when_it_is_due_and_wakes_who_waits(harness: RedisHarness) -> None:
    message = await harness.put(queue=QUEUES[3], delay_seconds=20.0)
    assert await take(harness) == []
    began = harness.clock.monotonic()
    while not (leases := await take(harness)):
        await harness.broker.wait(["*-tasks"], 60.0)
    assert [lease.id for lease in leases] == [message.id]
    late = 1.0 if not isinstance(harness, ClusterHarness) else LISTED_SECONDS + 1.0
    assert 20.0 <= harness.clock.monotonic() - began <= 20.0 + late


async def test_each_queue_gets_its_turn_however_full_the_others_are(harness: RedisHarness) -> None:
    for queue in QUEUES[:12]:
        for _ in range(3):
            await harness.put(queue=queue)
    turns = [(await take(harness, *QUEUES, want=1))[0].queue for _ in range(36)]
    for start in range(0, 36, 12):
        assert sorted(turns[start : start + 12]) == sorted(QUEUES[:12])


async def test_one_step_lends_from_many_queues_and_one_step_settles_them(harness: RedisHarness) -> None:
    sent = {(await harness.put(queue=queue)).id for queue in QUEUES}
    leases = await take(harness)
    assert {lease.id for lease in leases} == sent
    settled = await harness.broker.ack([Ack(lease) for lease in leases])
    assert {one.outcome.value for one in settled} == {"deleted"}
    again = await harness.broker.ack([Ack(lease) for lease in leases])
    assert {one.outcome.value for one in again} == {"already_gone"}
    assert sum(one.ready or 0 for one in await harness.broker.depth(QUEUES)) == 0


def reads_of_the_list(harness: RedisHarness, monkeypatch: pytest.MonkeyPatch) -> list[ScriptCall]:
    """Every script from now on that reads the list of queues that have something."""
    calls: list[ScriptCall] = []
    run_all = harness._store.link.run_all

    async def watched(made: Iterable[ScriptCall], *args: Any, **named: Any) -> list[Any]:
        made = list(made)
        calls.extend(call for call in made if call.script is BUSY)
        return await run_all(made, *args, **named)

    monkeypatch.setattr(harness._store.link, "run_all", watched)
    return calls


async def test_a_lease_tells_of_the_list_so_that_the_next_one_need_not_read_it(
    harness: RedisHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    if harness._store.link.is_cluster:
        pytest.skip("not applicable: in a cluster a queue's script does not reach the list")
    sent = {(await harness.put(queue=queue)).id for queue in QUEUES}
    harness._store.listener.take_heard()
    reads = reads_of_the_list(harness, monkeypatch)
    found = [lease.id for _ in range(6) for lease in await take(harness, want=5)]
    assert sorted(found) == sorted(sent)
    assert len(reads) == 1


async def test_where_others_are_faster_the_list_is_read_anew(
    harness: RedisHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    if harness._store.link.is_cluster:
        pytest.skip("not applicable: in a cluster a queue's script does not reach the list")
    for queue in QUEUES:
        await harness.put(queue=queue)
    harness._store.listener.take_heard()
    reads = reads_of_the_list(harness, monkeypatch)
    (lease,) = await take(harness, want=1)
    told = [queue for queue in QUEUES if queue != lease.queue][:4]
    for queue in told:  # by name, as others would
        assert len(await take(harness, queue)) == 1
    (other,) = await take(harness, want=1)
    assert other.queue not in (lease.queue, *told)
    before = len(reads)
    for _ in range(3):
        assert len(await take(harness, want=1)) == 1
    assert len(reads) == before + 3


async def test_a_queue_that_was_lost_from_the_list_of_all_is_known_again_when_something_is_lent_from_it(
    harness: RedisHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_KNOWN_SECONDS", 0.0)
    for queue in QUEUES[:3]:
        await harness.put(queue=queue)
    harness._raw.delete(harness._store.names.queues)
    (lease,) = await take(harness, want=1)
    assert await harness.broker.queues() == [lease.queue]
    assert len(await take(harness)) == 2
    assert await harness.broker.queues() == sorted(QUEUES[:3])


async def test_what_an_older_version_sent_is_found_within_seconds(harness: RedisHarness) -> None:
    await take(harness)
    message = await harness.put(queue=QUEUES[1])
    harness._raw.delete(harness._store.names.busy)  # older versions list nothing
    harness._store.listener.take_heard()
    (lease,) = await found_by(harness, LISTED_SECONDS)
    assert lease.id == message.id


@pytest.mark.parametrize("kind", ["string", "hash"])
async def test_something_else_under_the_key_of_the_list_stops_nothing(harness: RedisHarness, kind: str) -> None:
    key, lent = harness._store.names.busy, harness._store.names.lent
    for one in (key, lent):
        if kind == "string":
            harness._raw.set(one, "nonsense")
        else:
            harness._raw.hset(one, "non", "sense")
    await harness.sweep()
    message = await harness.put(queue=QUEUES[2])
    (lease,) = await take(harness)
    assert lease.id == message.id
    async with asyncio.timeout(60):
        await harness.broker.wait(["*-tasks"], 1.0)
    assert (await harness.lapse()).returned == (message.id,)
    (lease,) = await take(harness)
    assert [one.outcome.value for one in await harness.broker.ack([Ack(lease)])] == ["deleted"]
    assert await harness.broker.forget_queue(QUEUES[2])


async def test_nonsense_on_the_list_is_passed_over(harness: RedisHarness) -> None:
    prefix = harness._store.names.queue("x").partition("{")[0]
    strange = {b"\xff\xfe": 5, "nonsense": -1, f"{prefix}{{nobody-tasks}}:": -5, f"{prefix}{{%ff-tasks}}:": -4, "": -9}
    harness._raw.zadd(harness._store.names.busy, strange)
    harness._raw.zadd(harness._store.names.busy, {harness._store.names.queue(QUEUES[5]): "+inf"})
    message = await harness.put(queue=QUEUES[4])
    (lease,) = await take(harness)
    assert lease.id == message.id
    began = harness.clock.monotonic()
    await harness.broker.wait(["*-tasks"], 7.0)
    assert harness.clock.monotonic() - began >= 1.0, "it must not go round and round"


async def test_a_queue_with_a_key_of_another_kind_does_not_stop_the_others(harness: RedisHarness) -> None:
    await harness.put(queue=QUEUES[6])
    harness._raw.delete(f"{harness._store.names.queue(QUEUES[6])}m")
    harness._raw.set(f"{harness._store.names.queue(QUEUES[6])}m", "nonsense")
    message = await harness.put(queue=QUEUES[7])
    (lease,) = await take(harness)
    assert lease.id == message.id
    began = harness.clock.monotonic()
    for _ in range(4):
        await harness.broker.wait(["*-tasks"], 2.0)
        assert await take(harness) == []
    assert harness.clock.monotonic() - began >= 1.0, "it must not go round and round"


async def test_a_queue_that_stays_empty_for_an_hour_is_forgotten_and_made_anew(harness: RedisHarness) -> None:
    message = await harness.put(queue=QUEUES[8])
    (lease,) = await take(harness)
    await harness.broker.ack([Ack(lease)])
    await harness.sweep()
    assert await harness.broker.queues() == [QUEUES[8]]
    await harness.advance(3_700.0, sweeping=False)
    await harness.sweep()
    assert await harness.broker.queues() == []
    (again,) = await harness.send(message)
    assert again.duplicate, "what was completed there is still recognised"
    new = await harness.put(queue=QUEUES[8])
    assert await harness.broker.queues() == [QUEUES[8]]
    (lease,) = await take(harness)
    assert lease.id == new.id


async def test_a_queue_that_is_used_now_and_then_is_not_forgotten(harness: RedisHarness) -> None:
    for _ in range(3):
        await harness.put(queue=QUEUES[9])
        (lease,) = await take(harness)
        await harness.broker.ack([Ack(lease)])
        await harness.sweep()
        await harness.advance(1_900.0, sweeping=False)
        await harness.sweep()
        assert await harness.broker.queues() == [QUEUES[9]]


async def test_a_lease_in_one_of_many_queues_is_returned_by_the_next_sweep(harness: RedisHarness) -> None:
    await harness.sweep()
    for queue in (*QUEUES, *(f"idle{number}" for number in range(200))):
        await harness.put(queue=queue)
    assert len(leases := await take(harness)) == len(QUEUES)
    swept = await harness.lapse()
    assert set(swept.returned) == {lease.id for lease in leases}
    assert swept.queues == {lease.id: lease.queue for lease in leases}


async def test_a_first_sweep_after_others_have_swept_looks_at_what_may_have_lapsed_and_a_part_of_the_rest(
    harness: RedisHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    if harness._store.link.is_cluster:
        pytest.skip("not applicable: in a cluster every queue is looked at")
    for number in range(300):
        await harness.put(queue=f"waiting{number:03d}")
    await harness.put(queue="zeta-tasks")
    await harness.sweep()
    (lease,) = await take(harness)
    await harness.advance(harness.lease_seconds - 1)
    await harness.advance(2.0, sweeping=False)
    sweeper, _ = redis.connect(harness._options, clock=harness.clock)
    await sweeper.open()
    looked: set[str] = set()
    run_each = sweeper._store.run_each

    async def noted(calls: Sequence[ScriptCall], *, writes: bool = True) -> list[Any]:
        looked.update(key for call in calls if call.script is SWEEP for key in call.keys[:-1])
        return await run_each(calls, writes=writes)

    monkeypatch.setattr(sweeper._store, "run_each", noted)
    assert (await sweeper.sweep(harness.sweep_request())).returned == (lease.id,)
    await sweeper.close()
    assert 100 <= len(looked) <= 101


def test_names_are_known_and_patterns_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_module, "_MOST_KEPT", 2)
    served = ServedQueues(("alpha", "beta", "*-tasks", "gamma"), ("beta", "b-tasks"))
    for _ in range(3):  # more than are remembered
        assert served.of(("x", "gamma", "a-tasks", "b-tasks", "beta", "alpha", "y")) == ["gamma", "a-tasks", "alpha"]
    assert served.names() == ["alpha", "gamma"]
    assert "c-tasks" in served
    assert "tasks" not in served


async def test_a_hint_is_enough_and_a_wrong_one_does_no_harm(harness: RedisHarness) -> None:
    messages = [await harness.put(queue=queue) for queue in QUEUES]
    records, broker = harness.state.records, harness.broker
    for hint in (QUEUES[3], QUEUES[4], "nowhere", None):
        found = await records.get(messages[3].id, hint)
        assert found is not None
        assert found.queue == QUEUES[3]
    assert [str(state) for state in await broker.cancel([messages[5].id], QUEUES[9])] == ["ready"]
    assert await broker.delete([messages[6].id, messages[7].id], QUEUES[6]) == [messages[6].id, messages[7].id]
    assert await broker.cancel([messages[5].id], QUEUES[5]) == [None]
