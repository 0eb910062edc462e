"""Effects: `ctx.once` is true once for each send, and again when an id or a key is sent again after its window."""

import asyncio
import sqlite3

from tenure.message import MessageState, Outgoing
from tenure.tasks.build_message import outgoing
from tenure.tasks.call import Options
from tenure.tasks.context import Context
from tenure.tasks.task import Task
from tenure.testing.conformance.worker.contexts import payments, user_database
from tenure.testing.harness import Harness, NotApplicable
from tenure.testing.workers import Stage
from tenure.verdict import Retry

_DAY = 86_400.0
#: No store remembers what has ended for longer, by default: SQS keeps a message for 14 days, its state 7 more.
_LONGEST_WINDOW = 40 * _DAY


class Effects:
    """Tests that each send has one effect."""

    async def test_an_id_sent_again_after_its_window_has_its_effect(self, harness: Harness) -> None:
        await _sent_again_after_the_window(harness, {"id": "order-7"})

    async def test_a_key_sent_again_after_its_window_has_its_effect(self, harness: Harness) -> None:
        await _sent_again_after_the_window(harness, {"key": "order-7"})

    async def test_an_id_sent_twice_has_one_effect_over_a_crash(self, harness: Harness) -> None:
        with user_database() as db:
            async with Stage(harness) as stage:
                runs: list[bool] = []
                pay = _payment(stage, db, runs)
                for broker in (harness.broker, await harness.second()):
                    await broker.send([_out(stage, pay, {"id": "order-7"})])
                    await asyncio.sleep(1)  # so that the repeat has another moment
                doomed = await stage.start(concurrency=1)
                await stage.until(lambda: runs == [True])
                await stage.kill(doomed)
                await stage.start(concurrency=1)
                assert (await stage.ended("order-7")).state is MessageState.COMPLETED
                await stage.settled()
                assert payments(db) == [100], runs

    async def test_two_messages_under_one_key_have_one_effect(self, harness: Harness) -> None:
        with user_database() as db:
            async with Stage(harness) as stage:
                runs: list[bool] = []

                @stage.task
                async def pay(ctx: Context) -> None:
                    with db:
                        first = ctx.once(db)
                        if first:
                            db.execute("INSERT INTO payment VALUES (100)")
                    runs.append(first)
                    if len(runs) == 1:
                        raise Retry(after=60)  # so that the other message, if it was stored, is run before it

                ids = []
                for _ in range(2):
                    ids.append(await stage.submit(pay.bind(), key="order-7"))
                    await asyncio.sleep(1)
                await stage.start(concurrency=1)
                for id in ids:
                    assert (await stage.ended(id)).state is MessageState.COMPLETED
                await stage.settled()
                assert payments(db) == [100], runs

    async def test_a_key_sent_again_after_its_message_died_has_its_effect(self, harness: Harness) -> None:
        with user_database() as db:
            async with Stage(harness) as stage:

                @stage.task(max_attempts=1)
                async def pay(ctx: Context) -> None:
                    with db:
                        if ctx.once(db):
                            db.execute("INSERT INTO payment VALUES (100)")
                    if len(payments(db)) == 1:
                        raise RuntimeError

                await stage.start()
                assert (await stage.ended(await stage.submit(pay.bind(), key="order-7"))).state is MessageState.DEAD
                await asyncio.sleep(1)
                again = await stage.submit(pay.bind(), key="order-7")
                # Sent again on purpose, as by a redrive.
                assert (await stage.ended(again)).state is MessageState.COMPLETED
                assert payments(db) == [100, 100]


def _payment(stage: Stage, db: sqlite3.Connection, runs: list[bool]) -> Task[..., None]:
    """A handler with one effect, of which the first run takes a while after it."""

    @stage.task
    async def pay(ctx: Context) -> None:
        with db:
            first = ctx.once(db)
            if first:
                db.execute("INSERT INTO payment VALUES (100)")
        runs.append(first)
        await asyncio.sleep(5 if len(runs) == 1 else 0)

    return pay


def _out(stage: Stage, task: Task[..., None], options: Options) -> Outgoing:
    return outgoing(task.bind(), options, id="", client=None, sent_at=stage.harness.clock.wall())


async def _sent_again_after_the_window(harness: Harness, options: Options) -> None:
    with user_database() as db:
        async with Stage(harness) as stage:
            runs: list[bool] = []
            pay = _payment(stage, db, runs)

            @stage.task
            async def other() -> None: ...

            async def run() -> None:
                worker = await stage.start()
                handle = await stage._submit_call(pay.bind(), options)
                if not handle.duplicate or await stage.record(handle.id) is not None:
                    await stage.ended(handle.id)
                # Some stores forget while they keep something new.
                await stage.ended(await stage.submit(other.bind(), key=f"at {harness.clock.monotonic()}"))
                await stage.settled()
                await stage.end(worker)

            await run()
            await run()
            assert runs == [True], "it was run again within its window"
            days = 0.0
            while len(runs) == 1:
                if days >= _LONGEST_WINDOW:
                    raise NotApplicable("what has ended is not forgotten in virtual time here")
                days += 5 * _DAY
                await harness.advance(5 * _DAY, sweeping=False)  # nobody works: days would take minutes
                await harness.sweep()
                await harness.state.journal.prune(7 * _DAY)
                await run()
            assert runs == [True, True], "it was run again, and its effect was skipped"
            assert payments(db) == [100, 100]
