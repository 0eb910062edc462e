"""Middleware: stands around every handler, in the loop and around threads. In children: `test_hosting.py`."""

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tenure import Context, Reject, Retry, SyncContext
from tenure.middleware import Middlewares, Run, around
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Completed, Dead, Retried

from .test_handling import GIVEN_BACK, Bench, handling

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


async def _async_work() -> str:
    return "done"


def _sync_work() -> str:
    return "done"


@pytest.mark.parametrize("work", [_async_work, _sync_work])
async def test_the_first_is_the_outermost_and_each_sees_the_result(
    virtual_clock: VirtualClock, work: Callable[[], Any]
) -> None:
    async with handling(virtual_clock) as bench:
        order: list[str] = []

        def named(name: str) -> Any:
            async def one(_ctx: Context, run: Run) -> Any:
                order.append(f"{name} in")
                result = await run()
                order.append(f"{name} out")
                return f"{result} {name}"

            return one

        bench.app.middleware(named("first"))
        bench.app.middleware(named("second"))
        assert await bench.verdict(work) == Completed(b'"done second first"')
        assert order == ["first in", "second in", "second out", "first out"]


async def test_it_gets_an_async_context_whatever_the_handler_takes(virtual_clock: VirtualClock) -> None:
    async with handling(virtual_clock) as bench:
        bench.handling.state = "the pool"
        seen: list[Any] = []

        @bench.app.middleware
        async def look(ctx: Context, run: Run) -> Any:
            await ctx.touch()
            seen.append((type(ctx), ctx.attempt, ctx.fence, ctx.state, ctx.message.task))
            return await run()

        async def with_context(ctx: Context) -> str:
            return str(ctx.state)

        def with_sync_context(ctx: SyncContext) -> str:
            return type(ctx).__name__

        functions = (with_context, with_sync_context, _async_work, _sync_work)
        results = [await bench.verdict(function) for function in functions]
        assert results == [Completed(result) for result in (b'"the pool"', b'"SyncContext"', b'"done"', b'"done"')]
        assert seen == [(Context, 1, 3, "the pool", f"task-{number}") for number in range(4)]


async def test_context_variables_that_it_sets_are_seen_by_the_handler(virtual_clock: VirtualClock) -> None:
    async with handling(virtual_clock) as bench:

        @bench.app.middleware
        async def name_it(_ctx: Context, run: Run) -> Any:
            WHO.set("ada")
            return await run()

        async def work() -> str:
            return WHO.get()

        def in_a_thread() -> list[Any]:
            return [WHO.get(), threading.current_thread() is threading.main_thread()]

        assert await bench.verdict(work) == Completed(b'"ada"')
        assert await bench.verdict(in_a_thread) == Completed(b'["ada",false]')
        assert WHO.get() == "nobody"


async def _raise_in(bench: Bench, error: BaseException) -> Any:
    async def middleware(_ctx: Context, run: Run) -> Any:
        await run()
        raise error

    bench.app.middleware[:] = [middleware]
    return await bench.verdict(_async_work, reject_on=(LookupError,))


async def test_what_it_raises_is_judged_as_if_the_handler_had(virtual_clock: VirtualClock) -> None:
    async with handling(virtual_clock) as bench:
        retried = await _raise_in(bench, Retry(after=7, reason="not yet"))
        assert isinstance(retried, Retried)
        assert (retried.after_seconds, retried.reason.text) == (7, "not yet")
        rejected = await _raise_in(bench, Reject("never"))
        assert isinstance(rejected, Dead)
        failed = await _raise_in(bench, OSError("no audit log"))
        assert isinstance(failed, Retried)
        assert (failed.reason.code, failed.reason.error) == ("error", "OSError")
        hopeless = await _raise_in(bench, KeyError("x"))
        assert isinstance(hopeless, Dead)
        assert hopeless.reason.code == "rejected"


async def test_it_sees_errors_and_may_replace_them(virtual_clock: VirtualClock) -> None:
    async def fail() -> None:
        msg = "out of paper"
        raise ValueError(msg)

    async with handling(virtual_clock) as bench:

        @bench.app.middleware
        async def forgive(_ctx: Context, run: Run) -> Any:
            try:
                return await run()
            except ValueError as error:
                return f"forgiven: {error}"

        assert await bench.verdict(fail) == Completed(b'"forgiven: out of paper"')


async def test_it_need_not_run_the_handler_at_all(virtual_clock: VirtualClock) -> None:
    ran: list[None] = []

    async def work() -> None:
        ran.append(None)

    async with handling(virtual_clock) as bench:

        @bench.app.middleware
        async def cached(_ctx: Context, _run: Run) -> Any:
            return "from the cache"

        assert await bench.verdict(work) == Completed(b'"from the cache"')
        assert ran == []


async def test_a_handler_is_run_once_an_attempt(virtual_clock: VirtualClock) -> None:
    async with handling(virtual_clock) as bench:

        @bench.app.middleware
        async def twice(_ctx: Context, run: Run) -> Any:
            await run()
            return await run()

        verdict = await bench.verdict(_async_work)
        assert isinstance(verdict, Retried)
        assert "a second time" in verdict.reason.text


async def test_a_traceback_shows_the_users_frames_and_none_of_ours(virtual_clock: VirtualClock) -> None:
    def fail() -> None:
        msg = "out of paper"
        raise ValueError(msg)

    async with handling(virtual_clock) as bench:

        @bench.app.middleware
        async def timed(_ctx: Context, run: Run) -> Any:
            return await run()

        verdict = await bench.verdict(fail)
        assert isinstance(verdict, Retried)
        assert "return await run()" in verdict.reason.traceback
        assert "raise ValueError(msg)" in verdict.reason.traceback
        for ours in ("handling.py", "middleware.py", "futures/thread.py"):
            assert f"/{ours}" not in verdict.reason.traceback.replace("test_middleware.py", "")


async def test_what_ends_programs_ends_none_even_within_a_task_of_middleware(virtual_clock: VirtualClock) -> None:
    async def leave() -> None:
        raise SystemExit(3)

    async with handling(virtual_clock) as bench:

        @bench.app.middleware
        async def in_a_task(_ctx: Context, run: Run) -> Any:
            async def inner() -> Any:
                return await run()

            return await asyncio.create_task(inner())

        verdict = await bench.verdict(leave)
        assert isinstance(verdict, Retried)
        assert "SystemExit: 3" in verdict.reason.text


async def test_a_run_that_is_ended_is_cancelled_through_it(virtual_clock: VirtualClock) -> None:
    async with handling(virtual_clock) as bench:
        cleaned: list[None] = []

        @bench.app.middleware
        async def clean(_ctx: Context, run: Run) -> Any:
            try:
                return await run()
            finally:
                cleaned.append(None)

        async def work() -> None:
            await asyncio.sleep(1e6)

        delivery = bench.start(work)
        await asyncio.sleep(1)
        bench.handling.end(delivery, GIVEN_BACK)
        await asyncio.sleep(1)
        assert bench.verdicts == {delivery.id: GIVEN_BACK}
        assert cleaned == [None]


async def test_a_thread_that_middleware_gave_up_on_keeps_its_slot(virtual_clock: VirtualClock) -> None:
    go_on, entered = threading.Event(), threading.Event()

    def work() -> None:
        entered.set()
        go_on.wait(10)

    async with handling(virtual_clock) as bench:

        @bench.app.middleware
        async def give_up(_ctx: Context, run: Run) -> Any:
            waiting = asyncio.ensure_future(run())
            while not entered.is_set():  # noqa: ASYNC110 - virtual time stands still while a thread runs
                await asyncio.sleep(0)
            waiting.cancel()
            return "gave up"

        delivery = bench.start(work)
        while delivery.id not in bench.verdicts:  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0)
        assert (bench.slots.running, bench.handling.running_ids) == (1, {delivery.id})
        go_on.set()
        await asyncio.sleep(1)
        assert (bench.slots.running, bench.handling.running_ids) == (0, set())


async def test_what_is_registered_after_the_worker_was_made_counts_too(virtual_clock: VirtualClock) -> None:
    async with handling(virtual_clock) as bench:
        assert await bench.verdict(_async_work) == Completed(b'"done"')

        @bench.app.middleware
        async def shout(_ctx: Context, run: Run) -> Any:
            return f"{await run()}!"

        assert await bench.verdict(_async_work) == Completed(b'"done!"')


async def test_a_payload_that_does_not_fit_never_reaches_it(virtual_clock: VirtualClock) -> None:
    async def work(width: int) -> None: ...

    async with handling(virtual_clock) as bench:
        seen: list[None] = []

        @bench.app.middleware
        async def look(_ctx: Context, run: Run) -> Any:
            seen.append(None)
            return await run()

        verdict = await bench.verdict(work)
        assert isinstance(verdict, Dead)
        assert (verdict.reason.code, seen) == ("payload_invalid", [])


async def test_without_any_the_handler_is_called_as_it_is() -> None:
    """`handling.py` does not even ask; here for whoever else winds it."""

    async def run() -> str:
        return "plain"

    assert await around([], None, run)() == "plain"  # type: ignore[arg-type]


class Wrapper:
    """Middleware as people write it: a method, a partial, an object that can be called."""

    async def method(self, ctx: Context, run: Run) -> Any:
        return await run()

    async def __call__(self, ctx: Context, run: Run) -> Any:
        return await run()


async def _named(prefix: str, ctx: Context, run: Run) -> Any:
    return f"{prefix} {await run()}"


@pytest.mark.parametrize("one", [Wrapper().method, Wrapper(), functools.partial(_named, "a")], ids=range(3))
def test_methods_partials_and_objects_can_be_middleware(one: Any) -> None:
    assert Middlewares()(one) is one
