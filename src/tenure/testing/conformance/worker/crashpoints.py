"""Crash points: a worker is killed just before and just after every single call that it makes.

Each test takes one kind of message. For n = 1, 2, 3 … a worker is started whose wire is cut at its call
number n, once before it is carried out and once after, when only the answer is missing; it is proven dead;
a second worker recovers. That goes on until a worker comes to the end without reaching call n. Each time
the message must have ended once, as it should, with its effect and its hand-off there once, and must not
have been run after it was done.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

from tenure.message import MessageState
from tenure.tasks.call import Options
from tenure.tasks.context import Context
from tenure.testing.conformance.worker.contexts import payments, user_database
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage
from tenure.verdict import Reject

#: The handler under test: may note things on the stage, and raise.
Handler = Callable[[Context, Stage], Awaitable[None]]

_WITHOUT_AND_WITH_KEY: tuple[Options, ...] = ({}, {"key": "k"})

#: What ends a message for good; no run may come after it.
_DONE = frozenset({"ledger.seal True", "broker.ack deleted", "broker.dead_letter dead"})


class CrashPoints:
    """Killed anywhere: never lost, never twice."""

    async def test_of_a_message(self, harness: Harness) -> None:
        await _everywhere(harness, "plain", _work, {}, MessageState.COMPLETED)

    async def test_of_a_message_with_a_key(self, harness: Harness) -> None:
        await _everywhere(harness, "keyed", _work, {"key": "k"}, MessageState.COMPLETED)

    async def test_of_a_message_that_outlives_its_lease(self, harness: Harness) -> None:
        async def work(ctx: Context, stage: Stage) -> None:
            await asyncio.sleep(1.2 * harness.lease_seconds)
            await _work(ctx, stage)

        await _everywhere(harness, "long", work, {"key": "k"}, MessageState.COMPLETED)

    async def test_of_a_message_with_a_hand_off(self, harness: Harness) -> None:
        await _everywhere(harness, "handing-on", _hand_on, {}, MessageState.COMPLETED, handoffs=1)

    async def test_of_a_message_with_a_key_and_a_hand_off(self, harness: Harness) -> None:
        await _everywhere(harness, "keyed-on", _hand_on, {"key": "k"}, MessageState.COMPLETED, handoffs=1)

    async def test_of_a_message_with_a_checkpoint(self, harness: Harness) -> None:
        async def work(ctx: Context, stage: Stage) -> None:
            if await ctx.last_checkpoint() is None:
                ctx.progress(0.5)
                await ctx.checkpoint("half")
            assert await ctx.last_checkpoint() == "half"
            await _work(ctx, stage)

        await _everywhere(harness, "checkpoint", work, {}, MessageState.COMPLETED)

    async def test_of_a_message_whose_first_attempt_fails(self, harness: Harness) -> None:
        async def work(ctx: Context, stage: Stage) -> None:
            await _hand_on(ctx, stage)
            stage.note(f"attempt {ctx.attempt}")
            if ctx.attempt == 1:
                raise RuntimeError

        for options in _WITHOUT_AND_WITH_KEY:
            name = f"failing-{len(options)}"
            for trace in await _everywhere(harness, name, work, options, MessageState.COMPLETED, handoffs=1):
                attempts = [word for word in trace if word.startswith("attempt")]
                assert attempts == sorted(attempts), trace
                assert set(attempts) == {"attempt 1", "attempt 2"}, "an attempt was not counted, or counted twice"

    async def test_of_a_message_that_goes_to_the_dead_letters(self, harness: Harness) -> None:
        async def work(ctx: Context, stage: Stage) -> None:
            await _hand_on(ctx, stage)
            msg = "never"
            raise Reject(msg)

        for options in _WITHOUT_AND_WITH_KEY:
            await _everywhere(harness, f"dying-{len(options)}", work, options, MessageState.DEAD)


async def _work(_ctx: Context, _stage: Stage) -> None:
    await asyncio.sleep(1)


async def _hand_on(ctx: Context, stage: Stage) -> None:
    ctx.submit(stage.tasks["follow"].bind())
    await asyncio.sleep(1)


async def _everywhere(
    harness: Harness, name: str, handler: Handler, options: Options, expected: MessageState, *, handoffs: int = 0
) -> list[list[str]]:
    """Kill at every point; the traces of all runs."""
    traces: list[list[str]] = []
    for number in itertools.count(1):
        struck = False
        for after in (False, True):
            stage = Stage(harness, queue=f"{name}-{number}-{'after' if after else 'before'}")
            async with stage:
                struck |= await _killed_at(stage, (number, after), handler, options, expected, handoffs)
            traces.append(stage.trace)
        if not struck:
            break
    assert len(traces) > 4, "the worker made next to no calls: what was tested?"
    return traces


async def _killed_at(
    stage: Stage, point: tuple[int, bool], handler: Handler, options: Options, expected: MessageState, handoffs: int
) -> bool:
    """One message through one crash; whether the worker came as far as that point."""
    with user_database() as db:

        @stage.task(queue=f"{stage.queue}-next")
        async def follow() -> None: ...

        @stage.task(max_attempts=2, retry_delay=1)
        async def work(ctx: Context) -> None:
            stage.note("run")
            with db:
                if ctx.once(db):
                    db.execute("INSERT INTO payment VALUES (1)")
            await handler(ctx, stage)

        id = await stage.submit(work.bind(), **options)
        struck = await _struck(stage, point[0], after=point[1])
        record = await stage.ended(id)
        await stage.settled()
        await asyncio.sleep(1.1 * stage.harness.lease_seconds)
        where = f"call {point[0]}, {'after' if point[1] else 'before'}: {stage.trace}"
        assert record.state is expected, where
        assert (await stage.harness.record(id)).state is expected, where
        assert payments(db) == [1], f"{where}: the effect was done {len(payments(db))} times"
    _assert_nothing_ran_after_it_was_done(stage.trace, where)
    depth = await stage.harness.depth(f"{stage.queue}-next")
    assert depth.ready == handoffs, f"{where}: {depth.ready} copies were handed on"
    if "key" in options and expected is MessageState.COMPLETED:
        await _assert_it_is_not_run_again(stage, options)
    return struck


async def _struck(stage: Stage, number: int, *, after: bool) -> bool:
    """Let a worker run into the point; if it does, kill it and start another."""
    wire = stage.wire()
    wire.cut_at(number, after=after)
    doomed = await stage.start(wire=wire, concurrency=1)

    async def is_over() -> bool:
        if wire.is_cut.is_set():
            return True
        depth = await stage.harness.depth(stage.queue)
        return not (depth.ready or depth.delayed or depth.leased) and doomed.worker.in_flight == 0

    await stage.until(is_over)
    if not wire.is_cut.is_set():
        await stage.end(doomed)
        return False
    await stage.kill(doomed)
    stage.note("killed")
    await stage.start(concurrency=1)
    return True


def _assert_nothing_ran_after_it_was_done(trace: list[str], where: str) -> None:
    done = next(place for place, word in enumerate(trace) if word in _DONE)
    assert "run" not in trace[done:], f"{where}: run after it was done"


async def _assert_it_is_not_run_again(stage: Stage, options: Any) -> None:
    """Sent again under its key, it is recognised, also by a worker that comes later."""
    before = stage.trace.count("run")
    again = await stage.submit(stage.tasks["work"].bind(), **options)
    await stage.start(concurrency=1)
    assert (await stage.ended(again)).state is MessageState.COMPLETED
    await stage.settled()
    assert stage.trace.count("run") == before, f"a second message under the same key was run: {stage.trace}"
