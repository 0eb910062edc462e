"""The worker: starts the path and what runs beside it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tenure import BrokerUnavailable, Context, Event, Tenure
from tenure.message import MessageState
from tenure.probe import SYSTEM_PROBE
from tenure.runtime.stopping import HURRY_SECONDS
from tenure.tasks.schedule import schedule_from
from tenure.testing.harness import Harness
from tenure.testing.virtual import VirtualClock
from tenure.testing.wire import Wire
from tenure.testing.workers import Stage

from .at_work import Twinned, app_with, make_worker

# --- starting -------------------------------------------------------------------------------------------


@asynccontextmanager
async def never_closing(_app: Tenure) -> AsyncIterator[None]:
    """As of a pool whose server does not answer."""
    yield
    await asyncio.sleep(1e6)


async def test_a_lifespan_that_hangs_holds_the_worker_up_for_the_grace(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    app = app_with(virtual_clock, lifespan=never_closing)
    async with app.worker(grace=20):
        began = virtual_clock.now
    assert 20 <= virtual_clock.now - began < 21
    (line,) = [record.getMessage() for record in caplog.records if "lifespan" in record.getMessage()]
    assert "20 s" in line


async def test_asked_a_second_time_a_lifespan_that_hangs_is_cancelled_at_once(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    app = app_with(virtual_clock, lifespan=never_closing)
    worker = app.worker(grace=1000)
    running = asyncio.create_task(worker.run())
    await asyncio.sleep(1)
    worker.ask_to_stop()
    await asyncio.sleep(10)
    assert not running.done()
    worker.ask_to_stop()
    async with asyncio.timeout(0.1):
        await running
    assert [record.levelname for record in caplog.records if "lifespan" in record.getMessage()] == ["ERROR"]


@pytest.mark.parametrize("grace", [0, 1000])
async def test_a_lifespan_has_some_seconds_however_much_of_a_hurry_there_is(
    virtual_clock: VirtualClock, grace: float
) -> None:
    closed: list[None] = []

    @asynccontextmanager
    async def lifespan(_app: Tenure) -> AsyncIterator[None]:
        yield
        await asyncio.sleep(HURRY_SECONDS / 2)
        closed.append(None)

    app = app_with(virtual_clock, lifespan=lifespan)
    worker = app.worker(grace=grace)
    await worker.start()
    worker.ask_to_stop()
    worker.ask_to_stop()
    await worker.stop()
    assert closed


async def test_what_a_lifespan_raises_at_its_end_is_raised(virtual_clock: VirtualClock) -> None:
    @asynccontextmanager
    async def lifespan(_app: Tenure) -> AsyncIterator[None]:
        yield
        msg = "the pool did not answer"
        raise TimeoutError(msg)

    app = app_with(virtual_clock, lifespan=lifespan)
    with pytest.raises(TimeoutError, match="the pool"):
        async with app.worker():
            pass


async def test_the_lifespan_is_open_while_it_works_and_its_value_reaches_handlers(virtual_clock: VirtualClock) -> None:
    order: list[str] = []

    @asynccontextmanager
    async def lifespan(_app: Tenure) -> AsyncIterator[str]:
        order.append("open")
        yield "the pool"
        order.append("closed")

    app = app_with(virtual_clock, lifespan=lifespan)
    handle = await app.submit("work")
    async with app.worker():
        await asyncio.sleep(1)
        assert order == ["open"]
        assert (await handle.status()).result == b'"the pool"'
    assert order == ["open", "closed"]


async def test_a_start_that_fails_leaves_nothing_open(virtual_clock: VirtualClock) -> None:
    order: list[str] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        order.append("open")
        yield
        order.append("closed")

    app = app_with(virtual_clock)
    wire = Wire(app.broker, app.state)
    wire.away("roster.join")
    worker = make_worker(wire.broker, wire.state, app, virtual_clock, lifespan=lifespan)
    with pytest.raises(BrokerUnavailable):
        await worker.start()
    assert order == ["open", "closed"]
    await worker.stop()
    assert len(asyncio.all_tasks()) == 1


async def test_it_leases_nothing_before_it_is_on_the_roster(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        actor = await stage.start()
        await asyncio.sleep(1)
        assert actor.wire.said.index("roster.join") < actor.wire.said.index("broker.lease")


async def test_a_worker_that_cannot_join_again_leases_nothing_without_presence(harness: Harness) -> None:
    async with Stage(harness) as stage:
        owners: list[str] = []

        @stage.task
        async def work() -> None: ...

        def spy(name: str, arguments: tuple[Any, ...]) -> None:
            if name == "broker.lease":
                owners.append(arguments[0].owner)

        actor = await stage.start()
        await asyncio.sleep(1)
        old = actor.worker.owner_id
        actor.wire.spy = spy
        actor.wire.away("roster.join")
        await harness.broker.retire(old, crashed=True)
        id = await stage.submit(work.bind())
        await asyncio.sleep(30)
        assert set(owners) == {old}, "it leased under a name that is not on the roster"
        actor.wire.back()
        assert (await stage.ended(id)).state is MessageState.COMPLETED


# --- the side -------------------------------------------------------------------------------------------


async def test_the_twins_are_opened_and_closed_with_the_side_jobs(virtual_clock: VirtualClock) -> None:
    app = app_with(virtual_clock)
    log: list[str] = []
    broker, state = Twinned(app.broker, log, "broker"), Twinned(app.state, log, "state")
    worker = make_worker(broker, state, app, virtual_clock)
    await worker.start()
    assert log == ["broker twin opened", "state twin opened"]
    await worker.stop()
    assert sorted(log[2:]) == ["broker twin closed", "state twin closed"]


# --- schedules ------------------------------------------------------------------------------------------


async def test_a_worker_sends_what_is_scheduled_and_ends_with_it(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)
    runs: list[str | None] = []

    @app.task
    async def work(ctx: Context) -> None:
        runs.append(ctx.message.client)

    schedule = schedule_from("often", work.bind(), every=10)
    worker = make_worker(app.broker, app.state, app, virtual_clock, schedules=lambda: [schedule], client="ada")
    await worker.start()
    await asyncio.sleep(35)
    assert runs == ["ada"] * 3
    await worker.stop()
    await asyncio.sleep(100)
    assert len(runs) == 3
    assert len(asyncio.all_tasks()) == 1


async def test_a_worker_whose_scheduler_died_ends(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        class Broken:
            name = "broken"

        actor = await stage.start(schedules=[Broken()])
        await asyncio.sleep(5)
        with pytest.raises(AttributeError):
            await actor.worker.stop()


# --- telling --------------------------------------------------------------------------------------------


async def test_sinks_and_journal_hear_the_same(virtual_clock: VirtualClock) -> None:
    class Notebook:
        def __init__(self) -> None:
            self.seen: list[Event] = []

        def publish(self, events: Sequence[Event]) -> None:
            self.seen += events

    notebook = Notebook()
    app = app_with(virtual_clock)
    await app.submit("work")
    async with app.worker(sinks=[notebook]) as worker:
        await asyncio.sleep(1)
    kinds = [event.kind.value for event in notebook.seen]
    assert kinds == ["owner_joined", "completed", "owner_left"]
    assert [stored.event for stored in await app.state.journal.read()] == notebook.seen
    assert worker.counts == {"owner_joined": 1, "completed": 1, "owner_left": 1}


async def test_its_owner_tells_what_a_witness_and_a_manager_need(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.task
    async def work() -> None: ...

    owner = app.worker(slot="pod/a").owner
    me = SYSTEM_PROBE.me()
    assert (owner.pid, owner.boot_id, owner.pid_namespace) == (me.pid, me.boot_id, me.pid_namespace)
    assert (owner.process_start, owner.slot) == (me.start, "pod/a")


async def test_its_slot_comes_from_the_environment_unless_it_is_given(
    virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_SLOT", "unit-1")
    app = Tenure("memory://", clock=virtual_clock)

    @app.task
    async def work() -> None: ...

    assert [app.worker().owner.slot, app.worker(slot="").owner.slot] == ["unit-1", ""]
