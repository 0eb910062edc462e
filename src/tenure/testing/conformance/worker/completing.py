"""Completing: every message is run once, no more at a time than there are slots."""

import asyncio
from typing import Any

from tenure.lease import LeaseRequest
from tenure.message import MessageState
from tenure.tasks.context import Context, SyncContext
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Stage


class Completing:
    """The promises of a worker while nothing goes wrong."""

    async def test_a_message_is_run_once_and_its_result_is_kept(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[tuple[int, int]] = []

            @stage.task
            async def add(a: int, b: int = 2) -> int:
                runs.append((a, b))
                return a + b

            id = await stage.submit(add.bind(1))
            await stage.start()
            record = await stage.ended(id)
            await asyncio.sleep(2 * harness.lease_seconds)
            assert (record.state, record.result) == (MessageState.COMPLETED, b"3")
            assert runs == [(1, 2)]

    async def test_every_message_of_a_crowd_is_run_once(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[int] = []

            @stage.task
            async def work(number: int) -> None:
                await asyncio.sleep(number % 7)
                runs.append(number)

            for number in range(60):
                await stage.submit(work.bind(number))
            workers = [await stage.start(concurrency=4) for _ in range(3)]
            await stage.settled()
            assert sorted(runs) == list(range(60))
            assert all(actor.counts.get("completed", 0) for actor in workers), "one worker did all the work"

    async def test_what_two_workers_told_of_their_runs_is_read_by_a_third(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work(seconds: float) -> None:
                await asyncio.sleep(seconds)

            two = [await stage.start(concurrency=1) for _ in range(2)]
            for seconds in (2.0, 3.0):
                await stage.submit(work.bind(seconds))
            await stage.settled()
            for actor in two:
                await stage.stop(actor)
            third = await stage.start()
            read = await third.wire.state.journal.samples(QUEUE, work.name)
            assert sorted(round(one.sample.seconds) for one in read) == [2, 3]

    async def test_a_message_that_comes_later_is_found(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work() -> None: ...

            await stage.start()
            await asyncio.sleep(7.3)
            id = await stage.submit(work.bind())
            assert (await stage.ended(id, within=1.0)).state is MessageState.COMPLETED

    async def test_a_delayed_message_is_run_when_it_is_due(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            ran_at: list[float] = []

            @stage.task
            async def work() -> None:
                ran_at.append(harness.clock.monotonic())

            sent_at = harness.clock.monotonic()
            id = await stage.submit(work.bind(), delay=12.0)
            await stage.start()
            await stage.ended(id)
            assert 11.9 <= ran_at[0] - sent_at <= 13.1

    async def test_plain_functions_run_too(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            def double(ctx: SyncContext, number: int) -> int:
                ctx.touch()
                return number * 2 * ctx.attempt

            id = await stage.submit(double.bind(21))
            await stage.start()
            assert (await stage.ended(id)).result == b"42"

    async def test_no_more_run_at_a_time_than_there_are_slots(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            now: list[int] = []
            most = 0

            @stage.task
            async def work(number: int) -> None:
                nonlocal most
                now.append(number)
                most = max(most, len(now))
                await asyncio.sleep(1 + number % 3)
                now.remove(number)

            for number in range(40):
                await stage.submit(work.bind(number))
            await stage.start(concurrency=7)
            await stage.settled()
            assert most == 7

    async def test_no_more_is_leased_than_there_are_free_slots(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            running = 0
            asked: list[tuple[int, int]] = []

            @stage.task
            async def work(number: int) -> None:
                nonlocal running
                running += 1
                await asyncio.sleep(0.5 + number % 5)
                running -= 1

            def spy(name: str, arguments: tuple[Any, ...]) -> None:
                if name == "broker.lease":
                    request: LeaseRequest = arguments[0]
                    asked.append((request.want, 6 - running))

            wire = stage.wire()
            wire.spy = spy
            for number in range(30):
                await stage.submit(work.bind(number))
            await stage.start(concurrency=6, wire=wire)
            await stage.settled()
            assert asked
            assert all(0 < want <= free for want, free in asked), asked

    async def test_short_messages_never_touch_the_store_for_their_lease(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work() -> None:
                await asyncio.sleep(harness.lease_seconds / 4)

            for _ in range(8):
                await stage.submit(work.bind())
            actor = await stage.start(concurrency=4)
            await stage.settled()
            assert "broker.touch" not in actor.wire.said
            assert "ledger.renew" not in actor.wire.said

    async def test_one_failing_message_does_no_harm_to_the_others(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task(max_attempts=1)
            async def work(number: int) -> int:
                if number == 5:
                    raise RuntimeError(number)
                return number

            ids = [await stage.submit(work.bind(number)) for number in range(10)]
            await stage.start()
            states = [(await stage.ended(id)).state for id in ids]
            assert states.count(MessageState.COMPLETED) == 9
            assert states[5] is MessageState.DEAD

    async def test_the_context_tells_what_is_run(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            seen: list[tuple[str, int, bool, bool]] = []
            fences: list[int] = []

            @stage.task
            async def work(ctx: Context) -> None:
                seen.append((ctx.message.id, ctx.attempt, ctx.lease_lost, ctx.stopping))
                fences.append(ctx.fence)
                assert ctx.deadline > harness.clock.monotonic()

            ids = [await stage.submit(work.bind()) for _ in range(2)]
            await stage.start(concurrency=1)
            for id in ids:
                assert (await stage.ended(id)).state is MessageState.COMPLETED
            assert seen == [(id, 1, False, False) for id in ids]
            assert fences[0] < fences[1]
