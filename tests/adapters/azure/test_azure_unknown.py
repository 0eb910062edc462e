"""A delete of which nobody knows how it ended: the message is done, and the next sighting resolves it."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.conformance.azure_harness import AzureHarness
from tests.servers.azure import shared_azure
from tests.servers.proxy_http import Call, HttpProxy

from tenure.adapters import azure
from tenure.event import EventKind
from tenure.message import MessageState
from tenure.tasks.context import Context
from tenure.testing.harness import QUEUE
from tenure.testing.workers import Stage


@pytest.fixture
def proxy() -> Iterator[HttpProxy]:
    """Before the queues."""
    with HttpProxy(shared_azure().ports["queue"]) as proxy:
        yield proxy


@pytest.fixture
def house(proxy: HttpProxy) -> AzureHarness:
    """Azurite, its queues behind a proxy."""
    harness = AzureHarness()
    url = harness._server.url(f"t{os.urandom(6).hex()}", queue=proxy.port)
    harness._options = azure.read_options(url, urlsplit(url), {})
    return harness


def _deletes(call: Call) -> bool:
    return call.method == "DELETE" and "/messages/" in call.path


async def _left(house: AzureHarness) -> int:
    told: Any = await house._store.call("counting", lambda: house._store.queue(QUEUE).get_queue_properties())
    return int(told.approximate_message_count)


async def test_a_delete_that_stays_unknown_is_resolved_when_the_copy_comes_back(
    house: AzureHarness, proxy: HttpProxy
) -> None:
    async with Stage(house) as stage:
        runs: list[str] = []

        @stage.task
        async def work(ctx: Context) -> None:
            runs.append(ctx.message.id)

        id = await stage.submit(work.bind())
        rule = proxy.rule(_deletes, proxy.cut, times=3)
        actor = await stage.start()
        assert (await stage.ended(id)).state is MessageState.COMPLETED
        await stage.until(lambda: actor.worker.deletions.total == 1)
        stats = actor.worker.deletions
        assert (rule.used, stats.outcomes, stats.attempts, stats.success_rate) == (3, {"unknown": 1}, 3, 0.0)
        (failure,) = stats.first_failures
        assert (failure.id, failure.outcome.value) == (id, "unknown")
        assert failure.at == pytest.approx(house.clock.wall(), abs=5)
        assert await _left(house) == 1
        await stage.until(lambda: actor.worker.deletions.resolved == 1, within=5 * house.lease_seconds)
        stats = actor.worker.deletions
        assert (stats.outcomes, stats.first_failures) == ({"deleted": 1, "unknown": 1}, ())
        assert (actor.counts["completed"], actor.counts["duplicate"], runs) == (1, 1, [id])
        assert await _left(house) == 0
        await actor.worker.stop()
        told = [one.event for one in await house.state.journal.read() if one.event.kind is EventKind.DELETIONS]
        assert (told[-1].data["resolved"], told[-1].data["success_rate"]) == (1, 0.5)


async def test_a_lost_reply_to_a_delete_that_was_carried_out_is_already_gone(
    house: AzureHarness, proxy: HttpProxy
) -> None:
    async with Stage(house) as stage:

        @stage.task
        async def work() -> None: ...

        rule = proxy.rule(_deletes, proxy.drop_reply, times=1)
        id = await stage.submit(work.bind())
        actor = await stage.start()
        assert (await stage.ended(id)).state is MessageState.COMPLETED
        await stage.until(lambda: actor.worker.deletions.total == 1)
        stats = actor.worker.deletions
        assert (rule.used, stats.outcomes, stats.attempts) == (1, {"already_gone": 1}, 2)
        await asyncio.sleep(4 * house.lease_seconds)
        assert "duplicate" not in actor.counts
