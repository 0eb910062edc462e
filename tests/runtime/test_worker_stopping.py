"""The worker's end: what it finishes, gives back, and says."""

import asyncio
from typing import Any

import pytest

from tenure import Tenure
from tenure.broker import RETIRE_BATCH
from tenure.key_value import name_of
from tenure.message import MessageState
from tenure.notice import Post, PostKind
from tenure.testing.harness import Harness
from tenure.testing.virtual import VirtualClock
from tenure.testing.workers import Stage

from .at_work import app_with


async def test_leaving_the_block_is_no_second_ask(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.task
    async def work() -> str:
        await asyncio.sleep(10)
        return "finished"

    handle = await work.submit()
    async with app.worker(grace=30) as worker:
        await asyncio.sleep(1)
        worker.ask_to_stop()
    assert (await handle.status()).result == b'"finished"'


async def test_a_cancelled_run_stops_within_the_grace(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.task
    async def work(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "finished"

    short, long = await work.submit(10), await work.submit(1000)
    running = asyncio.create_task(app.worker(grace=20).run())
    await asyncio.sleep(1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await short.status()).result == b'"finished"'
    record = await long.status()
    assert (record.state, record.counters.attempts) == (MessageState.READY, 0)
    assert await app.state.roster.members() == []


async def test_stopping_twice_is_stopping_once(virtual_clock: VirtualClock) -> None:
    worker = app_with(virtual_clock).worker()
    await worker.stop()  # never started: nothing to stop
    await worker.start()
    await asyncio.gather(worker.stop(), worker.stop())
    await worker.stop()
    assert worker.counts["owner_left"] == 1


async def test_whoever_cannot_say_goodbye_ends_all_the_same(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        actor = await stage.start()
        await asyncio.sleep(1)
        actor.wire.away("roster.*")
        async with asyncio.timeout(1):
            await stage.stop(actor)
        assert "could not sign off" in caplog.text
        assert len(asyncio.all_tasks()) == 1


async def test_whoever_stops_retires_itself_and_nobody_has_to_find_it_gone(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        staying, leaving = await stage.start(), await stage.start()
        await asyncio.sleep(1)
        await stage.stop(leaving)
        assert await harness.dead() == {}
        await asyncio.sleep(10)
        events = [stored.event for stored in await harness.state.journal.read()]
        about = [event.kind.value for event in events if event.owner == leaving.worker.owner_id]
        assert about == ["owner_joined", "owner_left"]
        assert staying.counts.get("owner_retired") is None


async def test_nobody_reports_its_own_goodbye_as_that_of_another(harness: Harness) -> None:
    """Its own sweeper would, if it still looked while the goodbye takes its time."""
    retire = harness.broker.retire

    async def slowly(owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Any:
        harness.broker.retire = retire  # type: ignore[method-assign]
        await asyncio.sleep(5)
        return await retire(owner, crashed=crashed, limit=limit)

    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        actor = await stage.start()
        await asyncio.sleep(1)
        harness.broker.retire = slowly  # type: ignore[method-assign]
        await stage.stop(actor)
        assert (actor.counts["owner_left"], actor.counts.get("owner_retired")) == (1, None)


async def test_whoever_cannot_retire_itself_is_retired_by_others(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        staying, leaving = await stage.start(), await stage.start()
        await asyncio.sleep(1)
        leaving.wire.away("broker.retire")
        async with asyncio.timeout(1):
            await stage.stop(leaving)
        await asyncio.sleep(2)
        assert [one.owner.id for one in await harness.state.roster.members()] == [staying.worker.owner_id]
        assert staying.counts.get("owner_retired") is None, "it told everybody that it left, and had nothing"


async def test_what_could_not_be_settled_is_returned_by_the_goodbye_uncounted(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        id = await stage.submit(work.bind())
        wire = stage.wire()
        wire.away("broker.ack")
        actor = await stage.start(wire=wire)
        await asyncio.sleep(1)
        actor.worker.ask_to_stop()
        actor.worker.ask_to_stop()
        await actor.worker.stop()
        record = await harness.record(id)
        assert (record.state, record.counters.crashes, record.counters.attempts) == (MessageState.READY, 0, 0)
        (returned,) = [s.event for s in await harness.state.journal.read() if s.event.kind.value == "requeue"]
        assert (returned.data["ids"], returned.data["triggered_by"]) == ([id], "goodbye")


async def test_nothing_of_a_stopped_worker_goes_on(virtual_clock: VirtualClock) -> None:
    app = app_with(virtual_clock)
    async with app.worker():
        await app.submit("work")
        await asyncio.sleep(5)
    assert len(asyncio.all_tasks()) == 1


async def test_an_abandoned_worker_settles_nothing_and_says_no_goodbye(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None:
            await asyncio.sleep(1000)

        id = await stage.submit(work.bind())
        actor = await stage.start()
        await stage.until(lambda: actor.worker.in_flight == 1)
        await actor.worker.abandon()
        await asyncio.sleep(1)
        assert (await harness.record(id)).owner == actor.worker.owner_id
        assert actor.worker.owner_id in await harness.living()


@pytest.mark.parametrize("kind", [PostKind.DRAIN_WORKER, PostKind.STOP_WORKER])
async def test_a_worker_that_an_operator_has_leave_while_it_starts_leaves(kind: PostKind) -> None:
    """Also one beside other code, where nobody waits for `asked_to_stop`. Its board is read in another thread."""
    app = Tenure("memory://")

    @app.task
    async def work() -> None: ...

    async with app:
        worker = app.worker()
        await app.state.board.post(Post(kind=kind, name=name_of(worker.owner_id), at=app.state.wall(), by="alice"))
        async with worker:
            assert worker.leaving.endswith("by alice")
            tries = 0
            while await app.state.roster.members() and (tries := tries + 1) < 500:  # noqa: ASYNC110 - no event tells it
                await asyncio.sleep(0.01)
            assert tries < 500, "it stays"
