"""The sweep's script decides about a lapsed lease as `rules/lapse.py` does, by the same table of cases."""

from typing import Any

import msgspec
import pytest
from tests.conformance.redis_harness import SINGLE, RedisHarness
from tests.rules.lapse_cases import AT, CASES, Case

from tenure.message import Counters, MessageState
from tenure.record import Ending
from tenure.testing.harness import QUEUE


@pytest.fixture(params=SINGLE[:1], ids=[kind.kind for kind in SINGLE[:1]])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    """Fresh keys in virtual time."""
    kind: type[RedisHarness] = request.param
    return kind()


def _write(harness: RedisHarness, id: str, counters: Counters) -> None:
    """Counters as if so much had happened before, behind the adapter's back."""
    raw: Any = harness._raw
    queue = harness._store.names.queue(QUEUE)
    fields = {
        "d": counters.deliveries, "a": counters.attempts, "c": counters.crashes, "l": counters.lost,
    }  # fmt: skip
    raw.hset(f"{queue}x:{id}", mapping={name: value for name, value in fields.items() if value})
    record = raw.hget(f"{queue}m", id)
    raw.hset(f"{queue}m", id, b"x" + record.removeprefix(b"x"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_the_script_counts_a_lapse_as_the_table_says(harness: RedisHarness, case: Case) -> None:
    message = await harness.put()
    lease = await harness.lease_one(case.owner, has_presence=case.has_presence)
    if case.was_touched:
        await harness.broker.touch([lease])
    _write(harness, message.id, case.counters)
    if not case.knows_owner:
        assert harness._raw.hdel(f"{harness._store.names.queue(QUEUE)}loan", lease.fence)
    await harness.advance(harness.lease_seconds - 1)
    await harness.advance(2.0, sweeping=False)
    swept = await harness.sweep(max_attempts=case.max_attempts)
    expected = case.expected
    assert (swept.returned, swept.dead) == (((), (message.id,)) if expected.is_dead else ((message.id,), ()))
    record = await harness.record(message.id)
    before = case.counters
    assert record.counters == Counters(
        before.deliveries, before.attempts + expected.attempts, before.crashes, before.lost + expected.lost
    )
    assert record.reason == expected.reason
    assert tuple(_timeless(one) for one in record.history) == expected.endings
    assert record.state == (MessageState.DEAD if expected.is_dead else MessageState.READY)


async def test_the_script_never_reads_an_owners_name_as_a_template(harness: RedisHarness) -> None:
    message = await harness.put()
    await harness.lease_one("{limit}%1")
    await harness.lapse()
    record = await harness.record(message.id)
    assert record.reason is not None
    assert record.reason.text == "{limit}%1 let the lease end without settling the message"


def _timeless(ending: Ending) -> Ending:
    assert ending.at > 0
    return msgspec.structs.replace(ending, at=AT)
