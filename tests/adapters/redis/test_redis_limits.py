"""The script that keeps limits decides as `rules/limits.py`, by the same table of cases."""

import pytest
from tests.conformance.redis_harness import SINGLE, RedisHarness
from tests.rules.limit_cases import CASES, Case

from tenure.adapters.redis.broker import RedisBroker
from tenure.limit import Limit
from tenure.testing.harness import QUEUE


@pytest.fixture(params=SINGLE[:1], ids=[kind.kind for kind in SINGLE[:1]])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    """Fresh keys in virtual time."""
    kind: type[RedisHarness] = request.param
    return kind()


async def _prepare(harness: RedisHarness, case: Case) -> RedisBroker:
    broker = harness.broker
    assert isinstance(broker, RedisBroker)
    await harness.put_many(case.running + 1)
    assert len(await harness.lease(await harness.owner(), case.running or 0)) == case.running
    await harness.put_many(case.want)
    if case.tokens is not None:
        store = broker._store
        at = round((harness.clock.monotonic() - case.seconds_ago) * 1e6)
        await store.command("HSET", f"{store.names.queue(QUEUE)}meta", "lt", repr(case.tokens), "la", str(at))
    return broker


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
async def test_the_script_decides_as_the_table_says(harness: RedisHarness, case: Case) -> None:
    broker = await _prepare(harness, case)
    limits = {QUEUE: Limit(case.most_running, case.per_second)}
    (wait,) = await broker._limiting.look([QUEUE], limits)
    leases = await harness.lease(await harness.owner(), case.want, limits=limits)
    assert len(leases) == case.count
    if not case.count:
        assert wait == (None if case.wait_seconds is None else pytest.approx(case.wait_seconds, abs=1e-3))


@pytest.mark.parametrize("kept", ["nan", "-inf", "-7", "x", ""])
async def test_tokens_that_were_written_by_hand_block_nothing(harness: RedisHarness, kept: str) -> None:
    broker = harness.broker
    assert isinstance(broker, RedisBroker)
    await harness.put()
    store = broker._store
    await store.command("HSET", f"{store.names.queue(QUEUE)}meta", "lt", kept, "la", "1")
    assert len(await harness.lease(await harness.owner(), limits={QUEUE: Limit(per_second=0.1)})) == 1
