"""The supervisor, with children that live and die as the test says, in virtual time.

Real ones are in `tests/scenarios/test_supervising.py`. Every test names `harness`: that opens its store.
"""

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from tenure.broker import Broker
from tenure.event import EventKind
from tenure.runtime.processes.child_process import ChildFailed
from tenure.runtime.processes.frames import Frame
from tenure.runtime.supervisor import protocol, supervisor
from tenure.runtime.supervisor.shared_status import RunningNote
from tenure.runtime.supervisor.supervisor import Supervisor
from tenure.runtime.supervisor.worker_process import Hear, ProcessChange, WorkerProcess
from tenure.state import State
from tenure.testing.harness import Harness
from tenure.testing.wire import Wire


class Child:
    """Stands in for a worker."""

    def __init__(self, number: int, now: float) -> None:
        self.number = number
        self.pid = 1000 + number
        self.started_at = now
        self.owner = None
        self.has_worked = False
        self.left = ""
        self.frozen = False
        self.keeping = None
        self.beating = None
        self.note: RunningNote | None = None
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.told: list[Frame] = []
        self.signals: list[signal.Signals] = []

    def look(self) -> ProcessChange | None:
        return None

    def tell(self, frame: Frame) -> None:
        self.told.append(frame)

    def send(self, number: signal.Signals) -> None:
        if not self.ended.done():
            self.signals.append(number)
            if number is signal.SIGKILL:
                self.ended.set_result(-9)

    async def close(self) -> None: ...


class Family:
    """A supervisor and every child it ever had."""

    def __init__(self, harness: Harness, monkeypatch: pytest.MonkeyPatch, processes: int = 1, **options: bool) -> None:
        self.harness = harness
        self.wire = Wire(harness.broker, harness.state)
        self.children: list[Child] = []
        #: What each child does as soon as it is there.
        self.upbringing: Callable[[Child], int | None] = self.work
        self.hear: Hear | None = None
        monkeypatch.setattr(supervisor, "spawn", self._spawn)
        self.supervisor = Supervisor(
            lambda number: ["worker", str(number)],
            processes=processes,
            clock=harness.clock,
            connect=self._connect,
            **options,
        )
        self.running = asyncio.create_task(self.supervisor.run())

    def _connect(self, url: str) -> tuple[Broker, State]:
        assert url == "memory://here"
        return self.wire.broker, self.wire.state

    async def _spawn(self, number: int, words: Sequence[str], hear: Hear, *, keeps_leases: bool, now: float) -> Child:
        child = Child(number, now)
        self.children.append(child)
        self.hear = hear
        exit_code = self.upbringing(child)
        if exit_code is None:
            await hear(cast("WorkerProcess", child), protocol.Arrived("memory://here"))
            await hear(cast("WorkerProcess", child), protocol.Working())
        else:
            child.ended.set_result(exit_code)
        return child

    def work(self, child: Child) -> None:
        """What children are for."""
        child.note = RunningNote(f"w-{child.number}/{len(self.children)}")

    async def stop(self) -> int:
        self.supervisor.ask_to_stop()
        for child in self.children:
            if not child.ended.done():
                child.ended.set_result(0)
        return await self.running


@pytest.fixture
def family(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Family]:
    return lambda processes=1, **options: Family(harness, monkeypatch, processes, **options)


Make = Callable[..., Family]


async def test_who_dies_young_is_started_more_slowly_each_time_and_a_long_life_is_forgiven(
    family: Make, harness: Harness
) -> None:
    one = family()
    pauses = []
    for lived in (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 61, 1):
        await asyncio.sleep(0.001)
        child, count = one.children[-1], len(one.children)
        await asyncio.sleep(lived)
        died = one.harness.clock.monotonic()
        child.ended.set_result(1)
        while len(one.children) == count:  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(0.01)
        pauses.append(round(one.children[-1].started_at - died, 1))
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 0.1, 0.2]
    assert await one.stop() == 0


async def test_the_others_wait_until_the_first_has_shown_that_it_can_be_done(family: Make, harness: Harness) -> None:
    three = family(3)
    three.upbringing = lambda _: 2
    assert await three.running == 2
    assert len(three.children) == 1

    three = family(3)
    await asyncio.sleep(0.01)
    assert [child.number for child in three.children] == [1, 2, 3]
    assert await three.stop() == 0


@pytest.mark.parametrize("exit_code", [1, 2, 70])
async def test_a_child_that_says_why_it_cannot_start_ends_the_supervisor(
    family: Make, harness: Harness, exit_code: int
) -> None:
    one = family()
    one.upbringing = lambda _: exit_code
    assert await one.running == exit_code
    assert len(one.children) == 1


async def test_once_one_has_worked_only_a_bad_configuration_ends_the_others(family: Make, harness: Harness) -> None:
    two = family(2)
    await asyncio.sleep(0.01)
    two.upbringing = lambda _: 1  # the broker is away, say
    two.children[1].ended.set_result(-9)
    await asyncio.sleep(5)
    assert not two.running.done()
    assert len(two.children) > 4
    two.upbringing = lambda _: 2
    await asyncio.sleep(30)
    assert two.children[0].signals == [signal.SIGTERM]
    two.children[0].ended.set_result(0)
    assert await two.running == 2


async def test_children_that_die_without_a_word_before_any_has_worked_are_given_up(
    family: Make, harness: Harness
) -> None:
    one = family()
    one.upbringing = lambda _: -11
    with pytest.raises(ChildFailed, match="the last one was killed by signal 11"):
        await one.running
    assert len(one.children) == supervisor.HOPELESS_DEATHS


async def test_what_a_dead_child_held_is_returned_counted_and_told(
    family: Make, harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    one = family()
    await asyncio.sleep(0.01)
    lease = await harness.leased("w-1/1", seconds=600)
    one.children[0].note = RunningNote("w-1/1", (lease.id,), 3)
    one.children[0].ended.set_result(-9)
    await asyncio.sleep(0.05)
    record = await harness.record(lease.id)
    assert (record.state, record.counters.crashes) == ("ready", 1)
    told = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert told == [
        f"process 1 (pid 1001) was killed by signal 9 (SIGKILL) while it ran {lease.id} and 3 more; 1 message returned"
    ]
    events = [stored.event for stored in await harness.state.journal.read()]
    assert [event.kind for event in events] == [EventKind.OWNER_RETIRED, EventKind.REQUEUE]
    assert events[1].data["triggered_by"] == "supervisor"
    assert await one.stop() == 0


async def test_while_the_broker_is_away_the_next_child_starts_and_the_return_is_tried_again(
    family: Make, harness: Harness
) -> None:
    one = family()
    await asyncio.sleep(0.01)
    lease = await harness.leased("w-1/1", seconds=600)
    one.children[0].note = RunningNote("w-1/1", (lease.id,))
    one.wire.away()
    one.children[0].ended.set_result(-9)
    await asyncio.sleep(10)
    assert len(one.children) == 2
    assert (await harness.record(lease.id)).state == "leased"
    one.wire.back()
    await asyncio.sleep(3)
    assert (await harness.record(lease.id)).state == "ready"
    assert await one.stop() == 0


async def test_a_clean_end_is_no_crash_and_where_all_is_done_nobody_takes_its_place(
    family: Make, harness: Harness
) -> None:
    one = family()
    await asyncio.sleep(0.01)
    lease = await harness.leased("w-1/1", seconds=600)
    one.children[0].ended.set_result(0)
    await asyncio.sleep(1)
    assert len(one.children) == 2
    assert (await harness.record(lease.id)).state == "leased"
    assert one.supervisor.deaths == 0
    assert await one.stop() == 0

    one = family(until_done=True)
    await asyncio.sleep(0.01)
    one.children[0].ended.set_result(0)
    assert await one.running == 0
    assert len(one.children) == 1


async def test_a_child_that_an_operator_had_leave_is_not_replaced(
    family: Make, harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    reasons = ("drained by alice (dashboard)", "stopped by bob")
    two = family(2)
    await asyncio.sleep(0.01)
    for place, (left, child) in enumerate(zip(reasons, two.children, strict=True)):
        assert two.hear is not None
        await two.hear(cast("Any", child), protocol.Farewell({}, {}, left))
        child.ended.set_result(0)
        await asyncio.sleep(60)
        assert two.running.done() == bool(place)
    assert await two.running == 0
    assert len(two.children) == 2
    assert "process 1 (pid 1001) was drained by alice (dashboard); it is not replaced" in caplog.text


async def test_a_child_that_dies_while_it_drains_is_replaced(family: Make, harness: Harness) -> None:
    """It has not said farewell: what it was asked is not known here, and nobody sees to its messages."""
    one = family()
    await asyncio.sleep(0.01)
    one.children[0].ended.set_result(-9)
    await asyncio.sleep(60)
    assert len(one.children) == 2
    assert await one.stop() == 0


async def test_the_first_word_asks_and_the_second_hurries_and_who_does_not_obey_is_killed(
    family: Make, harness: Harness
) -> None:
    two = family(2)
    await asyncio.sleep(0.01)
    two.supervisor.ask_to_stop()
    assert [child.signals for child in two.children] == [[signal.SIGTERM], [signal.SIGTERM]]
    await asyncio.sleep(3600)
    assert not two.running.done(), "however long the grace is"
    two.supervisor.ask_to_stop()
    assert [child.told for child in two.children] == [[protocol.Hurry()], [protocol.Hurry()]]
    two.children[0].ended.set_result(0)
    await asyncio.sleep(supervisor.HURRY_SECONDS + 1)
    assert await two.running == 0
    assert two.children[1].signals == [signal.SIGTERM, signal.SIGKILL]


async def test_nobody_is_started_while_it_stops(family: Make, harness: Harness) -> None:
    one = family()
    await asyncio.sleep(0.01)
    one.supervisor.ask_to_stop()
    one.children[0].ended.set_result(-9)
    assert await one.running == 0
    assert len(one.children) == 1


async def test_what_the_children_did_is_added_up(family: Make, harness: Harness) -> None:
    two = family(2)
    await asyncio.sleep(0.01)
    assert two.hear is not None
    for child in two.children:
        await two.hear(cast("WorkerProcess", child), protocol.Farewell({"completed": 2}, {"worker_stopping": 1}))
    await two.stop()
    assert two.supervisor.counts == {"completed": 4}
    assert two.supervisor.given_back == {"worker_stopping": 2}
