"""A stage for messages whose bodies are too large: a blob store stands on it, and the broker takes few bytes.

So it is the same on all brokers, whatever they take. Used by the suites `checking` and `checking_crashes`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tenure import assembly
from tenure.client.claim_check import ClaimCheck
from tenure.runtime.background.blob_gc import BlobCollector
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage

#: The largest envelope that goes to the broker, and a body that does not fit.
LIMIT = 2_000
LARGE = "x" * 5_000
SMALL = "y" * 50


@asynccontextmanager
async def stage_with_blob_store(harness: Harness, queue: str | None = None) -> AsyncIterator[Stage]:
    stage = Stage(harness) if queue is None else Stage(harness, queue)
    stage.blob_store = assembly.blob_store("memory://", clock=harness.clock)
    stage.body_limit = LIMIT
    async with stage:
        yield stage


async def names_of_bodies(stage: Stage) -> list[str]:
    assert stage.blob_store is not None
    return [left.name for left in await stage.blob_store.browse()]


async def until_empty(stage: Stage) -> None:
    """Wait for the last body to be discarded: that is done after the ack, not with it."""

    async def is_empty() -> bool:
        return not await names_of_bodies(stage)

    await stage.until(is_empty)


async def tidy_up(stage: Stage) -> None:
    """Let an hour pass and a worker tidy up everything."""
    assert stage.blob_store is not None
    await asyncio.sleep(3_601)
    state = stage.harness.state
    await BlobCollector(ClaimCheck(stage.blob_store), state.records, state.board, "test").look()
