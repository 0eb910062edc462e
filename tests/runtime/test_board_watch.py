"""Noticing: what operators say reaches a worker within about a second."""

import asyncio
import logging
import threading

import pytest

from tenure import BrokerUnavailable, Context, SyncContext
from tenure.client.operator import Operator
from tenure.message import MessageState
from tenure.notice import Notices, Pause
from tenure.runtime.background.board_watch import BoardWatch
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.wire import Wire
from tenure.testing.workers import Stage


class Bench:
    """A reader of the board, and what it said."""

    def __init__(self, harness: Harness, every: float = 1.0) -> None:
        self.wire = Wire(harness.broker, harness.state)
        self.paused: list[frozenset[str]] = []
        self.checks: list[frozenset[str] | None] = []
        self.noticing = BoardWatch(
            self.wire.state.board,
            harness.clock,
            (QUEUE, "other"),
            on_paused=self.paused.append,
            on_cancelled=self.checks.append,
            every=every,
        )


def operator(harness: Harness) -> Operator:
    return Operator(harness.broker, harness.state, harness.clock, by="ada")


# --- the reader -----------------------------------------------------------------------------------------


async def test_it_tells_once_when_a_queue_of_ours_is_paused_and_resumed(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    bench = Bench(harness)
    reading = asyncio.create_task(bench.noticing.run())
    await asyncio.sleep(5)
    assert bench.paused == []
    await operator(harness).pause(QUEUE)
    await operator(harness).pause("a queue of others")
    await asyncio.sleep(1.1)
    assert bench.paused[-1] == frozenset({QUEUE, "a queue of others"})
    await asyncio.sleep(5)
    await operator(harness).resume(QUEUE)
    await asyncio.sleep(1.1)
    assert bench.paused[-1] == frozenset({"a queue of others"})
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        f"queue {QUEUE} was paused by ada: nothing is leased from it until it is resumed",
        f"queue {QUEUE} was resumed",
    ]
    reading.cancel()


async def test_it_looks_as_often_as_it_is_told(harness: Harness) -> None:
    bench = Bench(harness, every=100.0)
    reading = asyncio.create_task(bench.noticing.run())
    await asyncio.sleep(1)
    await operator(harness).pause(QUEUE)
    await asyncio.sleep(90)
    assert bench.paused == []
    await asyncio.sleep(10)
    assert bench.paused == [frozenset({QUEUE})]
    reading.cancel()


async def test_what_was_cancelled_before_the_first_reading_is_no_news(harness: Harness) -> None:
    bench = Bench(harness)
    bench.noticing.take(Notices(cancels=7))
    bench.noticing.take(Notices(cancels=7))
    assert bench.checks == []
    bench.noticing.take(Notices(cancels=9, cancelled=("a", "b")))
    assert len(bench.checks) == 1


@pytest.mark.parametrize(
    ("cancels", "cancelled", "checked"),
    [
        (8, ("a",), {"a"}),
        (9, ("a", "b", "c"), {"a", "b", "c"}),
        (10, ("a", "b"), None),
        (8, (), None),
        (2, ("a", "b"), None),
    ],
    ids=["one", "with older ones", "more than are named", "by an older version", "a store that was put back"],
)
async def test_only_what_was_cancelled_is_checked_where_the_board_names_it(
    harness: Harness, cancels: int, cancelled: tuple[str, ...], checked: set[str] | None
) -> None:
    bench = Bench(harness)
    bench.noticing.take(Notices(cancels=7))
    bench.noticing.take(Notices(cancels=cancels, cancelled=cancelled))
    assert bench.checks == [checked]


async def test_in_a_store_that_was_put_back_cancels_count_from_there(harness: Harness) -> None:
    bench = Bench(harness)
    for notices in (Notices(cancels=7), Notices(cancels=2), Notices(cancels=2), Notices(cancels=3, cancelled=("c",))):
        bench.noticing.take(notices)
    assert bench.checks == [None, {"c"}]


async def test_a_pause_without_a_name_is_told_too(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    Bench(harness).noticing.take(Notices(paused=(Pause(QUEUE, 0.0),)))
    assert f"queue {QUEUE} was paused: nothing" in caplog.text


async def test_a_board_that_is_away_is_asked_again_and_changes_nothing(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    await operator(harness).pause(QUEUE)
    bench = Bench(harness)
    reading = asyncio.create_task(bench.noticing.run())
    await asyncio.sleep(0.1)
    bench.wire.away("board.*")
    await operator(harness).resume(QUEUE)
    await asyncio.sleep(60)
    assert bench.paused == [frozenset({QUEUE})]
    bench.wire.back()
    await asyncio.sleep(1.1)
    assert bench.paused[-1] == frozenset()
    assert caplog.text.count("reading the board") == 2, "once that it is away, once that it is back"
    reading.cancel()


# --- a worker that hears of a pause ---------------------------------------------------------------------


async def test_a_paused_queue_is_never_touched_by_a_new_worker(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        id = await stage.submit(work.bind())
        await operator(harness).pause(QUEUE)
        actor = await stage.start()
        await asyncio.sleep(30)
        assert "broker.lease" not in actor.wire.said
        await operator(harness).resume(QUEUE)
        await asyncio.sleep(1.5)
        assert (await harness.record(id)).state is MessageState.COMPLETED


async def test_a_worker_that_cannot_read_the_board_does_not_start(harness: Harness) -> None:
    async with Stage(harness) as stage:
        wire = stage.wire()
        wire.away("board.*")
        with pytest.raises(BrokerUnavailable):
            await stage.start(wire=wire)
        assert "broker.lease" not in wire.said


async def test_what_runs_goes_on_and_the_other_queues_are_served(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None:
            await asyncio.sleep(10)

        @stage.task(queue="other")
        async def elsewhere() -> None: ...

        running = await stage.submit(work.bind())
        actor = await stage.start(queues=(QUEUE, "other"))
        await stage.until(lambda: actor.worker.in_flight == 1)
        await operator(harness).pause(QUEUE)
        await asyncio.sleep(1.1)
        waiting, other = await stage.submit(work.bind()), await stage.submit(elsewhere.bind())
        await asyncio.sleep(20)
        assert (await harness.record(running)).state is MessageState.COMPLETED
        assert (await harness.record(other)).state is MessageState.COMPLETED
        assert (await harness.record(waiting)).state is MessageState.READY
        await operator(harness).resume(QUEUE)
        await asyncio.sleep(11.5)
        assert (await harness.record(waiting)).state is MessageState.COMPLETED


# --- a worker that hears of a cancel --------------------------------------------------------------------


async def _cancel(harness: Harness, id: str) -> None:
    (cancelled,) = await operator(harness).cancel([id])
    assert cancelled.was is MessageState.LEASED


@pytest.mark.parametrize("key", [None, "k"])
async def test_a_cancelled_message_is_ended_within_about_a_second_and_nothing_is_settled(
    harness: Harness, caplog: pytest.LogCaptureFixture, key: str | None
) -> None:
    caplog.set_level(logging.INFO)
    async with Stage(harness) as stage:
        ended: list[float] = []

        @stage.task(lease=600)
        async def work() -> None:
            try:
                await asyncio.sleep(1e6)
            finally:
                ended.append(harness.clock.monotonic())

        @stage.task(lease=600)
        async def other() -> None:
            await asyncio.sleep(60)

        id = await (stage.submit(work.bind()) if key is None else stage.submit(work.bind(), key=key))
        spared = await stage.submit(other.bind())
        actor = await stage.start()
        await stage.until(lambda: actor.worker.in_flight == 2)
        cancelled_at = harness.clock.monotonic()
        await _cancel(harness, id)
        await stage.until(lambda: bool(ended))
        assert ended[0] - cancelled_at < 1.5, "it was found at the next beat only"
        await asyncio.sleep(1)
        assert actor.counts.get("lease_lost") == 1
        assert (await harness.record(id)).state is MessageState.CANCELLED
        assert "cancelled by ada (api); its run was ended" in caplog.text
        assert not [record for record in caplog.records if record.levelno > logging.INFO]
        assert (await stage.ended(spared)).state is MessageState.COMPLETED


async def test_a_cancelled_message_of_a_loose_broker_is_ended_too(loose: Harness) -> None:
    async with Stage(loose) as stage:

        @stage.task(lease=600)
        async def work() -> None:
            await asyncio.sleep(1e6)

        id = await stage.submit(work.bind())
        actor = await stage.start()
        await stage.until(lambda: actor.worker.in_flight == 1)
        await _cancel(loose, id)
        await asyncio.sleep(1.5)
        assert actor.worker.in_flight == 0
        assert (await loose.record(id)).state is MessageState.CANCELLED


async def test_a_thread_is_told_that_its_message_was_cancelled(harness: Harness) -> None:
    entered, told = threading.Event(), threading.Event()
    async with Stage(harness) as stage:

        @stage.task(lease=600)
        def work(ctx: SyncContext) -> None:
            entered.set()
            for _ in range(5_000):
                if ctx.lease_lost:
                    told.set()
                if told.wait(0.001):
                    return

        id = await stage.submit(work.bind())
        actor = await stage.start()
        while not entered.is_set():  # noqa: ASYNC110 - virtual time stands still while a thread runs
            await asyncio.sleep(0)
        await _cancel(harness, id)
        # Time cannot pass here while the thread runs, so the board is read for the worker.
        actor.worker._path.background.notice(await harness.state.board.read())
        while actor.worker._slots.running:  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0)
        assert told.is_set()
        await asyncio.sleep(1)
        assert (await harness.record(id)).state is MessageState.CANCELLED


async def test_a_result_that_comes_after_the_cancel_is_refused(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(lease=600)
        async def work(ctx: Context) -> str:
            await asyncio.sleep(0.5)  # before the board is read again
            return "too late"

        id = await stage.submit(work.bind())
        actor = await stage.start()
        await asyncio.sleep(0.01)
        await _cancel(harness, id)
        await asyncio.sleep(5)
        record = await harness.record(id)
        assert (record.state, record.result) == (MessageState.CANCELLED, None)
        assert actor.counts.get("late_settle") == 1
