"""`drain` and `advance`: what happens in them, what does not, and when they give up."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from tenure import Context, Retry, SyncContext, Tenure
from tenure.middleware import Run
from tenure.testing import Kit, KitError, patience


async def test_a_message_waits_until_the_kit_is_drained(kit: Kit) -> None:
    ran: list[int] = []

    @kit.app.task
    async def note(number: int) -> None:
        ran.append(number)

    await note.submit(1)
    await asyncio.sleep(60)
    assert ran == []
    await kit.drain()
    assert ran == [1]
    await note.submit(2)
    await asyncio.sleep(60)
    assert ran == [1]
    await kit.drain()
    assert ran == [1, 2]


async def test_the_delays_of_retries_pass_in_virtual_time(kit: Kit) -> None:
    began: list[datetime] = []

    @kit.app.task(max_attempts=3)
    async def stubborn() -> str:
        began.append(kit.now)
        if len(began) < 3:
            raise Retry(after=timedelta(days=2))
        return "at last"

    handle = await stubborn.submit()
    await kit.drain()
    assert await handle.result() == "at last"
    assert [later - earlier for earlier, later in pairwise(began)] == [
        pytest.approx(timedelta(days=2), abs=timedelta(seconds=1))
    ] * 2


async def test_what_its_sender_delayed_stays_until_its_time(kit: Kit) -> None:
    ran: list[datetime] = []

    @kit.app.task
    async def remind() -> None:
        ran.append(kit.now)

    began = kit.now
    await kit.app.submit(remind.bind(), delay=3600)
    await kit.app.submit(remind.bind(), at=began + timedelta(hours=2))
    await kit.drain()
    assert ran == []
    assert len(kit.waiting(remind)) == 2
    await kit.advance(hours=1)
    assert len(ran) == 1
    await kit.advance(hours=1)
    assert [round((at - began).total_seconds()) for at in ran] == [3600, 7200]


async def test_what_handlers_hand_on_is_drained_too(kit: Kit) -> None:
    ran: list[int] = []

    @kit.app.task
    async def count_down(ctx: Context, number: int) -> None:
        ran.append(number)
        if number:
            ctx.submit(count_down.bind(number - 1))

    await count_down.submit(3)
    await kit.drain()
    assert ran == [3, 2, 1, 0]
    assert [one.arguments for one in kit.sent(count_down)] == [{"number": number} for number in (3, 2, 1, 0)]


async def test_schedules_tick_while_time_is_advanced(kit: Kit) -> None:
    ticks: list[str] = []

    @kit.app.task
    async def report(ctx: Context) -> None:
        assert ctx.scheduled_for is not None
        ticks.append(f"{ctx.scheduled_for:%a %H:%M}")

    kit.app.schedule(report.bind(), cron="30 9 * * 1-5")
    await kit.advance(days=5)  # from a Thursday on
    assert ticks == ["Thu 09:30", "Fri 09:30", "Mon 09:30"]
    await kit.drain()
    assert len(ticks) == 3


async def test_a_long_handler_goes_on_in_the_next_advance(kit: Kit) -> None:
    @kit.app.task
    async def bake() -> str:
        await asyncio.sleep(5400)
        return "bread"

    handle = await bake.submit()
    await kit.advance(hours=1)
    assert (await handle.status()).state == "leased"
    await kit.advance(hours=1)
    assert await handle.result() == "bread"
    assert kit.completed(bake)[0].runs == 1


async def test_advance_takes_as_long_as_it_says(kit: Kit) -> None:
    @kit.app.task
    async def nothing() -> None: ...

    began = kit.now
    await kit.advance(days=1, hours=2, minutes=3, seconds=4)
    assert (kit.now - began).total_seconds() == pytest.approx(26 * 3600 + 184, abs=0.1)


async def test_years_may_pass(kit: Kit) -> None:
    ticks: list[str] = []

    @kit.app.task
    async def birthday() -> None:
        ticks.append(f"{kit.now:%Y-%m-%d %H:%M}")

    kit.app.schedule(birthday.bind(), cron="0 0 10 12 *")
    await kit.advance(days=3 * 365 + 1)
    assert ticks == [f"{year}-12-10 00:00" for year in range(2026, 2029)]
    await asyncio.sleep(1)


async def test_a_queue_that_is_paused_is_left_alone(kit: Kit) -> None:
    @kit.app.task
    async def nothing() -> None: ...

    operator = kit.app._client.operator(by="test")
    await nothing.submit()
    await operator.pause(nothing.queue)
    await kit.drain()
    assert len(kit.waiting()) == 1
    await operator.resume(nothing.queue)
    await kit.drain()
    assert len(kit.completed()) == 1


async def test_tasks_may_be_added_between_drains(kit: Kit) -> None:
    @kit.app.task
    async def early() -> None: ...

    await early.submit()
    await kit.drain()

    @kit.app.task(queue="another")
    async def late() -> None: ...

    await late.submit()
    await kit.drain()
    assert [one.task for one in kit.completed()] == ["early", "late"]


@pytest.mark.parametrize("runs_in", [None, "process"])
async def test_plain_functions_run_in_a_thread_of_this_process(kit: Kit, runs_in: Any) -> None:
    names: list[str] = []

    def here(ctx: SyncContext) -> str:
        names.append(threading.current_thread().name)
        ctx.checkpoint("kept")
        return str(ctx.last_checkpoint())

    task = kit.app.task(**({} if runs_in is None else {"runs_in": runs_in}))(here)
    handle = await task.submit()
    await kit.drain()
    assert await handle.result() == "kept"
    assert names
    assert names[0] != threading.main_thread().name


async def test_a_process_handler_that_fails_is_tried_again(kit: Kit) -> None:
    tries: list[int] = []

    @kit.app.task(runs_in="process", max_attempts=2)
    def failing() -> None:
        tries.append(1)
        next(iter(()))  # StopIteration: no future can carry it

    await failing.submit()
    await kit.drain()
    assert len(tries) == 2
    assert [one.reason.code for one in kit.dead(failing) if one.reason] == ["max_attempts"]


@pytest.mark.parametrize("runs_in", ["loop", "process"])
async def test_middleware_and_lifespan_are_there(runs_in: Any) -> None:
    life: list[str] = []

    @contextlib.asynccontextmanager
    async def lifespan(_app: Tenure) -> AsyncIterator[str]:
        life.append("opened")
        yield "state"
        life.append("closed")

    async def loud(ctx: Context, run: Run) -> Any:
        return f"{await run()}!"

    app = Tenure("memory://", lifespan=lifespan, middleware=[loud])

    @app.task(runs_in=runs_in)
    async def tell(ctx: Context) -> str:
        return str(ctx.state)

    async with Kit(app) as kit:
        for _ in range(2):
            await tell.submit()
            await kit.drain()
        assert [one.result for one in kit.completed()] == ["state!", "state!"]
        assert life == ["opened"]
    assert life == ["opened", "closed"]
    assert app.middleware == [loud]


async def test_a_lifespan_that_fails_is_told_to_the_test_each_time() -> None:
    def lifespan(_app: Tenure) -> Any:
        raise OSError("no database")

    app = Tenure("memory://", lifespan=lifespan)

    @app.task
    async def nothing() -> None: ...

    async with Kit(app) as kit:
        await nothing.submit()
        for _ in range(2):
            with pytest.raises(OSError, match="no database"):
                await kit.drain()


# -- giving up ---------------------------------------------------------------------------------------


async def test_a_handler_that_retries_for_ever_is_named(kit: Kit) -> None:
    @kit.app.task(max_attempts=1_000_000)
    async def stubborn() -> None:
        raise Retry(after=1)

    handle = await stubborn.submit()
    with pytest.raises(KitError, match=rf"after 50 runs of handlers .* stubborn {handle.id} .*run 5\d"):
        await kit.drain(runs=50)


@pytest.mark.timeout(60)
async def test_a_handler_that_submits_itself_for_ever_is_named_though_no_time_passes(kit: Kit) -> None:
    ran: list[int] = []

    @kit.app.task
    async def endless(ctx: Context) -> None:
        ran.append(1)
        ctx.submit(endless.bind())

    await endless.submit()
    with pytest.raises(KitError, match=r"after 20 runs of handlers these messages go on: endless"):
        await kit.drain(runs=20)
    assert len(ran) == 20  # counted where they begin: not one more
    with pytest.raises(KitError, match=r"after 5 runs"):
        await kit.drain(runs=5)
    assert len(ran) == 25


async def test_a_drain_may_take_exactly_as_many_runs_as_it_was_given(kit: Kit) -> None:
    @kit.app.task
    async def nothing() -> None: ...

    await kit.app.submit_many([nothing.bind()] * 40)
    await kit.drain(runs=40)
    assert len(kit.completed(nothing)) == 40


@pytest.mark.timeout(60)
async def test_an_advance_that_does_not_get_on_names_who_runs_for_ever(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.testing.kit.MOST_RUNS", 100)

    @kit.app.task
    async def endless(ctx: Context) -> None:
        ctx.submit(endless.bind())

    await endless.submit()
    with pytest.raises(KitError, match=r"this advance does not get on: .*endless"):
        await kit.advance(hours=1)


async def test_a_drain_that_takes_too_much_virtual_time_is_ended(kit: Kit) -> None:
    @kit.app.task
    async def patient() -> None:
        raise Retry(after=timedelta(days=40))

    await patient.submit()
    with pytest.raises(KitError, match=r"after 30 days, 0:00:00 of virtual time these messages go on: patient"):
        await kit.drain()


async def test_a_handler_that_never_returns_is_named(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "MOST_RUNNING", timedelta(minutes=30))  # six hours take ten seconds

    @kit.app.task
    async def hangs() -> None:
        await asyncio.Event().wait()

    await hangs.submit()
    with pytest.raises(KitError, match=r"after 0:30:00 of virtual time these messages go on: hangs .*leased"):
        await kit.drain()


async def test_waiting_for_a_result_while_nobody_works_is_an_error_and_no_hang(kit: Kit) -> None:
    @kit.app.task
    async def nothing() -> None: ...

    handle = await nothing.submit()
    with pytest.raises(KitError, match=rf"message {handle.id} is ready, and no worker runs: await kit\.drain\(\)"):
        await handle.result()
    await kit.drain()
    await handle.result()


async def test_asking_for_many_results_is_no_mistake(kit: Kit) -> None:
    @kit.app.task
    async def nothing() -> None: ...

    handles = await kit.app.submit_many([nothing.bind()] * 1500)
    for handle in handles:
        assert not (await handle.status()).is_finished
    await kit.drain()
    for _ in range(1500):
        assert (await handles[0].status()).is_finished


async def test_a_drain_within_a_handler_is_refused(kit: Kit) -> None:
    @kit.app.task(max_attempts=1)
    async def recursive() -> None:
        await kit.drain()

    await recursive.submit()
    await kit.drain()
    (dead,) = kit.dead(recursive)
    assert dead.reason is not None
    assert "for the test alone" in dead.reason.text


async def test_an_advance_must_go_somewhere(kit: Kit) -> None:
    @kit.app.task
    async def nothing() -> None: ...

    with pytest.raises(KitError, match=r"say how much time passes"):
        await kit.advance()


async def test_an_app_without_tasks_is_said(kit: Kit) -> None:
    with pytest.raises(KitError, match="a fixture named tenure_app"):
        await kit.drain()
    with pytest.raises(KitError, match="a fixture named tenure_app"):
        await kit.advance(hours=1)
