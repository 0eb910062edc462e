"""Snoozing: a handler puts its message off, and no attempt is counted."""

import asyncio
import itertools

from tenure import Context
from tenure.message import MessageState
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage
from tenure.verdict import Snooze


class Snoozing:
    """Later, without having failed; and not for ever."""

    async def test_a_snoozed_message_comes_back_when_it_said_and_counts_no_attempt(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            ran_at: list[float] = []
            attempts: list[int] = []

            @stage.task(max_attempts=1)
            async def busy(ctx: Context) -> str:
                ran_at.append(harness.clock.monotonic())
                attempts.append(ctx.attempt)
                if len(ran_at) < 4:
                    raise Snooze(after=20, reason="429")
                return "at last"

            id = await stage.submit(busy.bind())
            actor = await stage.start()
            await stage.until(lambda: len(ran_at) == 3)
            await asyncio.sleep(5)
            snoozed = await harness.record(id)
            snoozes = [ending.reason for ending in snoozed.history if ending.reason is not None]
            assert [(one.code, one.text, one.count) for one in snoozes] == [("snoozed", "429", n) for n in (1, 2, 3)]
            record = await stage.ended(id)
            assert (record.state, record.counters.attempts) == (MessageState.COMPLETED, 0)
            assert attempts == [1, 1, 1, 1]
            assert all(20.0 <= later - earlier < 25.0 for earlier, later in itertools.pairwise(ran_at))
            assert actor.counts["snoozed"] == 3

    async def test_a_checkpoint_is_there_when_a_snoozed_message_comes_back(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            found: list[object] = []

            @stage.task
            async def work(ctx: Context) -> None:
                found.append(await ctx.last_checkpoint())
                if len(found) == 1:
                    await ctx.checkpoint({"page": 7})
                    raise Snooze

            id = await stage.submit(work.bind())
            await stage.start()
            assert (await stage.ended(id)).state is MessageState.COMPLETED
            assert found == [None, {"page": 7}]

    async def test_a_worker_that_goes_on_does_not_spin(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[None] = []

            @stage.task
            async def work() -> None:
                runs.append(None)
                raise Snooze

            await stage.submit(work.bind())
            await stage.start()
            await asyncio.sleep(10)
            assert 4 <= len(runs) <= 11

    async def test_a_worker_that_stops_hands_a_snoozed_message_on_at_once(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[None] = []

            @stage.task(max_attempts=1)
            async def work(ctx: Context) -> str:
                runs.append(None)
                for _ in range(1000):
                    await asyncio.sleep(0.1)
                    if ctx.stopping:
                        raise Snooze
                    if len(runs) == 6:
                        return "done"
                return "never told"

            id = await stage.submit(work.bind())
            for number in range(1, 6):
                actor = await stage.start()
                await stage.until(lambda: len(runs) == number)  # noqa: B023 - awaited within its turn
                await actor.worker.stop()
            stopped_at = harness.clock.monotonic()
            await stage.start()
            await stage.until(lambda: len(runs) == 6)
            assert harness.clock.monotonic() - stopped_at < 5.0
            record = await stage.ended(id)
            assert (record.state, record.result) == (MessageState.COMPLETED, b'"done"')
            assert record.counters.attempts == 0

    async def test_snoozes_over_the_limit_are_failed_attempts(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[None] = []

            @stage.task(max_snoozes=25, max_attempts=2)
            async def never() -> None:
                runs.append(None)
                raise Snooze(after=1, reason="still busy")

            id = await stage.submit(never.bind())
            await stage.start()
            record = await stage.ended(id)
            assert record.state is MessageState.DEAD
            assert (len(runs), record.counters.attempts) == (27, 2)
            assert record.reason is not None
            assert record.reason.code == "max_attempts"
            assert "max_snoozes is 25" in record.reason.text
            assert "still busy" in record.reason.text
