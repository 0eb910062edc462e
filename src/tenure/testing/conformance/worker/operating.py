"""Operating: what operators say reaches a running worker, and a task's own limit holds."""

import asyncio
import functools

from tenure.client.operator import Operator
from tenure.event import EventKind
from tenure.message import MessageState
from tenure.tasks.context import Context
from tenure.tasks.schedule import schedule_from
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.operated import operate_on
from tenure.testing.workers import Stage

LONG_LEASE = 600.0
#: Within "about a second" of the act.
SOON = 1.6


class Operating:
    """Pauses, cancels and limits."""

    async def test_a_paused_queue_is_not_leased_from_until_it_is_resumed(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            operator = _operator(harness)

            @stage.task
            async def work() -> None: ...

            await operator.pause(QUEUE)
            first = await stage.submit(work.bind())
            actor = await stage.start()
            await asyncio.sleep(10)
            assert "broker.lease" not in actor.wire.said, "a paused queue was touched by a new worker"
            await operator.resume(QUEUE)
            await asyncio.sleep(SOON)
            assert await harness.state_of(first) is MessageState.COMPLETED
            await operator.pause(QUEUE)
            await asyncio.sleep(SOON)
            second = await stage.submit(work.bind())
            await asyncio.sleep(10)
            assert await harness.state_of(second) is MessageState.READY

    async def test_a_cancelled_message_is_ended_soon_and_nothing_of_it_is_kept(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            ended: list[None] = []

            @stage.task(lease=LONG_LEASE)
            async def work() -> str:
                try:
                    await asyncio.sleep(LONG_LEASE)
                finally:
                    ended.append(None)
                return "never"

            ids = [await stage.submit(work.bind()), await stage.submit(work.bind(), key="k")]
            actor = await stage.start()
            await stage.until(lambda: actor.worker.in_flight == 2)
            cancelled = await _operator(harness).cancel(ids)
            assert [one.was for one in cancelled] == [MessageState.LEASED] * 2
            await asyncio.sleep(SOON)
            assert len(ended) == 2, "the handlers of cancelled messages run on"
            await asyncio.sleep(SOON)
            for id in ids:
                record = await harness.record(id)
                assert (record.state, record.result) == (MessageState.CANCELLED, None)

    async def test_a_cancelled_run_is_told_as_cancelled_and_by_whom(self, harness: Harness) -> None:
        """An operator cancelled it, so it is no lost lease. Its number is that of the ended run."""
        async with Stage(harness) as stage:

            @stage.task(lease=LONG_LEASE)
            async def work(seconds: float) -> None:
                await asyncio.sleep(seconds)

            ids = [await stage.submit(work.bind(3600.0)), await stage.submit(work.bind(0.2))]
            actor = await stage.start()
            await stage.until(lambda: actor.worker.in_flight == 2)
            await _operator(harness).cancel(ids)
            await stage.until(lambda: actor.worker.in_flight == 0)
            for id in ids:
                await stage.until(functools.partial(_told_as_cancelled, harness, id))
                assert (await harness.record(id)).attempt == 1

    async def test_a_result_that_comes_after_the_cancel_is_refused(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task(lease=LONG_LEASE)
            async def work() -> str:
                await asyncio.sleep(0.2)
                return "too late"

            id = await stage.submit(work.bind())
            actor = await stage.start()
            await stage.until(lambda: actor.worker.in_flight == 1)
            await _operator(harness).cancel([id])
            await stage.until(lambda: actor.worker.in_flight == 0)
            record = await harness.record(id)
            assert (record.state, record.result) == (MessageState.CANCELLED, None)

    async def test_a_paused_schedule_sends_nothing_and_goes_on_with_its_next_tick(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            moments: list[float] = []

            @stage.task
            async def work(ctx: Context) -> None:
                assert ctx.scheduled_for is not None
                moments.append(ctx.scheduled_for.timestamp())

            line = schedule_from("line", work.bind(), every=60)
            operate = operate_on(harness, tasks=stage.tasks, schedules={"line": line})
            await stage.start(schedules=[line])
            await stage.until(lambda: len(moments) == 1)
            assert (await operate.pause_schedule("line")).changed
            assert not (await operate.pause_schedule("line")).changed
            await asyncio.sleep(200)
            assert len(moments) == 1, "a paused schedule sent a message"
            (shown,) = (await operate.schedules()).schedules
            assert shown.paused is not None
            assert shown.paused.by == "the test"
            resumed = harness.state.wall()
            assert (await operate.resume_schedule("line")).changed
            await stage.until(lambda: len(moments) == 2)
            assert moments[1] > resumed, "a tick of the pause was made up for"
            assert (await operate.schedules()).schedules[0].paused is None

    async def test_a_schedule_that_no_worker_saw_while_it_was_paused_makes_up_for_nothing(
        self, harness: Harness
    ) -> None:
        async with Stage(harness) as stage:
            ran: list[float] = []

            @stage.task
            async def work(ctx: Context) -> None:
                assert ctx.scheduled_for is not None
                ran.append(ctx.scheduled_for.timestamp())

            line = schedule_from("line", work.bind(), every=60)
            operate = operate_on(harness, tasks=stage.tasks, schedules={"line": line})
            actor = await stage.start(schedules=[line])
            await stage.until(lambda: len(ran) == 1)
            await stage.stop(actor)
            await stage.end(actor)
            await operate.pause_schedule("line")
            await asyncio.sleep(600)
            await operate.resume_schedule("line")
            resumed = harness.state.wall()
            await stage.start(schedules=[line])
            await stage.until(lambda: len(ran) == 2)
            assert ran[1] > resumed

    async def test_no_more_of_a_limited_task_run_at_once_and_all_are_run(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            running = most = 0

            @stage.task(concurrency=2)
            async def limited() -> None:
                nonlocal running, most
                running += 1
                most = max(most, running)
                await asyncio.sleep(0.5)
                running -= 1

            @stage.task
            async def free() -> None: ...

            ids = [await stage.submit(limited.bind()) for _ in range(20)]
            last = await stage.submit(free.bind())
            await stage.start(concurrency=5)
            await stage.ended(last, within=1)
            await stage.settled()
            records = [await harness.record(id) for id in ids]
            assert {record.state for record in records} == {MessageState.COMPLETED}
            assert {record.counters.attempts for record in records} == {0}
            assert most == 2

    async def test_whoever_waits_for_its_turn_is_no_stranger(self, harness: Harness) -> None:
        """Give-backs at a task's limit do not bring a message nearer to the dead letters of unknown tasks."""
        async with Stage(harness) as stage:

            @stage.task(concurrency=1)
            async def limited() -> None:
                await asyncio.sleep(120)

            await stage.submit(limited.bind())
            waiting = await stage.submit(limited.bind())
            knowing = await stage.start()
            await asyncio.sleep(100)
            await stage.kill(knowing)
            await stage.start(tasks={})
            await asyncio.sleep(1)
            assert await harness.state_of(waiting) is not MessageState.DEAD


def _operator(harness: Harness) -> Operator:
    return Operator(harness.broker, harness.state, harness.clock, by="the test")


async def _told_as_cancelled(harness: Harness, id: str) -> bool:
    ends = (EventKind.LEASE_LOST, EventKind.LATE_SETTLE)
    told = [one.event for one in await harness.state.journal.about(id) if one.event.kind in ends]
    return [(one.data.get("code"), one.data.get("by"), one.attempt) for one in told] == [
        ("cancelled", "the test (api)", 1)
    ]
