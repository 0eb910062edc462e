"""Handling: runs one message, wherever its handler belongs, and catches the verdict."""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from tenure import Context, Reject, Snooze, SyncContext, Tenure
from tenure.errors import ConfigurationError, ResultInvalid, ResultTooLarge
from tenure.lease import Lease
from tenure.message import Counters, Message
from tenure.record import Progress
from tenure.runtime.delivery import Delivery
from tenure.runtime.path.handling import PATIENCE_SECONDS, Handling
from tenure.runtime.path.slots import Slots
from tenure.runtime.processes.pool import ChildDied
from tenure.tasks.call import Call, Options
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Completed, Dead, Lost, Reason, Retried, Returned, Verdict

MOOD: contextvars.ContextVar[str] = contextvars.ContextVar("mood", default="calm")
GIVEN_BACK = Returned(0.0, Reason("worker_stopping", "the worker was stopped"))


class Pool:
    """Stands for child processes."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.answer: Callable[[], Any] = lambda: Completed(b'"from a child"')
        self.closed = False

    async def run(self, delivery: Delivery, _link: object) -> Any:
        self.ran.append(delivery.id)
        return self.answer()

    async def close(self) -> None:
        self.closed = True


class Link:
    """Stands for the worker, as far as a context asks."""

    deadline = 0.0
    stopping = False

    def __init__(self, delivery: Delivery) -> None:
        self.delivery = delivery

    @property
    def lease_lost(self) -> bool:
        return self.delivery.lease_lost

    async def touch(self, seconds: float | None) -> None: ...

    def progress(self, progress: Progress) -> None: ...

    async def checkpoint(self, data: bytes) -> None: ...

    async def load_checkpoint(self) -> bytes | None: ...

    def submit(self, call: Call[Any], options: Options) -> str:
        out = self.delivery.next_hand_off(call, options, sent_at=0.0)
        self.delivery.handoffs.append(out)
        return out.message.id


class Bench:
    """A handling stage, and its verdicts."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.app = Tenure("memory://", clock=clock)
        self.slots = Slots(5)
        self.children, self.solo = Pool(), Pool()
        self.verdicts: dict[str, Verdict] = {}
        self.handling = Handling(
            clock,
            self.slots,
            self,
            make_link=Link,  # type: ignore[arg-type]
            children=self.children,  # type: ignore[arg-type]
            solo=self.solo,  # type: ignore[arg-type]
        )

    def put(self, delivery: Delivery, verdict: Verdict) -> None:
        assert delivery.id not in self.verdicts, "concluded twice"
        self.verdicts[delivery.id] = verdict

    def start(self, function: Callable[..., Any], *, counters: Counters | None = None, **options: Any) -> Delivery:
        task = self.app.task(name=f"task-{len(self.app.tasks)}", **options)(function)
        id = f"m{len(self.app.tasks)}"
        lease = Lease(id, "q", b"", "o/1", 3, 3, 30.0, 0.0, counters or Counters())
        delivery = Delivery(lease, Message(id=id, queue="q", task=task.name, body=msgspec.Raw(b"{}")), task)
        self.slots.take(1)
        self.handling.start([delivery])
        return delivery

    async def verdict(self, function: Callable[..., Any], **options: Any) -> Verdict:
        delivery = self.start(function, **options)
        await asyncio.sleep(1000)
        return self.verdicts[delivery.id]


@asynccontextmanager
async def handling(clock: VirtualClock) -> AsyncIterator[Bench]:
    bench = Bench(clock)
    yield bench
    await bench.handling.close()
    assert bench.children.closed
    assert bench.solo.closed


async def test_a_returned_value_is_a_completion(virtual_clock: VirtualClock) -> None:
    async def work(ctx: Context) -> dict[str, int]:
        return {"fence": ctx.fence, "attempt": ctx.attempt}

    async with handling(virtual_clock) as bench:
        assert await bench.verdict(work) == Completed(b'{"fence":3,"attempt":1}')
        assert (bench.slots.running, bench.handling.running, bench.handling.running_ids) == (0, set(), set())


async def test_a_plain_function_runs_in_a_thread(virtual_clock: VirtualClock) -> None:
    def work(ctx: SyncContext) -> bool:
        return threading.current_thread() is not threading.main_thread() and ctx.fence == 3

    async with handling(virtual_clock) as bench:
        assert await bench.verdict(work) == Completed(b"true")


async def test_how_long_it_ran_is_known(virtual_clock: VirtualClock) -> None:
    async def work() -> None:
        await asyncio.sleep(12)

    async with handling(virtual_clock) as bench:
        delivery = bench.start(work)
        await asyncio.sleep(20)
        assert delivery.seconds == pytest.approx(12)


async def test_hand_offs_go_with_the_completion(virtual_clock: VirtualClock) -> None:
    async with handling(virtual_clock) as bench:
        follow = bench.app.task(name="follow")(lambda: None)

        async def work(ctx: Context) -> None:
            ctx.submit(follow.bind())

        verdict = await bench.verdict(work)
        assert isinstance(verdict, Completed)
        assert [outgoing.message.task for outgoing in verdict.handoffs] == ["follow"]


class Strange(BaseException):
    """Neither an Exception nor a wish to end the process."""


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), Strange(), GeneratorExit(), StopAsyncIteration()])
async def test_whatever_a_handler_raises_is_a_verdict_and_frees_its_slot(
    virtual_clock: VirtualClock, error: BaseException
) -> None:
    async def work() -> None:
        raise error

    async with handling(virtual_clock) as bench:
        assert isinstance(await bench.verdict(work), Retried)
        assert bench.slots.running == 0


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), StopIteration()])
async def test_whatever_a_thread_raises_is_a_verdict_too(virtual_clock: VirtualClock, error: BaseException) -> None:
    """A StopIteration cannot be carried by a future: as `next(iter([]))` raises it, runs would hang for ever."""

    def work() -> None:
        raise error

    async with handling(virtual_clock) as bench:
        assert isinstance(await bench.verdict(work), Retried)
        assert bench.slots.running == 0


async def _return_nonsense() -> object:
    return object()


def _return_nonsense_in_a_thread() -> object:
    return object()


async def _return_much() -> str:
    return "x" * 2_000_000


def _return_much_in_a_thread() -> str:
    return "x" * 2_000_000


@pytest.mark.parametrize(
    ("work", "code", "advice"),
    [
        (_return_nonsense, "result_invalid", "return JSON types"),
        (_return_nonsense_in_a_thread, "result_invalid", "return JSON types"),
        (_return_much, "result_too_large", "return less"),
        (_return_much_in_a_thread, "result_too_large", "return less"),
    ],
)
async def test_a_result_that_cannot_be_kept_is_dead_and_its_work_is_not_repeated(
    virtual_clock: VirtualClock, work: Callable[..., Any], code: str, advice: str
) -> None:
    async with handling(virtual_clock) as bench:
        verdict = await bench.verdict(work)
        assert isinstance(verdict, Dead), "a retry would do the work again, and end the same way"
        assert (verdict.reason.code, verdict.counted) == (code, True)
        for words in ("work was done", "effects stand", advice):
            assert words in verdict.reason.text
        assert bench.slots.running == 0


@pytest.mark.parametrize("error", [ResultInvalid("of another task"), ResultTooLarge("of another task")])
async def test_such_an_error_that_the_handler_raises_itself_is_an_ordinary_one(
    virtual_clock: VirtualClock, error: Exception
) -> None:
    async def work() -> None:
        raise error  # as `await handle.result()` does

    def in_a_thread() -> None:
        raise error

    async with handling(virtual_clock) as bench:
        for function in (work, in_a_thread):
            verdict = await bench.verdict(function)
            assert isinstance(verdict, Retried)
            assert verdict.reason.code == "error"


class Explosive:
    """A type whose own way to JSON is broken."""

    def model_dump(self, **_: Any) -> Any:
        raise SystemExit


async def test_a_result_whose_own_code_fails_while_it_is_encoded_is_invalid(virtual_clock: VirtualClock) -> None:
    async def work() -> object:
        return Explosive()

    async with handling(virtual_clock) as bench:
        verdict = await bench.verdict(work)
        assert isinstance(verdict, Dead)
        assert verdict.reason.code == "result_invalid"


async def test_what_a_thread_sets_in_context_variables_ends_with_it(virtual_clock: VirtualClock) -> None:
    """Threads are used again: the next message must not find it."""

    def work() -> str:
        before = MOOD.get()
        MOOD.set("angry")
        return before

    async with handling(virtual_clock) as bench:
        assert [await bench.verdict(work) for _ in range(6)] == [Completed(b'"calm"')] * 6


async def test_a_handler_that_cancels_itself_has_failed(virtual_clock: VirtualClock) -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    async with handling(virtual_clock) as bench:
        verdict = await bench.verdict(work)
        assert isinstance(verdict, Retried)
        assert "cancelled by its own code" in verdict.reason.text


async def test_a_run_that_is_ended_from_outside_gets_the_given_verdict(virtual_clock: VirtualClock) -> None:
    async def work() -> None:
        await asyncio.sleep(1e6)

    async with handling(virtual_clock) as bench:
        delivery = bench.start(work)
        await asyncio.sleep(1)
        bench.handling.end(delivery, GIVEN_BACK)
        await asyncio.sleep(1)
        assert bench.verdicts == {delivery.id: GIVEN_BACK}


async def test_a_run_that_is_ended_before_its_first_step_gets_its_verdict_too(virtual_clock: VirtualClock) -> None:
    """A task that is cancelled before it began never runs: its slot and its message would hang for ever."""
    runs: list[None] = []

    async def work() -> None:
        runs.append(None)

    async with handling(virtual_clock) as bench:
        # A program's own factory: else the first step is taken at once from Python 3.12 on.
        asyncio.get_running_loop().set_task_factory(lambda loop, main, **more: asyncio.Task(main, loop=loop, **more))
        delivery = bench.start(work)
        bench.handling.end(delivery, GIVEN_BACK)
        await asyncio.sleep(1)
        assert bench.verdicts == {delivery.id: GIVEN_BACK}
        assert (runs, bench.slots.running) == ([], 0)


async def test_an_error_on_the_way_out_does_not_change_the_given_verdict(virtual_clock: VirtualClock) -> None:
    async def work() -> None:
        try:
            await asyncio.sleep(1e6)
        finally:
            raise OSError

    async with handling(virtual_clock) as bench:
        delivery = bench.start(work)
        await asyncio.sleep(1)
        bench.handling.end(delivery, GIVEN_BACK)
        await asyncio.sleep(1)
        assert bench.verdicts == {delivery.id: GIVEN_BACK}


async def test_a_handler_that_returns_all_the_same_has_completed(virtual_clock: VirtualClock) -> None:
    async def work() -> str:
        try:
            await asyncio.sleep(1e6)
        except asyncio.CancelledError:
            return "just finished"
        return "never"

    async with handling(virtual_clock) as bench:
        delivery = bench.start(work)
        await asyncio.sleep(1)
        bench.handling.end(delivery, GIVEN_BACK)
        await asyncio.sleep(1)
        assert bench.verdicts == {delivery.id: Completed(b'"just finished"')}


async def test_a_lost_lease_beats_every_other_verdict(virtual_clock: VirtualClock) -> None:
    async def work() -> str:
        await asyncio.sleep(10)
        return "too late"

    async with handling(virtual_clock) as bench:
        delivery = bench.start(work)
        await asyncio.sleep(1)
        delivery.lease_lost = True
        await asyncio.sleep(20)
        assert bench.verdicts == {delivery.id: Lost()}


async def test_a_run_beyond_max_hold_is_a_failed_attempt(virtual_clock: VirtualClock) -> None:
    async def work() -> None:
        await asyncio.sleep(1e6)

    async with handling(virtual_clock) as bench:
        first, last = bench.start(work), bench.start(work, counters=Counters(attempts=2))
        await asyncio.sleep(1)
        for delivery in (first, last):
            bench.handling.end_overheld(delivery)
        await asyncio.sleep(1)
        retried, dead = bench.verdicts[first.id], bench.verdicts[last.id]
        assert isinstance(retried, Retried)
        assert retried.reason.code == "max_hold"
        assert isinstance(dead, Dead)


async def test_ending_what_is_over_changes_nothing(virtual_clock: VirtualClock) -> None:
    async def work() -> None: ...

    async with handling(virtual_clock) as bench:
        delivery = bench.start(work)
        await asyncio.sleep(1)
        bench.handling.end(delivery, GIVEN_BACK)
        bench.handling.end_overheld(delivery)
        await asyncio.sleep(1)
        assert bench.verdicts == {delivery.id: Completed(b"null")}


async def test_a_thread_that_is_left_keeps_its_slot_until_it_ends(virtual_clock: VirtualClock) -> None:
    go_on = threading.Event()
    entered = threading.Event()

    def work() -> None:
        entered.set()
        go_on.wait(10)

    async with handling(virtual_clock) as bench:
        delivery = bench.start(work)
        while not entered.is_set():  # noqa: ASYNC110 - virtual time stands still while a thread runs
            await asyncio.sleep(0)
        bench.handling.end(delivery, GIVEN_BACK)
        for _ in range(5):
            await asyncio.sleep(0)
        assert bench.verdicts == {delivery.id: GIVEN_BACK}
        assert (bench.slots.running, bench.handling.running_ids) == (1, {delivery.id})
        go_on.set()
        await asyncio.sleep(1)
        assert (bench.slots.running, bench.handling.running_ids) == (0, set())


async def test_a_process_handler_runs_in_a_child(virtual_clock: VirtualClock) -> None:
    async with handling(virtual_clock) as bench:
        assert await bench.verdict(lambda: None, runs_in="process") == Completed(b'"from a child"')
        assert len(bench.children.ran) == 1


async def test_a_child_that_dies_is_a_failed_attempt(virtual_clock: VirtualClock) -> None:
    async with handling(virtual_clock) as bench:

        def die() -> None:
            raise ChildDied(-9, alone=False)

        bench.children.answer = die
        verdict = await bench.verdict(lambda: None, runs_in="process")
        assert isinstance(verdict, Retried)
        assert (verdict.reason.code, "SIGKILL" in verdict.reason.text) == ("process_died", True)


async def test_a_child_that_cannot_start_blames_no_message(virtual_clock: VirtualClock) -> None:
    async with handling(virtual_clock) as bench:

        def fail() -> None:
            msg = "no module named jobs"
            raise ConfigurationError(msg)

        bench.children.answer = bench.solo.answer = fail
        for options in ({"runs_in": "process"}, {"counters": Counters(crashes=2)}):
            verdict = await bench.verdict(lambda: None, **options)
            assert isinstance(verdict, Returned)
            assert "no module named jobs" in verdict.reason.text


async def test_a_suspect_runs_alone_and_only_there_its_crash_is_its_own(virtual_clock: VirtualClock) -> None:
    async def work() -> None:
        raise Reject("it must not run here")

    async with handling(virtual_clock) as bench:
        assert await bench.verdict(work, counters=Counters(crashes=2)) == Completed(b'"from a child"')
        assert len(bench.solo.ran) == 1

        def die() -> None:
            raise ChildDied(3, alone=True)

        bench.solo.answer = die
        verdict = await bench.verdict(work, counters=Counters(crashes=2))
        assert isinstance(verdict, Dead)
        assert verdict.reason.code == "crashed_alone"
        assert "exit code 3" in verdict.reason.text
        assert isinstance(await bench.verdict(work, counters=Counters(crashes=1)), Dead), "one crash is no suspicion"
        assert len(bench.solo.ran) == 2


# --- handlers that swallow their cancellation -------------------------------------------------------------


class Stubborn:
    """Goes on until it is let go, whoever cancels it."""

    def __init__(self) -> None:
        self.let_go = False
        self.told = False

    async def __call__(self, ctx: Context) -> str:
        while not self.let_go:
            self.told = ctx.lease_lost
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.5)
        return "too late"


async def test_a_handler_that_swallows_its_cancellation_is_left_and_keeps_its_slot(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    stubborn = Stubborn()

    async def work(ctx: Context) -> str:
        return await stubborn(ctx)

    async with handling(virtual_clock) as bench:
        delivery = bench.start(work)
        await asyncio.sleep(1)
        returned = Returned(0.0, Reason("worker_stopping", "stop"))
        bench.handling.end(delivery, returned)
        await asyncio.sleep(PATIENCE_SECONDS + 1)
        assert bench.verdicts == {delivery.id: returned}
        assert delivery.left
        assert "it may catch CancelledError" in caplog.text
        assert bench.slots.running == 1
        assert delivery.id in bench.handling.running_ids
        stubborn.let_go = True
        await asyncio.sleep(1)
        assert bench.slots.running == 0
        assert delivery.id not in bench.handling.running_ids
        assert bench.verdicts == {delivery.id: returned}, "its late result is nobody's"


async def test_max_hold_ends_a_handler_that_swallows_its_cancellation_all_the_same(virtual_clock: VirtualClock) -> None:
    stubborn = Stubborn()

    async def work(ctx: Context) -> str:
        return await stubborn(ctx)

    async with handling(virtual_clock) as bench:
        delivery = bench.start(work, max_attempts=1)
        await asyncio.sleep(1)
        bench.handling.end_overheld(delivery)
        await asyncio.sleep(PATIENCE_SECONDS + 1)
        verdict = bench.verdicts[delivery.id]
        assert isinstance(verdict, Dead)
        stubborn.let_go = True
        await asyncio.sleep(1)


async def test_a_handler_that_ends_a_little_late_is_not_left(virtual_clock: VirtualClock) -> None:
    async def work() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(PATIENCE_SECONDS / 2)

    async with handling(virtual_clock) as bench:
        delivery = bench.start(work)
        await asyncio.sleep(1)
        bench.handling.end(delivery, Lost())
        await asyncio.sleep(PATIENCE_SECONDS * 2)
        assert bench.verdicts == {delivery.id: Lost()}
        assert not delivery.left


async def test_a_snooze_that_is_ended_while_it_is_counted_is_concluded(virtual_clock: VirtualClock) -> None:
    class Slow:
        async def get(self, _id: str) -> None:
            await asyncio.sleep(100)

    async def work() -> None:
        raise Snooze(after=60)

    async with handling(virtual_clock) as bench:
        bench.handling._records = Slow()  # type: ignore[assignment]
        delivery = bench.start(work)
        await asyncio.sleep(1)
        bench.handling.end(delivery, GIVEN_BACK)
        await asyncio.sleep(1)
        assert bench.verdicts == {delivery.id: GIVEN_BACK}
        assert bench.slots.running == 0


async def test_the_first_step_knows_its_own_task(virtual_clock: VirtualClock) -> None:
    """So a stack of a handler that blocks the loop in its first step is found."""
    async with handling(virtual_clock) as bench:

        async def work() -> bool:
            (delivery,) = bench.handling.running
            return delivery.runner is asyncio.current_task()

        assert await bench.verdict(work) == Completed(b"true")


async def test_a_run_that_a_place_became_free_for_does_not_begin_within_the_end_of_another(
    virtual_clock: VirtualClock,
) -> None:
    steps: list[str] = []

    async def work() -> None:
        steps.append("began")

    async with handling(virtual_clock) as bench:
        task = bench.app.task(name="late")(work)
        lease = Lease("late", "q", b"", "o/1", 3, 3, 30.0, 0.0, Counters())
        delivery = Delivery(lease, Message(id="late", queue="q", task="late", body=msgspec.Raw(b"{}")), task)
        bench.slots.take(1)
        bench.handling.start_soon(delivery)
        assert steps == []
        await asyncio.sleep(1)
        assert steps == ["began"]
