"""Faults to order: each strikes once, at its moment, and is missed if it never does."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tenure import BrokerUnavailable, Context, Retry, SyncContext, Tenure
from tenure.testing import Kit, KitError


def events_of(kit: Kit, kind: str) -> int:
    return sum(event.kind == kind for event in kit.events)


async def test_a_worker_crashes_after_its_handler_returned(kit: Kit) -> None:
    ran: list[str] = []

    @kit.app.task
    async def publish(article: str) -> None:
        ran.append(article)

    kit.crash_worker()
    await publish.submit("article-1")
    await kit.drain()
    assert ran == ["article-1", "article-1"]
    (done,) = kit.completed(publish)
    assert (done.runs, done.attempts) == (2, 1)
    assert events_of(kit, "owner_retired") == 1
    await publish.submit("article-2")
    await kit.drain()
    assert ran == ["article-1", "article-1", "article-2"]


@pytest.mark.parametrize("keyed", [False, True])
async def test_a_crash_comes_before_anything_is_known_of_the_result(kit: Kit, keyed: bool) -> None:
    """A key does not help: it is sealed by the worker, and that one is dead."""
    ran: list[int] = []

    @kit.app.task
    async def count() -> None:
        ran.append(1)

    kit.crash_worker()
    await (kit.app.submit(count.bind(), key="once") if keyed else count.submit())
    await kit.drain()
    assert len(ran) == 2


async def test_an_idempotent_effect_survives_the_crash(kit: Kit) -> None:
    database = sqlite3.connect(":memory:")
    database.execute("create table emails (address text)")

    @kit.app.task
    async def welcome(ctx: Context, address: str) -> None:
        with database:
            if ctx.once(database):
                database.execute("insert into emails values (?)", (address,))

    kit.crash_worker()
    await welcome.submit("ada@example.org")
    await kit.drain()
    assert database.execute("select address from emails").fetchall() == [("ada@example.org",)]
    assert kit.completed(welcome)[0].runs == 2
    database.close()


@pytest.mark.parametrize("runs_in", ["thread", "process"])
@pytest.mark.parametrize("when", ["returned", "running"])
async def test_the_worker_of_a_plain_function_crashes_too(kit: Kit, runs_in: Any, when: Any) -> None:
    ran: list[str] = []

    @kit.app.task(runs_in=runs_in)
    def publish(ctx: SyncContext, article: str) -> None:
        ran.append("begin")
        ctx.checkpoint(article)
        ran.append("end")

    kit.crash_worker(when=when)
    await publish.submit("article-1")
    await kit.drain()
    assert ran == ["begin", "end", "begin", "end"]


async def test_a_worker_crashes_while_its_handler_runs(kit: Kit) -> None:
    trace: list[str] = []

    @kit.app.task
    async def build() -> None:
        trace.append("begin")
        await asyncio.sleep(10)
        trace.append("middle")
        await asyncio.sleep(10)
        trace.append("end")

    kit.crash_worker(when="running")
    kit.crash_worker(when="running", after=15)
    await build.submit()
    await kit.drain()
    assert trace == ["begin", "begin", "middle", "begin", "middle", "end"]
    assert kit.completed(build)[0].runs == 3


async def test_a_handler_that_never_pauses_still_loses_its_worker(kit: Kit) -> None:
    ran: list[int] = []

    @kit.app.task
    async def quick() -> None:
        ran.append(1)

    kit.crash_worker(when="running")
    await quick.submit()
    await kit.drain()
    assert len(ran) == 2


async def test_a_message_whose_workers_crash_again_and_again_goes_on_alone(kit: Kit) -> None:
    states: list[Any] = []

    @kit.app.task
    async def unlucky(ctx: Context) -> int:
        states.append(ctx.message.id)
        return len(states)

    for _ in range(3):
        kit.crash_worker()
    handle = await unlucky.submit()
    await kit.drain()
    assert await handle.result() == 4


async def test_a_crash_can_wait_for_one_task(kit: Kit) -> None:
    ran: list[str] = []

    @kit.app.task
    async def first() -> None:
        ran.append("first")

    @kit.app.task
    async def second() -> None:
        ran.append("second")

    kit.crash_worker(second)
    await first.submit()
    await kit.drain()
    assert ran == ["first"]
    await second.submit()
    await kit.drain()
    assert ran == ["first", "second", "second"]


async def test_a_handler_that_fails_does_not_use_up_the_crash(kit: Kit) -> None:
    ran: list[int] = []

    @kit.app.task
    async def flaky(ctx: Context) -> None:
        ran.append(ctx.attempt)
        if ctx.attempt == 1:
            raise Retry(after=1)

    kit.crash_worker()
    await flaky.submit()
    await kit.drain()
    assert ran == [1, 2, 2]


async def test_others_beside_the_crash_are_run_again_and_nothing_is_lost(kit: Kit) -> None:
    ran: list[int] = []

    @kit.app.task
    def work(number: int) -> None:
        ran.append(number)

    kit.crash_worker()
    await kit.app.submit_many([work.bind(number) for number in range(30)])
    await kit.drain()
    assert sorted(one.arguments["number"] for one in kit.completed(work)) == list(range(30))
    assert len(ran) > 30


async def test_a_plain_function_beside_a_crash_ends_before_its_message_runs_again(kit: Kit) -> None:
    """In a dead process it would not go on. Here it does, so nobody may run beside it, and its words must not hang."""
    trace: list[str] = []
    crew = kit._open[1]

    @kit.app.task
    def slow(ctx: SyncContext) -> None:
        trace.append("begin")
        while len(trace) == 1 and not crew.is_busy:
            threading.Event().wait(0.001)
        try:
            ctx.checkpoint("kept")
        finally:
            trace.append("end")

    @kit.app.task
    async def fast() -> None:
        while not trace:  # noqa: ASYNC110 - a thread that is at work holds virtual time still
            await asyncio.sleep(0)

    kit.crash_worker(fast)
    await slow.submit()
    await fast.submit()
    await kit.drain()
    assert trace == ["begin", "end", "begin", "end"]


async def test_a_checkpoint_of_a_plain_function_waits_for_the_end_of_an_outage(kit: Kit) -> None:
    """Virtual time goes on while its thread waits for its context."""

    @kit.app.task(max_attempts=1)
    def work(ctx: SyncContext) -> int:
        ctx.checkpoint(7)
        return ctx.last_checkpoint(int) or 0

    kit.fail_broker(seconds=60)
    handle = await work.submit()
    await kit.drain()
    assert await handle.result() == 7


async def test_a_hand_off_goes_out_once_over_a_crash(kit: Kit) -> None:
    mailed: list[str] = []

    @kit.app.task
    async def mail(article: str) -> None:
        mailed.append(article)

    @kit.app.task
    async def publish(ctx: Context, article: str) -> None:
        ctx.submit(mail.bind(article))

    kit.crash_worker(publish)
    await publish.submit("article-1")
    await kit.drain()
    assert mailed == ["article-1"]
    assert len(kit.sent(mail)) == 1


@pytest.mark.parametrize("carried_out", [True, False])
@pytest.mark.parametrize("keyed", [False, True])
async def test_a_lost_ack_runs_nothing_twice(
    kit: Kit, carried_out: bool, keyed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[int] = []

    @kit.app.task
    async def work() -> str:
        ran.append(1)
        return "done"

    kit.lose_next_ack(carried_out=carried_out)
    handle = await (kit.app.submit(work.bind(), key="k") if keyed else work.submit())
    await kit.drain()
    assert ran == [1]
    assert await handle.result() == "done"
    assert len(kit.completed(work)) == 1
    assert ("has lost the answer to broker.ack" if carried_out else "has lost this ack on its way") in caplog.text


async def test_a_lost_lease_lets_the_message_run_again(kit: Kit) -> None:
    runs: list[str] = []

    @kit.app.task
    async def slow(ctx: Context) -> int:
        runs.append("begin")
        try:
            await asyncio.sleep(60)
        finally:
            runs.append("lost" if ctx.lease_lost else "end")
        return len(runs)

    kit.lose_lease()
    handle = await slow.submit()
    await kit.drain()
    assert runs == ["begin", "lost", "begin", "end"]
    assert await handle.result() == 4
    assert events_of(kit, "lease_lost") == 1


async def test_what_a_run_without_a_lease_returns_is_refused(kit: Kit) -> None:
    runs: list[int] = []

    @kit.app.task
    async def quick() -> int:
        runs.append(1)
        return len(runs)

    kit.lose_lease(quick)
    handle = await quick.submit()
    await kit.drain()
    assert await handle.result() == 2
    assert len(kit.completed(quick)) == 1


async def test_an_outage_holds_up_the_ack_and_repeats_nothing(kit: Kit) -> None:
    ran: list[int] = []

    @kit.app.task
    async def work() -> None:
        ran.append(1)

    began = kit.now
    kit.fail_broker(seconds=300)
    await work.submit()
    await kit.drain()
    assert ran == [1]
    assert (kit.now - began).total_seconds() >= 300
    assert len(kit.completed(work)) == 1


async def test_in_an_outage_handlers_cannot_send_either(kit: Kit) -> None:
    seen: list[str] = []

    @kit.app.task
    async def follow() -> None: ...

    @kit.app.task
    async def lead() -> None:
        try:
            await follow.submit()
        except BrokerUnavailable as error:
            seen.append(error.code)
            raise

    kit.fail_broker(seconds=60, task=lead)
    await lead.submit()
    await kit.drain()
    assert seen
    assert set(seen) == {"broker_unavailable"}


async def test_a_crash_within_an_outage_ends_well(kit: Kit) -> None:
    ran: list[float] = []

    @kit.app.task
    async def work() -> None:
        ran.append(kit.clock.now)

    kit.fail_broker(seconds=120)
    kit.crash_worker()
    await work.submit()
    await kit.drain()
    first, second = ran
    assert second - first >= 120  # a new worker cannot come before
    assert len(kit.completed(work)) == 1


# -- faults that prove nothing -----------------------------------------------------------------------


def arm_crash(kit: Kit) -> None:
    kit.crash_worker(when="running", after=3)


def arm_ack(kit: Kit) -> None:
    kit.lose_next_ack("nothing", carried_out=False)


def arm_outage(kit: Kit) -> None:
    kit.fail_broker(seconds=5)


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        (arm_crash, r"kit\.crash_worker\(when='running', after=3\)"),
        (arm_ack, r"kit\.lose_next_ack\('nothing', carried_out=False\)"),
        (arm_outage, r"kit\.fail_broker\(seconds=5\)"),
        (Kit.lose_lease, r"kit\.lose_lease\(\)"),
    ],
)
async def test_a_fault_that_never_strikes_fails_the_test(arm: Callable[[Kit], None], said: str) -> None:
    app = Tenure("memory://")

    @app.task
    async def nothing() -> None: ...

    async def test(error: Exception | None = None) -> None:
        async with Kit(app) as kit:
            await nothing.submit()
            await kit.drain()
            arm(kit)
            if error is not None:
                raise error

    with pytest.raises(KitError, match=rf"{said}: it never happened, so this test proves nothing"):
        await test()
    with pytest.raises(ZeroDivisionError):  # what went wrong before is told instead
        await test(ZeroDivisionError())


async def test_a_fault_needs_a_task_of_this_app_and_a_known_moment(kit: Kit) -> None:
    other = Tenure("memory://")

    @other.task(name="ours")
    async def theirs() -> None: ...

    @kit.app.task
    async def ours() -> None: ...

    with pytest.raises(KitError, match="not a task of this kit's app"):
        kit.crash_worker(theirs)
    with pytest.raises(Exception, match="did you mean 'ours'"):
        kit.crash_worker("hours")
    with pytest.raises(KitError, match="'sometime' is neither"):
        kit.crash_worker(ours, when="sometime")  # type: ignore[arg-type]
