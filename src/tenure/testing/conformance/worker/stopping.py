"""Stopping: a worker that is asked to end finishes what it can, and gives the rest back uncounted."""

import asyncio

from tenure.message import MessageState
from tenure.tasks.context import Context
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage


class Stopping:
    """Tests of a worker between the first SIGTERM and its end."""

    async def test_what_ends_within_the_grace_is_completed(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work(seconds: float) -> None:
                await asyncio.sleep(seconds)

            ids = [await stage.submit(work.bind(seconds)) for seconds in (1, 10, 19)]
            actor = await stage.start(grace=20)
            await stage.until(lambda: actor.worker.in_flight == 3)
            await stage.stop(actor)
            records = [await harness.record(id) for id in ids]
            assert [record.state for record in records] == [MessageState.COMPLETED] * 3

    async def test_what_does_not_end_in_time_is_given_back_uncounted(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            cleaned_up: list[str] = []

            @stage.task
            async def work() -> str:
                try:
                    await asyncio.sleep(100)
                finally:
                    cleaned_up.append("yes")
                return "done"

            id = await stage.submit(work.bind())
            first = await stage.start(grace=20)
            await stage.until(lambda: first.worker.in_flight == 1)
            before = harness.clock.monotonic()
            await stage.stop(first)
            assert 19.9 <= harness.clock.monotonic() - before <= 21
            assert cleaned_up == ["yes"]
            record = await harness.record(id)
            assert (record.state, record.owner) == (MessageState.READY, None)
            counters = record.counters
            assert (counters.attempts, counters.crashes, counters.lost) == (0, 0, 0)
            await stage.start()
            assert (await stage.ended(id)).result == b'"done"'

    async def test_nothing_is_leased_once_it_is_asked_to_stop(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work() -> None:
                await asyncio.sleep(5)

            for _ in range(9):
                await stage.submit(work.bind())
            actor = await stage.start(concurrency=3)
            await stage.until(lambda: actor.worker.in_flight == 3)
            await stage.stop(actor)
            depth = await harness.depth()
            assert (depth.ready, depth.leased) == (6, 0)
            assert actor.counts["completed"] == 3

    async def test_asked_a_second_time_it_gives_everything_back_now(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work() -> None:
                await asyncio.sleep(1000)

            ids = [await stage.submit(work.bind()) for _ in range(3)]
            actor = await stage.start(grace=500)
            await stage.until(lambda: actor.worker.in_flight == 3)
            before = harness.clock.monotonic()
            stopping = asyncio.create_task(stage.stop(actor))
            await asyncio.sleep(3)
            actor.worker.ask_to_stop()
            await stopping
            assert harness.clock.monotonic() - before < 5
            for id in ids:
                record = await harness.record(id)
                assert (record.state, record.counters.attempts) == (MessageState.READY, 0)

    async def test_handlers_are_told_that_the_worker_wants_to_end(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work(ctx: Context) -> str:
                while not ctx.stopping:  # noqa: ASYNC110 - what handlers do
                    await asyncio.sleep(0.5)
                return "finished early"

            id = await stage.submit(work.bind())
            actor = await stage.start(grace=60)
            await stage.until(lambda: actor.worker.in_flight == 1)
            await stage.stop(actor)
            assert (await harness.record(id)).result == b'"finished early"'

    async def test_an_error_while_it_is_ended_counts_no_attempt(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task(max_attempts=1)
            async def work() -> None:
                try:
                    await asyncio.sleep(1000)
                except asyncio.CancelledError:
                    msg = "the connection is closed"
                    raise OSError(msg) from None

            id = await stage.submit(work.bind())
            actor = await stage.start(grace=0)
            await stage.until(lambda: actor.worker.in_flight == 1)
            await stage.stop(actor)
            record = await harness.record(id)
            assert (record.state, record.counters.attempts) == (MessageState.READY, 0)

    async def test_it_leaves_the_roster_and_nobody_calls_it_a_crash(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work() -> None: ...

            leaving, staying = await stage.start(), await stage.start()
            owner = leaving.worker.owner
            assert owner.id in await harness.living()
            await stage.stop(leaving)
            await asyncio.sleep(3)
            assert owner.id not in [one.owner.id for one in await harness.state.roster.members()]
            retired = [
                stored.event for stored in await harness.state.journal.read() if stored.event.kind == "owner_retired"
            ]
            assert retired == [], "it retires itself: nobody has to find it gone"
            assert staying.worker.in_flight == 0

    async def test_a_broker_that_is_away_does_not_keep_it_for_ever(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work() -> None:
                await asyncio.sleep(5)

            id = await stage.submit(work.bind())
            actor = await stage.start()
            await stage.until(lambda: actor.worker.in_flight == 1)
            actor.wire.away()
            stopping = asyncio.create_task(stage.stop(actor))
            await asyncio.sleep(30)
            assert not stopping.done(), "the verdict waits for the broker"
            actor.worker.ask_to_stop()
            async with asyncio.timeout(20):
                await stopping
            await harness.kill(actor.worker.owner)
            await stage.start()
            assert (await stage.ended(id)).state is MessageState.COMPLETED
