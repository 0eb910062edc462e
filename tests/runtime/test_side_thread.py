"""A second event loop for what must go on while the worker's loop is blocked. Threads: in real time."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec
import pytest

from tenure.adapters import memory
from tenure.clock import SYSTEM_CLOCK
from tenure.lease import LeaseRequest
from tenure.message import Message, Outgoing
from tenure.runtime.background.heartbeat import Heartbeat
from tenure.runtime.background.side_thread import OwnThread, SameLoop, Side
from tenure.runtime.delivery import Delivery

pytestmark = pytest.mark.real_time

#: How long anything that should happen soon may take on a slow machine.
SOON = 30.0


@pytest.fixture(params=[OwnThread, SameLoop])
def side(request: pytest.FixtureRequest) -> Side:
    """Both kinds keep the same promises."""
    made: Side = OwnThread("side") if request.param is OwnThread else SameLoop()
    return made


class Job:
    """Notes what becomes of it."""

    def __init__(self) -> None:
        self.beats = 0
        self.thread: int | None = None
        self.ended = threading.Event()

    async def run(self) -> None:
        self.thread = threading.get_ident()
        try:
            while True:
                self.beats += 1
                await asyncio.sleep(0.01)
        finally:
            self.ended.set()


async def test_jobs_run_until_they_are_stopped(side: Side) -> None:
    jobs = [Job(), Job()]
    await side.start([job.run for job in jobs])
    async with asyncio.timeout(SOON):
        while not all(job.beats > 1 for job in jobs):  # noqa: ASYNC110 - they may be in another thread
            await asyncio.sleep(0.01)
    await side.stop()
    assert all(job.ended.is_set() for job in jobs)


async def test_what_the_jobs_need_is_open_around_them(side: Side) -> None:
    order: list[str] = []

    @asynccontextmanager
    async def around() -> AsyncIterator[None]:
        order.append(f"open in {threading.get_ident()}")
        yield
        order.append(f"closed in {threading.get_ident()}")

    job = Job()
    await side.start([job.run], around)
    async with asyncio.timeout(SOON):
        while not job.beats:  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0.01)
    await side.stop()
    assert order == [f"open in {job.thread}", f"closed in {job.thread}"]


async def test_what_cannot_be_opened_is_told_to_whoever_starts_it(side: Side) -> None:
    class Closed(AbstractAsyncContextManager[None]):
        async def __aenter__(self) -> None:
            msg = "no such file"
            raise OSError(msg)

        async def __aexit__(self, *_: object) -> None: ...

    with pytest.raises(OSError, match="no such file"):
        async with asyncio.timeout(SOON):
            await side.start([Job().run], Closed)
    async with asyncio.timeout(SOON):
        await side.stop()


async def test_what_cannot_be_closed_is_told_to_whoever_stops_it(side: Side) -> None:
    @asynccontextmanager
    async def around() -> AsyncIterator[None]:
        yield
        msg = "disk full"
        raise OSError(msg)

    await side.start([Job().run], around)
    with pytest.raises(OSError, match="disk full"):
        async with asyncio.timeout(SOON):
            await side.stop()


async def test_stopping_what_never_started_is_nothing(side: Side) -> None:
    await side.stop()


async def test_each_job_has_begun_when_the_start_returns() -> None:
    begun = threading.Event()

    async def job() -> None:
        time.sleep(0.05)  # noqa: ASYNC251 - the caller would be faster otherwise
        begun.set()
        await asyncio.Event().wait()

    side = OwnThread("side")
    await side.start([job])
    assert begun.is_set()
    await side.stop()


async def test_a_thread_of_its_own_goes_on_while_the_callers_loop_is_blocked() -> None:
    side, job = OwnThread("side"), Job()
    await side.start([job.run])
    before = job.beats
    until = SYSTEM_CLOCK.monotonic() + SOON
    while job.beats <= before + 5:
        assert SYSTEM_CLOCK.monotonic() < until, "it stands still with the loop"
        time.sleep(0.05)  # noqa: ASYNC251 - what bad handlers do
    assert job.thread != threading.get_ident()
    await side.stop()


async def test_a_heartbeat_keeps_its_leases_while_the_workers_loop_is_blocked() -> None:
    # A machine that stands still for a lease keeps the heartbeat from it, too: then once more, with a longer one.
    assert await _is_kept(0.6) or await _is_kept(3.0) or await _is_kept(6.0)


async def _is_kept(seconds: float) -> bool:
    """Whether a lease of so long is held after twice that, in which this loop stood still."""
    broker, state = memory.connect(clock=SYSTEM_CLOCK)
    heartbeat = Heartbeat(
        broker,
        state.ledger,
        SYSTEM_CLOCK,
        on_lost=lambda _: None,
        on_overheld=lambda _: None,
        on_failed=lambda *_: None,
    )
    side = OwnThread("side")
    await side.start([heartbeat.run])
    message = Message(id="m", queue="q", task="t", body=msgspec.Raw(b"{}"))
    await broker.send([Outgoing(message)])
    (lease,) = await broker.lease(LeaseRequest("o/1", "r", (message.queue,), 1, seconds))
    delivery = Delivery(lease)
    heartbeat.hold([delivery])
    time.sleep(2.2 * seconds)  # noqa: ASYNC251 - two leases long
    record = await state.records.get(message.id)
    is_kept = record is not None and (record.deadline_in or 0.0) > 0.0
    if is_kept:
        (newest,) = await heartbeat.hand_over([delivery])
        assert newest.deadline > lease.deadline + seconds
        await heartbeat_touch_from_another_loop(heartbeat, delivery)
    await side.stop()
    return is_kept


async def heartbeat_touch_from_another_loop(heartbeat: Heartbeat, delivery: Delivery) -> None:
    """A touch crosses from this loop to the heartbeat's and back."""
    heartbeat.hold([delivery])
    async with asyncio.timeout(SOON):
        await heartbeat.touch_now(delivery, 60.0)
    assert heartbeat.deadline(delivery) > SYSTEM_CLOCK.monotonic() + 30
