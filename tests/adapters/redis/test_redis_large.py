"""Large messages: a lease call is bounded in bytes, and no more is read from a stream than it lends."""

from typing import Any

import msgspec
import pytest
from tests.conformance.redis_harness import SINGLE, RedisHarness

from tenure.settlement import Ack, GiveBack
from tenure.testing.harness import QUEUE

SIZE = 900_000


@pytest.fixture(params=SINGLE[:1], ids=[kind.kind for kind in SINGLE[:1]])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    """Fresh keys in virtual time."""
    kind: type[RedisHarness] = request.param
    return kind()


def _narrow(harness: RedisHarness, limit: int) -> None:
    """Lend so many bytes in one call."""
    lending: Any = harness.broker
    lending._lending._traits = msgspec.structs.replace(lending._lending._traits, lease_byte_limit=limit)


async def test_a_message_over_the_limit_of_bytes_is_lent_alone(harness: RedisHarness) -> None:
    _narrow(harness, 1000)
    messages = [await harness.put(body="x" * 2000) for _ in range(3)]
    lent = [[lease.id for lease in await harness.lease(harness.stranger(), 9)] for _ in range(4)]
    assert lent == [*([message.id] for message in messages), []]


async def test_what_was_read_and_not_lent_is_lent_next_and_in_order(harness: RedisHarness) -> None:
    _narrow(harness, 10_000)
    messages = [await harness.put(body="x" * (3000 if number % 3 else 10)) for number in range(40)]
    lent: list[str] = []
    while leases := await harness.lease(harness.stranger(), 100):
        lent += [lease.id for lease in leases]
        await harness.broker.ack([Ack(lease) for lease in leases])
    assert lent == [message.id for message in messages]


async def test_small_ones_of_every_priority_go_on_behind_large_ones(harness: RedisHarness) -> None:
    _narrow(harness, 10_000)
    for number in range(30):
        await harness.put(body="x" * 4000, priority=number % 3)
    leases = await harness.lease_all(harness.stranger())
    assert len(leases) == 30
    await harness.broker.give_back([GiveBack(lease) for lease in leases])
    assert len(await harness.lease_all(harness.stranger())) == 30


async def test_a_group_that_was_set_back_loses_nothing(harness: RedisHarness) -> None:
    """Somebody sets the group back by hand while the limit of bytes cuts a batch."""
    _narrow(harness, 10_000)
    messages = [await harness.put(body="x" * 4000) for _ in range(12)]
    first = await harness.lease(harness.stranger(), 100)
    harness._raw.xgroup_setid(f"{harness._store.names.queue(QUEUE)}s5", "tenure", "0")
    rest = await harness.lease_all(harness.stranger())
    assert sorted(lease.id for lease in [*first, *rest]) == sorted(message.id for message in messages)
