"""Leaving: one worker that an operator drains or stops, found by its id; all others work on."""

import asyncio

from tenure.act import WORKER_DRAINED, WORKER_STOPPED, Act
from tenure.client.operations.workers import WorkerStatus
from tenure.errors import WorkerGone
from tenure.event import EventKind
from tenure.message import MessageState
from tenure.testing.harness import Harness
from tenure.testing.operated import operate_on
from tenure.testing.workers import Stage

#: A worker reads the board once a second.
SOON = 1.6


class Leaving:
    """Drained, stopped, and what it says of itself."""

    async def test_a_drained_worker_finishes_what_runs_and_leases_nothing_more(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            operate = operate_on(harness).bound(by="alice", triggered_by="dashboard")

            @stage.task
            async def work(seconds: float) -> str:
                await asyncio.sleep(seconds)
                return "done"

            runs = [await stage.submit(work.bind(seconds)) for seconds in (5.0, 90.0)]
            actor = await stage.start(concurrency=2, grace=20)
            await stage.until(lambda: actor.worker.in_flight == 2)
            waits = await stage.submit(work.bind(1.0))
            change = await operate.drain_worker(actor.worker.owner_id)
            assert (change.id, change.act, change.changed) == (actor.worker.owner_id, "drain", True)
            assert not (await operate.drain_worker(actor.worker.owner_id)).changed, "it was asked before"

            await asyncio.sleep(10)
            assert await harness.state_of(runs[0]) is MessageState.COMPLETED
            assert await harness.state_of(waits) is MessageState.READY, "it leased once more"
            assert await harness.state_of(runs[1]) is MessageState.LEASED, "a run longer than the grace was ended"
            status = await _status(harness, actor.worker.owner_id)
            assert (status.draining, status.leaving) == (True, "drained by alice (dashboard)")
            assert status.draining_since is not None

            async with asyncio.timeout(100):
                await actor.worker.asked_to_stop()
            await actor.worker.stop()
            assert (await harness.record(runs[1])).result == b'"done"'
            assert actor.worker.leaving == "drained by alice (dashboard)"
            await _has_left(harness, actor.worker.owner_id, "drained by alice (dashboard)")
            assert [act.kind for act in await _acts(harness)] == [WORKER_DRAINED]
            gone = False
            try:
                await operate.drain_worker(actor.worker.owner_id)
            except WorkerGone:
                gone = True
            assert gone, "a worker that is gone was drained"

    async def test_a_stopped_worker_gives_its_handlers_the_grace(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            operate = operate_on(harness).bound(by="bob", triggered_by="cli")

            @stage.task
            async def work(seconds: float) -> None:
                await asyncio.sleep(seconds)

            short, long = await stage.submit(work.bind(10.0)), await stage.submit(work.bind(1000.0))
            actor = await stage.start(grace=20)
            await stage.until(lambda: actor.worker.in_flight == 2)
            await operate.stop_worker(actor.worker.owner_id)
            assert not (await operate.stop_worker(actor.worker.owner_id)).changed
            async with asyncio.timeout(SOON + 1):
                await actor.worker.asked_to_stop()
            async with asyncio.timeout(25):
                await actor.worker.stop()
            assert await harness.state_of(short) is MessageState.COMPLETED
            record = await harness.record(long)
            assert (record.state, record.counters.attempts) == (MessageState.READY, 0)
            await _has_left(harness, actor.worker.owner_id, "stopped by bob (cli)")
            assert [act.kind for act in await _acts(harness)] == [WORKER_STOPPED]

    async def test_one_that_drains_can_be_stopped(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            operate = operate_on(harness)

            @stage.task
            async def work() -> None:
                await asyncio.sleep(1000)

            id = await stage.submit(work.bind())
            actor = await stage.start(grace=5)
            await stage.until(lambda: actor.worker.in_flight == 1)
            await operate.drain_worker(actor.worker.owner_id)
            await asyncio.sleep(60)
            assert await harness.state_of(id) is MessageState.LEASED
            assert (await operate.stop_worker(actor.worker.owner_id)).changed
            async with asyncio.timeout(SOON + 1):
                await actor.worker.asked_to_stop()
            async with asyncio.timeout(10):
                await actor.worker.stop()
            assert await harness.state_of(id) is MessageState.READY

    async def test_only_the_worker_that_is_named_leaves(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            operate = operate_on(harness)

            @stage.task
            async def work() -> None: ...

            leaving, staying = await stage.start(), await stage.start()
            await operate.drain_worker(leaving.worker.owner_id)
            async with asyncio.timeout(SOON + 1):
                await leaving.worker.asked_to_stop()
            await leaving.worker.stop()
            await asyncio.sleep(5)
            assert (await stage.ended(await stage.submit(work.bind()))).state is MessageState.COMPLETED
            assert staying.worker.leaving == ""
            (status,) = (await operate.workers()).workers
            assert (status.id, status.draining, status.draining_since) == (staying.worker.owner_id, False, None)

    async def test_a_worker_says_how_it_does(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            # In the cloud a report is written once a minute.
            every = 60.0 if harness.broker.traits.snapshot_seconds > 1.0 else 5.0

            @stage.task(max_attempts=1)
            async def work(fails: bool) -> None:  # noqa: FBT001 - an argument of a message
                if fails:
                    raise ValueError

            actor = await stage.start()
            first = await _status(harness, actor.worker.owner_id)
            assert (first.rate_per_minute, first.errors_per_minute) == (None, None), "no time has passed yet"
            for number in range(4):
                await stage.submit(work.bind(number == 0))
            await asyncio.sleep(every + 2)
            status = await _status(harness, actor.worker.owner_id)
            minutes = every / 60.0
            assert status.rate_per_minute is not None
            assert status.errors_per_minute is not None
            assert abs(status.rate_per_minute * minutes - 4) < 0.2
            assert abs(status.errors_per_minute * minutes - 1) < 0.05
            assert (status.draining, status.leaving, status.version) == (False, "", first.version)
            await stage.stop(actor)
            assert await harness.state.key_values.list("worker") == [], "its report outlives it"


async def _status(harness: Harness, owner: str) -> WorkerStatus:
    operate = operate_on(harness)
    await asyncio.sleep(0.5)
    return next(one for one in (await operate.workers()).workers if one.id == owner)


async def _acts(harness: Harness) -> list[Act]:
    return [stored.act for stored in await harness.state.acts.read()]


async def _has_left(harness: Harness, owner: str, why: str) -> None:
    await asyncio.sleep(1)
    assert owner not in [one.owner.id for one in await harness.state.roster.members()]
    events = [stored.event for stored in await harness.state.journal.read()]
    left = [event for event in events if event.kind is EventKind.OWNER_LEFT and event.owner == owner]
    assert [event.data.get("reason") for event in left] == [why]
    assert (await harness.state.board.read()).posts == (), "what was asked of it still stands"
