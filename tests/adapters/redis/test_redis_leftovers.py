"""Nothing of a finished message stays in Redis for ever: what is not dropped with its bucket expires."""

import pytest
from tests.conformance.redis_harness import RedisHarness

from tenure.broker import SweepRequest
from tenure.claim import ClaimRequest, Fresh, Scope, Seal, Token
from tenure.notice import KEPT_CANCELS
from tenure.settlement import Ack, DeadLetter, Nack
from tenure.testing.harness import BROKEN, QUEUE

_WEEK = 7 * 86_400
_DAY = 86_400.0


@pytest.fixture
def harness() -> RedisHarness:
    return RedisHarness()


async def _finish_after_a_failure(harness: RedisHarness) -> str:
    """A message with counters, history and a key, completed at its second attempt; its id."""
    await harness.put(key="k")
    lease = await harness.lease_one("one/1")
    await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
    again = await harness.lease_one("one/1")
    await harness.broker.ack([Ack(again, b"1")])
    return again.id


@pytest.mark.parametrize("ending", ["completed", "cancelled", "deleted"])
async def test_the_details_and_the_history_of_what_has_ended_expire(harness: RedisHarness, ending: str) -> None:
    prefix = harness._store.names.queue(QUEUE)
    if ending == "completed":
        id = await _finish_after_a_failure(harness)
    else:
        await harness.put()
        lease = await harness.lease_one("one/1")
        id = lease.id
        if ending == "cancelled":
            await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
            await harness.broker.cancel([id])
        else:
            await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
            await harness.broker.delete([id])
    for key in (f"{prefix}x:{id}", f"{prefix}h:{id}"):
        assert harness._raw.exists(key), key
        assert 0 < harness._raw.ttl(key) <= _WEEK, key


async def test_what_waits_or_is_dead_does_not_expire(harness: RedisHarness) -> None:
    prefix = harness._store.names.queue(QUEUE)
    await harness.put()
    lease = await harness.lease_one("one/1")
    await harness.broker.nack([Nack(lease, 60.0, BROKEN)])
    await harness.put()
    dead = await harness.lease_one("one/1")
    await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
    for id in (lease.id, dead.id):
        assert [harness._raw.ttl(f"{prefix}{kind}:{id}") for kind in "xh"] == [-1, -1]


async def test_no_key_of_a_finished_message_is_without_an_end(harness: RedisHarness) -> None:
    """Whatever a later version adds for one message: it must expire too, or be dropped with a bucket."""
    id = await _finish_after_a_failure(harness)
    keys = list(harness._raw.scan_iter(f"{harness._prefix}:*{id}*"))
    assert keys
    assert [key for key in keys if harness._raw.ttl(key) == -1] == []


async def _claimed(harness: RedisHarness) -> tuple[Token, str]:
    """A claim on work of which no message is here, for a minute; and the key that holds it."""
    scope = Scope(QUEUE, "task", "key:elsewhere", 0)
    (answer,) = await harness.state.ledger.claim([ClaimRequest(scope, "one", "one/1", 60.0, "digest")])
    assert isinstance(answer, Fresh)
    (key,) = harness._raw.scan_iter(f"{harness._store.names.queue(QUEUE)}k:*")
    return answer.token, key


async def test_a_key_that_is_done_expires(harness: RedisHarness) -> None:
    await _finish_after_a_failure(harness)
    (key,) = harness._raw.scan_iter(f"{harness._store.names.queue(QUEUE)}k:*")
    assert 0 < harness._raw.ttl(key) <= _WEEK


async def test_a_seal_expires(harness: RedisHarness) -> None:
    token, key = await _claimed(harness)
    assert await harness.state.ledger.seal([Seal(token, b"1")]) == [True]
    assert 0 < harness._raw.ttl(key) <= _WEEK


async def test_a_claim_whose_message_is_elsewhere_expires_but_not_while_it_is_renewed(harness: RedisHarness) -> None:
    token, key = await _claimed(harness)
    assert _WEEK < harness._raw.ttl(key) <= 2 * _WEEK
    harness._raw.expire(key, 100)  # as if nearly two weeks had passed
    assert await harness.state.ledger.renew([token]) == [True]
    assert _WEEK < harness._raw.ttl(key) <= 2 * _WEEK


async def test_of_messages_that_were_cancelled_the_last_ones_are_kept(harness: RedisHarness) -> None:
    await harness.put_many(KEPT_CANCELS + 3)
    held = await harness.lease_all("one/1")
    for lease in held:
        await harness.broker.cancel([lease.id])
    (key,) = harness._raw.scan_iter(f"{harness._prefix}:*cancelled")
    assert [id.decode() for id in harness._raw.lrange(key, 0, -1)] == [lease.id for lease in held[3:]]


async def test_a_sweep_drops_the_buckets_that_are_over(harness: RedisHarness) -> None:
    """By itself, not by their expiry, which is twice as late and only a safety net."""
    prefix = harness._store.names.queue(QUEUE)
    for _ in range(4):
        await harness.put()
        await harness.broker.ack([Ack(await harness.lease_one("one/1"), b"1")])
        harness.clock.now += 2 * _DAY
    assert len(list(harness._raw.scan_iter(f"{prefix}done:*"))) == 4
    harness.clock.now += 4 * _DAY
    await harness.broker.sweep(SweepRequest())
    kept = list(harness._raw.scan_iter(f"{prefix}done:*"))
    assert len(kept) == 2, kept
    harness.clock.now += 10 * _DAY
    await harness.broker.sweep(SweepRequest())
    assert list(harness._raw.scan_iter(f"{prefix}done:*")) == []


async def test_a_bucket_expires_where_nobody_sweeps(harness: RedisHarness) -> None:
    prefix = harness._store.names.queue(QUEUE)
    await harness.put()
    await harness.broker.ack([Ack(await harness.lease_one("one/1"), b"1")])
    (bucket,) = harness._raw.scan_iter(f"{prefix}done:*")
    assert _WEEK < harness._raw.ttl(bucket) <= 2 * _WEEK
