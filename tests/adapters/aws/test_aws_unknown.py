"""A delete of which nobody knows how it ended: the message is done, and the next sighting resolves it."""

import asyncio

import pytest
from tests.adapters.aws.house import ProxiedHarness, asks
from tests.servers.proxy_http import Call

from tenure.event import EventKind
from tenure.message import MessageState
from tenure.tasks.context import Context
from tenure.testing.harness import QUEUE
from tenure.testing.workers import Stage


@pytest.fixture
def house() -> ProxiedHarness:
    return ProxiedHarness()


def _speaks_of_copies(call: Call) -> bool:
    return asks("DeleteMessageBatch")(call) or asks("ChangeMessageVisibilityBatch")(call)


async def test_a_delete_that_stays_unknown_is_resolved_when_the_copy_comes_back(house: ProxiedHarness) -> None:
    async with Stage(house) as stage:
        runs: list[str] = []

        @stage.task
        async def work(ctx: Context) -> None:
            runs.append(ctx.message.id)

        id = await stage.submit(work.bind())
        # The reply is lost, every repeat fails, and the lease cannot be renewed: the queue shows the copy again.
        rule = house.proxy.rule(_speaks_of_copies, house.proxy.cut)
        actor = await stage.start()
        assert (await stage.ended(id)).state is MessageState.COMPLETED
        await asyncio.sleep(2 * house.lease_seconds)
        rule.times = 0
        await stage.until(lambda: actor.worker.deletions.resolved == 1, within=5 * house.lease_seconds)
        stats = actor.worker.deletions
        assert (stats.outcomes["unknown"], stats.deleted >= 1) == (1, True)
        assert runs == [id]
        assert (actor.counts["completed"], actor.counts["duplicate"] >= 1) == (1, True)
        await asyncio.sleep(5 * house.lease_seconds)
        sqs = house._behind()
        url = sqs.get_queue_url(QueueName=f"{house._name}-{QUEUE}")["QueueUrl"]
        counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        assert counts["ApproximateNumberOfMessages"] == counts["ApproximateNumberOfMessagesNotVisible"] == "0"
        await actor.worker.stop()
        told = [one.event for one in await house.state.journal.read() if one.event.kind is EventKind.DELETIONS]
        assert told[-1].data["resolved"] == 1
        assert told[-1].owner == actor.worker.owner_id


async def test_a_lost_reply_to_a_delete_that_was_carried_out_is_already_gone(house: ProxiedHarness) -> None:
    """Where the service refuses the receipt of what is gone, as this one does; others say 200 again."""
    async with Stage(house) as stage:

        @stage.task
        async def work() -> None: ...

        rule = house.proxy.rule(asks("DeleteMessageBatch"), house.proxy.drop_reply, times=1)
        id = await stage.submit(work.bind())
        actor = await stage.start()
        assert (await stage.ended(id)).state is MessageState.COMPLETED
        await stage.until(lambda: actor.counts.get("completed", 0) == 1)
        stats = actor.worker.deletions
        assert (rule.used, stats.total, stats.attempts) == (1, 1, 2)
        assert stats.outcomes.keys() <= {"already_gone", "deleted"}
        await asyncio.sleep(4 * house.lease_seconds)
        assert "duplicate" not in actor.counts
