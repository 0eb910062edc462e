"""The worker: starts and stops its parts, and never looks alive when one of them has died."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tenure import BrokerUnavailable, Context, Event, Tenure
from tenure.errors import ConfigurationError
from tenure.message import MessageState
from tenure.runtime.locating import Locator
from tenure.runtime.stopping import HURRY_SECONDS
from tenure.runtime.worker import Worker, WorkerOptions
from tenure.schedule import schedule_from
from tenure.testing.harness import Harness
from tenure.testing.virtual import VirtualClock
from tenure.testing.wire import Wire
from tenure.testing.workers import Actor, Stage
from tenure.verdict import Reject


def nowhere(_task: object) -> Locator:
    raise ConfigurationError


def break_at(actor: Actor, word: str) -> None:
    """From now on that word fails in a way that is no outage."""

    def spy(name: str, _arguments: tuple[Any, ...]) -> None:
        if name in word.split("+"):
            msg = f"a bug in {word}"
            raise ZeroDivisionError(msg)

    actor.wire.spy = spy


# --- parts that die -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word",
    [
        "broker.lease",
        "broker.touch",
        "broker.ack+broker.dead_letter",
        "broker.sweep",
        "roster.dead",
        "journal.append",
        "records.progress",
    ],
)
async def test_a_worker_that_lost_a_part_ends_and_says_so(
    harness: Harness, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Stage(harness) as stage:
        runs: list[None] = []

        @stage.task
        async def work(ctx: Context) -> None:
            runs.append(None)
            ctx.progress(0.5)
            await asyncio.sleep(15 if len(runs) == 1 else 1)

        id = await stage.submit(work.bind())
        actor = await stage.start(concurrency=2)
        await stage.until(lambda: len(runs) == 1)
        break_at(actor, word)
        await asyncio.sleep(30)
        with pytest.raises(ZeroDivisionError, match="a bug in"):
            async with asyncio.timeout(0.1):  # it ended by itself, long ago
                await actor.worker.stop()
        assert "died; the worker stops" in caplog.text
        assert actor.worker.owner_id not in [owner.id for owner in await harness.state.roster.alive()]
        await stage.start()
        assert (await stage.ended(id)).state is MessageState.COMPLETED, "what it held was lost with it"


async def test_run_raises_what_a_part_died_of(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        actor = await stage.start()
        running = asyncio.create_task(_wait_and_stop(actor))
        break_at(actor, "broker.sweep")
        with pytest.raises(ZeroDivisionError):
            async with asyncio.timeout(30):
                await running


async def _wait_and_stop(actor: Actor) -> None:
    """What `run` does after `start`."""
    await actor.worker.asked_to_stop()
    await actor.worker.stop()


async def test_what_cannot_be_settled_is_put_aside_and_ends_nobody(harness: Harness) -> None:
    """One message must not end every worker that gets it."""
    async with Stage(harness) as stage:

        @stage.task
        async def work(number: int) -> int:
            return number

        ids = [await stage.submit(work.bind(number)) for number in range(5)]
        actor = await stage.start(concurrency=5)

        def spy(name: str, arguments: tuple[Any, ...]) -> None:
            if name == "broker.ack" and any(ack.lease.id == ids[2] for ack in arguments[0]):
                msg = "this one cannot be stored"
                raise OverflowError(msg)

        actor.wire.spy = spy
        records = [await stage.ended(id) for id in ids]
        assert [record.state.value for record in records].count("completed") == 4
        assert records[2].reason is not None
        assert (records[2].reason.code, records[2].state.value) == ("unsettleable", "dead")
        await actor.worker.stop()


async def test_a_handler_that_raises_what_ends_programs_ends_only_itself(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(max_attempts=1)
        async def work(kind: str) -> None:
            raise {"keyboard": KeyboardInterrupt, "exit": SystemExit, "generator": GeneratorExit}[kind]

        ids = [await stage.submit(work.bind(kind)) for kind in ("keyboard", "exit", "generator")]
        await stage.start()
        records = [await stage.ended(id) for id in ids]
        assert [record.reason.code for record in records if record.reason is not None] == ["max_attempts"] * 3


async def test_where_lease_and_claim_are_one_only_the_dead_lettering_frees_the_key(harness: Harness) -> None:
    """A worker that is no longer the holder must not free it by a call of its own."""
    async with Stage(harness) as stage:
        words: list[str] = []

        @stage.task
        async def work() -> None:
            msg = "never"
            raise Reject(msg)

        id = await stage.submit(work.bind(), key="k")
        actor = await stage.start()
        actor.wire.spy = lambda name, _arguments: words.append(name)
        assert (await stage.ended(id)).state.value == "dead"
        await asyncio.sleep(1)
        assert harness.traits.settles_exactly_once
        assert "broker.dead_letter" in words
        assert "ledger.forget" not in words


async def test_a_part_that_is_cancelled_by_others_ends_the_worker(harness: Harness) -> None:
    async with Stage(harness) as stage:
        actor = await stage.start()
        await asyncio.sleep(1)
        actor.worker._jobs[1].cancel()  # the outbox
        await asyncio.sleep(1)
        with pytest.raises(RuntimeError, match="not by the worker"):
            await actor.worker.stop()


async def test_without_an_outbox_the_end_does_not_wait_for_it(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None:
            await asyncio.sleep(1)

        await stage.submit(work.bind())
        actor = await stage.start(grace=1000)
        await stage.until(lambda: actor.worker.in_flight == 1)
        break_at(actor, "broker.ack+broker.dead_letter")
        await asyncio.sleep(1.5)
        with pytest.raises(ZeroDivisionError):
            async with asyncio.timeout(HURRY_SECONDS + 1):
                await actor.worker.stop()


# --- starting -------------------------------------------------------------------------------------------


def app_with(clock: VirtualClock, **options: Any) -> Tenure:
    app = Tenure("memory://", clock=clock, **options)

    @app.task
    async def work(ctx: Context) -> object:
        return ctx.state

    return app


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
    await asyncio.wait_for(running, 0.1)
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


class Twinned:
    """A broker (or state) whose twin is a connection of its own."""

    def __init__(self, inner: Any, log: list[str], name: str) -> None:
        self._inner, self._log, self._name = inner, log, name

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._inner, verb)

    def twin(self) -> "Twinned":
        return Twinned(self._inner, self._log, f"{self._name} twin")

    async def open(self) -> None:
        self._log.append(f"{self._name} opened")

    async def close(self) -> None:
        self._log.append(f"{self._name} closed")


def make_worker(broker: Any, state: Any, app: Tenure, clock: VirtualClock, **more: Any) -> Worker:
    async def opening() -> None: ...

    options = WorkerOptions(queues=(app.queue,), own_thread=False)
    return Worker(broker, state, app.tasks, clock, options, opening=opening, locate=nowhere, **more)


async def test_the_twins_are_opened_and_closed_with_the_side_jobs(virtual_clock: VirtualClock) -> None:
    app = app_with(virtual_clock)
    log: list[str] = []
    broker, state = Twinned(app.broker, log, "broker"), Twinned(app.state, log, "state")
    worker = make_worker(broker, state, app, virtual_clock)
    await worker.start()
    assert log == ["broker twin opened", "state twin opened"]
    await worker.stop()
    assert sorted(log[2:]) == ["broker twin closed", "state twin closed"]


# --- stopping -------------------------------------------------------------------------------------------


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
    assert await app.state.roster.alive() == []


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
        assert "could not say goodbye" in caplog.text
        assert len(asyncio.all_tasks()) == 1


async def test_whoever_stops_retires_itself_and_nobody_has_to_find_it_gone(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        staying, leaving = await stage.start(), await stage.start()
        await asyncio.sleep(1)
        await stage.stop(leaving)
        assert await harness.state.roster.dead() == []
        await asyncio.sleep(10)
        events = [stored.event for stored in await harness.state.journal.read()]
        about = [event.kind.value for event in events if event.owner == leaving.worker.owner_id]
        assert about == ["owner_joined", "owner_left"]
        assert staying.counts.get("owner_retired") is None


async def test_nobody_reports_its_own_goodbye_as_that_of_another(harness: Harness) -> None:
    """Its own sweeper would, if it still looked while the goodbye takes its time."""
    retire = harness.broker.retire

    async def slowly(owner: str, *, crashed: bool) -> Any:
        harness.broker.retire = retire  # type: ignore[method-assign]
        await asyncio.sleep(5)
        return await retire(owner, crashed=crashed)

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
        assert await harness.state.roster.dead() == []
        assert leaving.worker.owner_id not in [owner.id for owner in await harness.state.roster.alive()]
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
        assert actor.worker.owner_id in [owner.id for owner in await harness.state.roster.alive()]


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
