"""A key of another kind where one of ours should be: an act is done whole, or an error tells and nothing is changed."""

from typing import Any

import pytest
from tests.adapters.redis.house import OTHER, READS, WRITES, House, Snapshot
from tests.conformance.redis_harness import SINGLE, RedisHarness

from tenure.errors import StoreForeign
from tenure.testing.harness import QUEUE

#: Acts of several steps, one for each queue and each whole; and what the steps before those may change.
#: Acts over all queues: one with a key of another kind is left out, and the others are served.
_APART = ("sweep", "retire", "look: depth", "look: held", "look: leases")
_STEPS = {
    "sweep": ("meta", "sweep"),
    "retire": ("ban",),
    "cancel": ("cancels", "cancelled"),
    "delete": (),
    "redrive": (),
}


@pytest.fixture(params=SINGLE, ids=[kind.kind for kind in SINGLE])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    """Fresh keys in virtual time."""
    kind: type[RedisHarness] = request.param
    return kind()


@pytest.mark.parametrize("name", [*WRITES, *(f"look: {name}" for name in READS)])
async def test_with_a_key_of_another_kind_an_act_is_done_whole_or_not_at_all(harness: RedisHarness, name: str) -> None:
    act = WRITES[name] if name in WRITES else READS[name.removeprefix("look: ")]
    house = House(harness)
    await house.furnish()
    await harness.advance(5.0, sweeping=False)
    furnished = house.snapshot()
    answer = await act(house)
    kinds = house.keys()
    texts = {key for key in kinds if house.raw.type(key) == b"string"}
    wrong: list[str] = []
    for key in sorted({*furnished, *house.keys()}):
        house.restore(furnished)
        house.raw.delete(key)
        if key in texts:
            house.raw.rpush(key, "somebody else's")
        else:
            house.raw.set(key, "somebody else's")
        wrong += [f"{key.decode()}: {one}" for one in await _try(house, name, act, key.decode(), answer)]
    assert not wrong, "\n".join(wrong)


async def _try(house: House, name: str, act: Any, key: str, answer: object) -> list[str]:
    """What is wrong with what became of it."""
    before = house.snapshot()
    try:
        said = await act(house)
    except StoreForeign:
        return _changes(house, name, key, before)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is wrong
        return [f"{type(error).__name__}: {error}"]
    if name in _APART and said != answer:
        # The other queue was served; of this one nothing is changed.
        return _changes(house, name, key, before)
    if name == "lease from two":
        # What is lent from one queue is told, whatever is wrong with the other.
        said, answer = set(said), {one for one in answer if one[0] in {queue for queue, *_ in said}}  # type: ignore[attr-defined]
    wrong = [] if said == answer else [f"answered {said} and not {answer}"]
    if house.raw.dump(key) != before[key.encode()][2]:
        wrong.append("it was written over")
    return wrong


def _changes(house: House, name: str, key: str, before: Snapshot) -> list[str]:
    after = house.snapshot()
    changed = [
        one.decode() for one in before.keys() | after.keys() if before.get(one, ())[:2] != after.get(one, ())[:2]
    ]
    if name in _STEPS:
        allowed = [f"{house.common}{end}" for end in _STEPS[name]]
        changed = [one for one in changed if one.startswith(key.rpartition("}")[0]) and one not in allowed]
    return [f"{one} was changed" for one in changed]


async def test_a_sound_queue_is_served_beside_one_that_is_not(harness: RedisHarness) -> None:
    await harness.put()
    await harness.put(queue=OTHER)
    await harness.sweep()
    house = House(harness)
    house.raw.delete(f"{house.queue}meta")
    house.raw.set(f"{house.queue}meta", "somebody else's")
    await house.broker.wait((QUEUE, OTHER), 1.0)
    served = []
    for _ in range(2):
        served += await harness.lease(harness.stranger(), 10, queues=(QUEUE, OTHER))
    assert [lease.queue for lease in served] == [OTHER]
    with pytest.raises(StoreForeign):
        await harness.lease(harness.stranger(), 10, queues=(QUEUE,))
    with pytest.raises(StoreForeign):
        await house.broker.wait((QUEUE,), 1.0)


async def test_a_sound_queue_is_swept_beside_one_that_is_not(
    harness: RedisHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await harness.put()
    await harness.put(queue=OTHER)
    mine = await harness.lease_one(harness.stranger(), seconds=5.0)
    lease = await harness.lease_one(harness.stranger(), queues=(OTHER,), seconds=5.0)
    await harness.sweep()
    house = House(harness)
    await harness.advance(4.0)
    await harness.advance(2.0, sweeping=False)
    house.raw.rename(f"{house.queue}m", f"{house.queue}aside")
    house.raw.set(f"{house.queue}m", "somebody else's")
    assert (await harness.sweep()).returned == (lease.id,)
    assert (await harness.sweep()).returned == ()
    told = [record for record in caplog.records if "is left out, other queues" in record.getMessage()]
    assert [record.levelname for record in told] == ["ERROR"]
    # What lies in the other one can be found, and nobody says how much lies here.
    assert await house.state.records.get(lease.id) is not None
    depths = {depth.queue: depth.ready for depth in await house.broker.depth()}
    assert depths == {QUEUE: None, OTHER: 1}
    # Once the key is put right, it is swept again.
    house.raw.delete(f"{house.queue}m")
    house.raw.rename(f"{house.queue}aside", f"{house.queue}m")
    assert (await harness.sweep()).returned == (mine.id,)


async def test_a_dead_owners_messages_come_back_beside_a_queue_that_is_not_ours(harness: RedisHarness) -> None:
    await harness.put()
    await harness.put(queue=OTHER)
    owner = await harness.owner()
    await harness.lease_one(owner)
    lease = await harness.lease_one(owner, queues=(OTHER,))
    house = House(harness)
    house.raw.delete(f"{house.queue}meta")
    house.raw.set(f"{house.queue}meta", "somebody else's")
    swept = await house.broker.retire(owner.id, crashed=True)
    assert swept.returned == (lease.id,)
