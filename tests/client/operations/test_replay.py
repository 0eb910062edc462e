"""Replay of failed webhook deliveries: which, how many, and whether there are more."""

import msgspec
import pytest

from tenure import Tenure
from tenure.lease import LeaseRequest
from tenure.message import Message, MessageState, Outgoing
from tenure.rules.reserved_queue import RESERVED_QUEUE
from tenure.settlement import DeadLetter
from tenure.testing import Kit
from tenure.verdict import Reason


@pytest.fixture
def tenure_app() -> Tenure:
    return Tenure("memory://")


async def _failed(kit: Kit, endpoint: str, count: int) -> list[str]:
    """Deliveries that were given up; their ids."""
    broker = kit.app.broker
    ids = [f"whd_{endpoint}{number}" for number in range(count)]
    for id in ids:
        body = msgspec.json.encode(
            {"endpoint": endpoint, "webhook_id": id, "body": {"task_id": "m1", "status": "failed"}}
        )
        message = Message(
            id=id, queue=RESERVED_QUEUE, task="webhook.deliver", client="shop", sent_at=1.0, body=msgspec.Raw(body)
        )
        await broker.send([Outgoing(message)])
    leases = await broker.lease(LeaseRequest("someone/00", endpoint, (RESERVED_QUEUE,), count, 30.0))
    await broker.dead_letter([DeadLetter(one, Reason("webhook_failed", "HTTP 500 after 0.1 s")) for one in leases])
    return ids


async def test_a_replay_is_counted_first_and_says_that_there_are_more(kit: Kit) -> None:
    ids = await _failed(kit, "orders", 5)
    await _failed(kit, "other", 2)
    dry = await kit.operate.replay(endpoint="orders", dry_run=True)
    assert (dry.found, dry.done, dry.more, sorted(dry.ids)) == (5, 0, False, ids)
    cut = await kit.operate.replay(endpoint="orders", dry_run=True, limit=3)
    assert (cut.found, cut.more) == (3, True)
    first = await kit.operate.replay(endpoint="orders", limit=3)
    assert (first.found, first.done, first.more) == (3, 3, True)
    # The last of them, and others that do not match behind it: there are no more.
    rest = await kit.operate.replay(endpoint="orders", limit=2)
    assert (rest.found, rest.done, rest.more) == (2, 2, False)
    assert [one.state for one in (await kit.operate.deliveries()).deliveries].count(MessageState.DEAD) == 2


async def test_a_replay_of_some_leaves_the_others(kit: Kit) -> None:
    ids = await _failed(kit, "orders", 3)
    done = await kit.operate.replay(ids[:2])
    assert (done.found, done.done, done.more) == (2, 2, False)
    assert {one.id: one.state for one in (await kit.operate.deliveries()).deliveries}[ids[2]] is MessageState.DEAD
