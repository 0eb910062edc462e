"""Context calls during an outage: they wait until the store is back, as settling does, and use no attempt."""

import asyncio

from tenure.message import MessageState
from tenure.record import Progress
from tenure.tasks.context import Context, SyncContext
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage


class ContextOutages:
    """Tests of a handler's calls to its context while the store is away."""

    async def test_a_checkpoint_waits_until_the_store_is_back(self, harness: Harness) -> None:
        await _asks_during_an_outage(harness, "checkpoint")

    async def test_reading_a_checkpoint_waits_until_the_store_is_back(self, harness: Harness) -> None:
        await _asks_during_an_outage(harness, "last_checkpoint")

    async def test_a_touch_waits_until_the_store_is_back(self, harness: Harness) -> None:
        await _asks_during_an_outage(harness, "touch")

    async def test_a_lost_answer_to_a_checkpoint_is_asked_again(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task(max_attempts=1)
            async def work(ctx: Context) -> object:
                await ctx.checkpoint({"page": 7})
                return await ctx.last_checkpoint()

            id = await stage.submit(work.bind())
            wire = stage.wire()
            wire.lose_replies("records.checkpoint")
            await stage.start(wire=wire)
            record = await stage.ended(id)
            assert (record.state, record.result) == (MessageState.COMPLETED, b'{"page":7}')
            assert wire.said.count("records.checkpoint") == 2

    async def test_a_plain_function_waits_in_its_thread_too(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task(max_attempts=1)
            def work(ctx: SyncContext) -> object:
                ctx.checkpoint({"page": 7})
                return ctx.last_checkpoint()

            id = await stage.submit(work.bind())
            wire = stage.wire()
            wire.away("records.*")
            await stage.start(wire=wire)
            await stage.until(lambda: wire.said.count("records.checkpoint") >= 3)
            wire.back()
            record = await stage.ended(id)
            assert (record.state, record.result) == (MessageState.COMPLETED, b'{"page":7}')
            assert record.counters.attempts == 0

    async def test_a_cancel_ends_the_wait(self, harness: Harness) -> None:
        """A message that is not ours any more ends the wait; nothing waits for ever."""
        async with Stage(harness) as stage:

            @stage.task
            async def work(ctx: Context) -> None:
                try:
                    await ctx.checkpoint({"page": 7})
                finally:
                    stage.note("over")

            id = await stage.submit(work.bind())
            wire = stage.wire()
            wire.away("records.*")
            await stage.start(wire=wire)
            await stage.until(lambda: "records.checkpoint" in wire.said)
            assert (await harness.broker.cancel([id]))[0]
            await stage.until(lambda: "over" in stage.trace)
            assert (await harness.record(id)).state is MessageState.CANCELLED

    async def test_a_stop_ends_the_wait_uncounted(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[int] = []

            @stage.task
            async def work(ctx: Context) -> None:
                runs.append(ctx.attempt)
                await ctx.checkpoint({"page": 7})

            id = await stage.submit(work.bind())
            wire = stage.wire()
            wire.away("records.*")
            actor = await stage.start(wire=wire, grace=2)
            await stage.until(lambda: "records.checkpoint" in wire.said)
            await stage.stop(actor)
            record = await harness.record(id)
            assert (record.state, record.counters.attempts, runs) == (MessageState.READY, 0, [1])

    async def test_progress_of_an_outage_is_written_when_the_store_is_back(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            release = asyncio.Event()

            @stage.task
            async def work(ctx: Context) -> None:
                ctx.progress(0.5, "half")
                await release.wait()

            id = await stage.submit(work.bind())
            wire = stage.wire()
            wire.away("records.*")
            await stage.start(wire=wire)
            await stage.until(lambda: wire.said.count("records.progress") >= 2)
            wire.back()

            async def is_written() -> bool:
                return (await harness.record(id)).progress == Progress(0.5, "half")

            await stage.until(is_written)
            release.set()
            assert (await stage.ended(id)).state is MessageState.COMPLETED


async def _asks_during_an_outage(harness: Harness, what: str) -> None:
    """One context call, while everything is away for longer than the lease: one run, no attempt used."""
    async with Stage(harness) as stage:
        runs: list[int] = []
        away = asyncio.Event()

        @stage.task(max_attempts=1)
        async def work(ctx: Context) -> str:
            runs.append(ctx.attempt)
            await away.wait()
            call = ctx.checkpoint("half") if what == "checkpoint" else getattr(ctx, what)()
            await call
            return "done"

        id = await stage.submit(work.bind())
        actor = await stage.start()
        await stage.until(lambda: runs == [1])
        actor.wire.away()
        away.set()
        await asyncio.sleep(2.5 * harness.lease_seconds)
        actor.wire.back()
        record = await stage.ended(id)
        assert (record.state, record.result, runs) == (MessageState.COMPLETED, b'"done"', [1])
