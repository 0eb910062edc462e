"""A key of another kind where one of ours should be: an act is done whole, or an error tells and nothing is changed."""

from typing import Any

import pytest
from tests.adapters.redis.house import OTHER, READS, WRITES, House
from tests.conformance.redis_harness import SINGLE, RedisHarness

from tenure.errors import StoreForeign
from tenure.testing.harness import QUEUE

#: Acts of several steps, one for each queue and each whole; and what the steps before those may change.
_STEPS = {"sweep": ("meta",), "retire": ("ban",), "cancel": (), "delete": (), "redrive": ()}


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
        after = house.snapshot()
        changed = [
            one.decode() for one in before.keys() | after.keys() if before.get(one, ())[:2] != after.get(one, ())[:2]
        ]
        if name in _STEPS:
            allowed = [f"{house.common}{end}" for end in _STEPS[name]]
            changed = [one for one in changed if one.startswith(key.rpartition("}")[0]) and one not in allowed]
        return [f"{one} was changed" for one in changed]
    except Exception as error:  # noqa: BLE001 - whatever it is, it is wrong
        return [f"{type(error).__name__}: {error}"]
    if name == "lease from two":
        # What is lent from one queue is told, whatever is wrong with the other.
        said, answer = set(said), {one for one in answer if one[0] in {queue for queue, *_ in said}}  # type: ignore[attr-defined]
    wrong = [] if said == answer else [f"answered {said} and not {answer}"]
    if house.raw.dump(key) != before[key.encode()][2]:
        wrong.append("it was written over")
    return wrong


async def test_a_sound_queue_is_served_beside_one_that_is_not(harness: RedisHarness) -> None:
    await harness.put()
    await harness.put(queue=OTHER)
    await harness.sweep()
    house = House(harness)
    house.raw.delete(f"{house.queue}m")
    house.raw.set(f"{house.queue}m", "somebody else's")
    served = []
    for _ in range(2):
        try:
            served += await harness.lease(harness.stranger(), 10, queues=(QUEUE, OTHER))
        except StoreForeign:
            continue
    assert [lease.queue for lease in served] == [OTHER]
