"""Claim checks and crashes: no body is lost before its message is done, and none stays for ever.

Sender and worker are stopped just before and just after every single call that they make, as in `crashpoints`.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from tenure.message import MessageState, new_id
from tenure.tasks.build_message import outgoing
from tenure.tasks.call import Options
from tenure.tasks.context import Context
from tenure.testing.conformance.worker.contexts import payments, user_database
from tenure.testing.conformance.worker.large_bodies import (
    LARGE,
    names_of_bodies,
    stage_with_blob_store,
    tidy_up,
    until_empty,
)
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage

#: The handler under test: may hand on.
Handler = Callable[[Context, Stage], Awaitable[None]]


class ClaimCheckCrashes:
    """Killed anywhere: the bodies in the blob store are neither lost nor left behind."""

    async def test_a_sender_that_dies_anywhere_can_repeat_itself(self, harness: Harness) -> None:
        for number, after in itertools.product((1, 2, 3), (False, True)):
            async with stage_with_blob_store(harness, f"sender-{number}-{'after' if after else 'before'}") as stage:

                @stage.task
                async def work(text: str) -> int:
                    stage.note("run")
                    return len(text)

                wall = harness.clock.wall()
                out = outgoing(work.bind(LARGE), {}, id=new_id(wall), client=None, sent_at=wall)
                wire = stage.wire()
                wire.cut_at(number, after=after)
                sending = asyncio.ensure_future(stage.send(out, wire))
                await stage.until(lambda: sending.done() or wire.is_cut.is_set())  # noqa: B023 - asked in this turn
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
                await stage.send(out)
                await stage.start()
                assert (await stage.ended(out.message.id)).result == b"5000"
                await stage.settled()
                assert stage.trace.count("run") == 1, stage.trace
                await until_empty(stage)

    async def test_what_a_dead_sender_left_is_discarded_in_the_end(self, harness: Harness) -> None:
        async with stage_with_blob_store(harness) as stage:

            @stage.task
            async def work(text: str) -> None: ...

            wire = stage.wire()
            wire.cut_at(2, after=False)  # left, and not sent
            wall = harness.clock.wall()
            out = outgoing(work.bind(LARGE), {}, id=new_id(wall), client=None, sent_at=wall)
            sending = asyncio.ensure_future(stage.send(out, wire))
            await stage.until(wire.is_cut.is_set)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            await tidy_up(stage)
            assert len(await names_of_bodies(stage)) == 1, "perhaps its message is on its way"
            assert stage.blob_store is not None
            await asyncio.sleep(stage.blob_store.keep_seconds)
            await tidy_up(stage)
            assert await names_of_bodies(stage) == []

    async def test_a_worker_that_dies_anywhere_loses_nothing(self, harness: Harness) -> None:
        await _everywhere(harness, "plain", {}, _nothing)

    async def test_a_worker_that_dies_anywhere_with_a_key_and_a_hand_off(self, harness: Harness) -> None:
        async def hand_on(ctx: Context, stage: Stage) -> None:
            ctx.submit(stage.tasks["follow"].bind(LARGE))

        await _everywhere(harness, "keyed-on", {"key": "k"}, hand_on, handoffs=1)


async def _nothing(_ctx: Context, _stage: Stage) -> None: ...


async def _everywhere(harness: Harness, name: str, options: Options, handler: Handler, *, handoffs: int = 0) -> None:
    """Kill a worker at every point."""
    for number in itertools.count(1):
        struck = False
        for after in (False, True):
            async with stage_with_blob_store(harness, f"{name}-{number}-{'after' if after else 'before'}") as stage:
                struck |= await _killed_at(stage, number, options, handler, handoffs, after=after)
        if not struck:
            assert number > 4, "the worker made next to no calls: what was tested?"
            return


async def _killed_at(
    stage: Stage, number: int, options: Options, handler: Handler, handoffs: int, *, after: bool
) -> bool:
    """One message through one crash; whether the worker came as far as that point."""
    with user_database() as db:

        @stage.task
        async def follow(text: str) -> None:
            stage.note(f"followed {len(text)}")

        @stage.task
        async def work(ctx: Context, text: str) -> None:
            stage.note(f"run {len(text)}")
            with db:
                if ctx.once(db):
                    db.execute("INSERT INTO payment VALUES (1)")
            await handler(ctx, stage)

        id = await stage.submit(work.bind(LARGE), **options)
        wire = stage.wire()
        wire.cut_at(number, after=after)
        doomed = survivor = await stage.start(wire=wire, concurrency=1)

        async def is_over() -> bool:
            depth = await stage.harness.depth(stage.queue)
            is_idle = not (depth.ready or depth.delayed or depth.leased) and doomed.worker.in_flight == 0
            return wire.is_cut.is_set() or (is_idle and not await names_of_bodies(stage))

        await stage.until(is_over)
        struck = wire.is_cut.is_set()
        if struck:
            await stage.kill(doomed)
            stage.note("killed")
            survivor = await stage.start(concurrency=1)
        record = await stage.ended(id)
        await stage.settled()
        where = f"call {number}, {'after' if after else 'before'}: {stage.trace}"
        assert record.state is MessageState.COMPLETED, where
        assert payments(db) == [1], f"{where}: the effect was done {len(payments(db))} times"
        assert all(word == "run 5000" for word in stage.trace if word.startswith("run")), where
        assert ("followed 5000" in stage.trace) is bool(handoffs), where
        await stage.end(survivor)  # nobody is at work while an hour passes
        await tidy_up(stage)
        assert await names_of_bodies(stage) == [], f"{where}: a body stays for ever"
    return struck
