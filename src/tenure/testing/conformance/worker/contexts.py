"""Contexts: what a handler says through `ctx` is kept, and is said once, whatever happens to its worker."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from tenure.message import MessageState
from tenure.record import Progress
from tenure.tasks.context import Context, SyncContext
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage


class Contexts:
    """Hand-offs, checkpoints, progress, one effect."""

    async def test_a_hand_off_goes_out_with_the_completion(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            seen: list[tuple[int, str | None, str | None]] = []

            @stage.task
            async def second(ctx: Context, number: int) -> None:
                seen.append((number, ctx.message.parent_id, ctx.message.correlation_id))

            @stage.task
            async def first(ctx: Context) -> None:
                ctx.submit(second.bind(1))
                ctx.submit(second.bind(2), priority=9)
                await asyncio.sleep(5)
                assert seen == [], "handed on before it was done"

            id = await stage.submit(first.bind())
            await stage.start()
            await stage.ended(id)
            await stage.settled()
            assert sorted(seen) == [(1, id, id), (2, id, id)]

    async def test_a_handler_that_fails_hands_nothing_on(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            runs: list[None] = []

            @stage.task
            async def second() -> None:
                runs.append(None)

            @stage.task(max_attempts=2, retry_delay=1)
            async def first(ctx: Context) -> None:
                ctx.submit(second.bind())
                raise RuntimeError

            id = await stage.submit(first.bind())
            await stage.start()
            assert (await stage.ended(id)).state is MessageState.DEAD
            await asyncio.sleep(10)
            assert runs == []

    async def test_a_hand_off_repeated_by_a_second_run_is_one_message(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            ids: list[str] = []

            @stage.task(queue=f"{stage.queue}-next")
            async def second() -> None: ...

            @stage.task
            async def first(ctx: Context) -> None:
                ids.append(ctx.submit(second.bind()))
                await asyncio.sleep(5)

            id = await stage.submit(first.bind())
            doomed = await stage.start()
            await stage.until(lambda: len(ids) == 1)
            await stage.kill(doomed)
            await stage.start()
            await stage.ended(id)
            assert (len(ids), len(set(ids))) == (2, 1)
            assert (await harness.depth(f"{stage.queue}-next")).ready == 1

    async def test_a_checkpoint_survives_a_crash(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            pages: list[int] = []

            @stage.task
            async def read(ctx: Context) -> int:
                page = await ctx.last_checkpoint(int) or 0
                while page < 6:
                    pages.append(page)
                    await asyncio.sleep(1)
                    page += 1
                    await ctx.checkpoint(page)
                return page

            id = await stage.submit(read.bind())
            doomed = await stage.start()
            await stage.until(lambda: len(pages) == 4)
            await stage.kill(doomed)
            await stage.start()
            assert (await stage.ended(id)).result == b"6"
            assert pages == [0, 1, 2, 3, 3, 4, 5]

    async def test_a_checkpoint_survives_a_failed_attempt(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task(max_attempts=2, retry_delay=1)
            async def work(ctx: Context) -> object:
                last = await ctx.last_checkpoint()
                if last is None:
                    await ctx.checkpoint({"half": "done"})
                    raise RuntimeError
                return last

            id = await stage.submit(work.bind())
            await stage.start()
            assert (await stage.ended(id)).result == b'{"half":"done"}'

    async def test_progress_can_be_seen_while_it_runs(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            noted = asyncio.Event()

            @stage.task
            async def work(ctx: Context) -> None:
                for step in range(50):
                    ctx.progress(step / 100, note=f"step {step}")
                noted.set()
                await asyncio.sleep(20)

            id = await stage.submit(work.bind())
            actor = await stage.start()
            await noted.wait()
            await asyncio.sleep(2.5)
            assert (await harness.record(id)).progress == Progress(0.49, "step 49")
            assert actor.wire.said.count("records.progress") <= 2, "progress is gathered, not written each time"

    async def test_the_contexts_of_plain_functions_have_the_same_words(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task(queue=f"{stage.queue}-next")
            async def second() -> None: ...

            @stage.task(max_attempts=2, retry_delay=1)
            def work(ctx: SyncContext) -> object:
                last = ctx.last_checkpoint(dict)
                ctx.progress(0.5)
                ctx.touch(100)
                if last is None:
                    ctx.checkpoint({"attempt": ctx.attempt})
                    raise RuntimeError
                ctx.submit(second.bind())
                return last

            id = await stage.submit(work.bind())
            await stage.start()
            assert (await stage.ended(id)).result == b'{"attempt":1}'
            assert (await harness.depth(f"{stage.queue}-next")).ready == 1

    async def test_an_effect_is_done_once_over_a_crash_between_it_and_the_ack(self, harness: Harness) -> None:
        with user_database() as db:
            async with Stage(harness) as stage:
                firsts: list[bool] = []

                @stage.task
                async def pay(ctx: Context, amount: int) -> None:
                    with db:
                        first = ctx.once(db)
                        if first:
                            db.execute("INSERT INTO payment VALUES (?)", (amount,))
                    firsts.append(first)
                    await asyncio.sleep(5)

                id = await stage.submit(pay.bind(100))
                doomed = await stage.start()
                await stage.until(lambda: firsts == [True])
                await stage.kill(doomed)
                await stage.start()
                assert (await stage.ended(id)).state is MessageState.COMPLETED
                assert firsts == [True, False]
                assert payments(db) == [100]

    async def test_an_effect_that_was_not_committed_is_done_by_the_next_run(self, harness: Harness) -> None:
        with user_database() as db:
            async with Stage(harness) as stage:
                runs: list[None] = []

                @stage.task(max_attempts=2, retry_delay=1)
                async def pay(ctx: Context, amount: int) -> None:
                    runs.append(None)
                    with db:
                        assert ctx.once(db)
                        db.execute("INSERT INTO payment VALUES (?)", (amount,))
                        if len(runs) == 1:
                            raise ConnectionError

                id = await stage.submit(pay.bind(100))
                await stage.start()
                assert (await stage.ended(id)).state is MessageState.COMPLETED
                assert (len(runs), payments(db)) == (2, [100])

    async def test_a_frozen_worker_does_no_effect_that_another_has_done(self, harness: Harness) -> None:
        with user_database() as db:
            async with Stage(harness) as stage:
                runs: list[None] = []

                @stage.task
                async def pay(ctx: Context, amount: int) -> None:
                    runs.append(None)
                    # The first run is held up here for longer than its lease, and does not know it.
                    await asyncio.sleep(3 * harness.lease_seconds if len(runs) == 1 else 1)
                    with db:
                        if ctx.once(db):
                            db.execute("INSERT INTO payment VALUES (?)", (amount,))

                id = await stage.submit(pay.bind(100))
                frozen = await stage.start()
                await stage.until(lambda: len(runs) == 1)
                frozen.wire.freeze()
                await stage.start()
                await stage.ended(id)
                await asyncio.sleep(3 * harness.lease_seconds)
                frozen.wire.thaw()
                await asyncio.sleep(harness.lease_seconds)
                assert payments(db) == [100]


@contextmanager
def user_database() -> Iterator[sqlite3.Connection]:
    """A database of the user's own, which no worker takes with it when it dies."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE payment (amount INTEGER)")
    db.commit()
    try:
        yield db
    finally:
        db.close()


def payments(db: sqlite3.Connection) -> list[int]:
    """Every effect that was committed."""
    return [amount for (amount,) in db.execute("SELECT amount FROM payment")]
