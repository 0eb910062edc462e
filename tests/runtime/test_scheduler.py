"""The scheduler: one message a tick, however many workers send it and whatever their clocks do."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import msgspec
import pytest

from tenure import Event
from tenure.envelope import decode
from tenure.event import EventKind
from tenure.message import Message
from tenure.notice import Tick
from tenure.runtime.background.scheduler import Scheduler, tick_id
from tenure.tasks.call import Call, Options
from tenure.tasks.schedule import SCHEDULED_FOR_HEADER, Schedule, schedule_from
from tenure.testing.harness import QUEUE, TASK, Harness
from tenure.testing.virtual import SkewedClock
from tenure.testing.wire import Wire
from tenure.timing.interval import Every


class Target(msgspec.Struct, frozen=True):
    name: str = TASK
    queue: str = QUEUE
    webhook: str | None = None
    follows_client: bool = False


def call(body: bytes = b"{}") -> Call[object]:
    return Call(Target(), msgspec.Raw(body))


def schedule(name: str = "report", *, body: bytes = b"{}", **given: Any) -> Schedule:
    if "cron" not in given:
        given.setdefault("every", 600)
    return schedule_from(name, call(body), **given)


class Crew:
    """Workers' schedulers on one store, and a consumer that completes what they send."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.clock = harness.clock
        self.events: list[Event] = []
        self.done: list[Message] = []
        self.wires: list[Wire] = []
        self._running: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self.harness.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
        await self.harness.__aexit__(kind, error, trace)

    def start(self, *schedules: Schedule, workers: int = 1, ahead: float = 0.0) -> asyncio.Task[None]:
        for _ in range(workers):
            wire = Wire(self.harness.broker, self.harness.state)
            clock = SkewedClock(self.harness.clock, ahead)
            scheduler = Scheduler(
                schedules, wire.broker, wire.state.board, clock, self._publish, wall=wire.state.wall, client="acme"
            )
            self.wires.append(wire)
            self._running.append(asyncio.create_task(scheduler.run()))
        return self._running[-1]

    def start_by_its_own_clock(self, line: Schedule, *, ahead: float) -> asyncio.Task[None]:
        """A worker that takes its own wall clock for the store's."""
        clock = SkewedClock(self.harness.clock, ahead)
        wire = Wire(self.harness.broker, self.harness.state)
        scheduler = Scheduler([line], wire.broker, wire.state.board, clock, self._publish, wall=clock.wall)
        self._running.append(asyncio.create_task(scheduler.run()))
        return self._running[-1]

    def consume(self, every: float = 5.0) -> None:
        self._running.append(asyncio.create_task(self._consume(every)))

    async def stop(self) -> None:
        """Downtime: all that run are gone."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running.clear()

    async def take(self) -> list[Message]:
        """Complete what waits."""
        leases = await self.harness.lease_all(self.harness.stranger())
        for lease in leases:
            await self.harness.complete(lease)
        taken = [decode(lease.envelope) for lease in leases]
        self.done += taken
        return taken

    async def noted(self, name: str = "report") -> Tick:
        (tick,) = [tick for tick in await self.harness.state.board.ticks() if tick.schedule == name]
        return tick

    async def until(self, moment: str) -> None:
        """Sleep until the true wall clock shows that moment."""
        await asyncio.sleep(at(moment) - self.harness.clock.wall())

    @property
    def times(self) -> list[str]:
        """For which moments messages were completed."""
        return [message.headers[SCHEDULED_FOR_HEADER] for message in self.done]

    def _publish(self, events: Sequence[Event]) -> None:
        self.events += events

    async def _consume(self, every: float) -> None:
        while True:
            await self.take()
            await asyncio.sleep(every)


@pytest.fixture
def crew(harness: Harness) -> Crew:
    return crew_at(harness, "2026-06-01T12:00:30Z")


def crew_at(harness: Harness, moment: str) -> Crew:
    harness.clock.move_wall(at(moment) - harness.clock.wall())
    return Crew(harness)


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def clock_times(*times: str) -> list[str]:
    return [f"2026-06-01T{time}:00+00:00" for time in times]


# --- a tick ---------------------------------------------------------------------------------------------


async def test_a_schedule_that_is_seen_for_the_first_time_is_noted_and_sends_nothing(crew: Crew) -> None:
    crew.start(schedule(cron="0 12 * * *"))
    await asyncio.sleep(5)
    assert await crew.take() == []
    assert crew.events == []
    assert await crew.noted() == Tick(
        schedule="report", at=at("2026-06-01T12:00:30Z"), message_id="", spec="0 12 * * * UTC", task=TASK,
        queue=QUEUE, next_at=at("2026-06-02T12:00:00Z"), first_seen=True,
    )  # fmt: skip


async def test_a_tick_becomes_a_message_at_its_moment(crew: Crew) -> None:
    options: Options = {"priority": 7, "headers": {"own": "x"}}
    await asyncio.sleep(0.4)
    crew.start(schedule(cron="10 14 * * *", timezone="Europe/Berlin", options=options, body=b'{"day":1}'))
    await crew.until("2026-06-01T12:09:59.9Z")
    assert await crew.take() == []
    await crew.until("2026-06-01T12:10:00.1Z")
    (message,) = await crew.take()
    assert (message.queue, message.task, message.client, message.priority) == (QUEUE, TASK, "acme", 7)
    assert bytes(message.body) == b'{"day":1}'
    assert message.id == tick_id("report", at("2026-06-01T12:10:00Z"))
    assert message.headers == {
        "own": "x",
        "tenure-schedule": "report",
        "tenure-scheduled-for": "2026-06-01T14:10:00+02:00",
    }
    assert await crew.noted() == Tick(
        schedule="report", at=at("2026-06-01T12:10:00Z"), message_id=message.id, spec="10 14 * * * Europe/Berlin",
        task=TASK, queue=QUEUE, next_at=at("2026-06-02T12:10:00Z"),
    )  # fmt: skip
    (event,) = crew.events
    assert (event.kind, event.queue, event.task, event.message_id) == (EventKind.TICKED, QUEUE, TASK, message.id)
    assert event.at == pytest.approx(at("2026-06-01T12:10:00Z"), abs=0.01)
    assert event.data == {"schedule": "report", "scheduled_for": "2026-06-01T14:10:00+02:00", "missed": False}


def test_the_id_of_a_tick_sorts_by_time_and_is_its_own() -> None:
    first, later, other = tick_id("a", 1_767_225_600.0), tick_id("a", 1_767_225_601.0), tick_id("b", 1_767_225_600.0)
    assert len({first, later, other}) == 3
    assert first < later
    assert first == f"{1_767_225_600_000:012x}{first[12:]}"
    assert all(len(id) == 32 and int(id, 16) for id in (first, later, other))


async def test_many_workers_that_start_together_send_one_message_a_tick(crew: Crew) -> None:
    crew.consume()
    crew.start(schedule(), schedule("other", every=1200), workers=5)
    await crew.until("2026-06-01T13:05:00Z")
    assert [
        time
        for message, time in zip(crew.done, crew.times, strict=True)
        if message.headers["tenure-schedule"] == "report"
    ] == clock_times("12:10", "12:20", "12:30", "12:40", "12:50", "13:00")
    assert len(crew.done) == 6 + 3
    assert len(crew.events) == 6 + 3
    assert {event.message_id for event in crew.events} == {message.id for message in crew.done}


async def test_all_of_many_workers_may_send_a_tick_and_only_one_tells(crew: Crew) -> None:
    crew.start(schedule(), workers=3)
    await crew.until("2026-06-01T12:09:30Z")
    for wire in crew.wires:  # nobody hears of the others before all have sent
        wire.spy = lambda name, _arguments, wire=wire: wire.freeze() if name == "broker.send" else None  # type: ignore[misc]
    await crew.until("2026-06-01T12:10:05Z")
    assert [wire.said.count("broker.send") for wire in crew.wires] == [1, 1, 1]
    for wire in crew.wires:
        wire.thaw()
    await crew.until("2026-06-01T12:11:00Z")
    assert len(await crew.take()) == 1
    assert len(crew.events) == 1


# --- ticks do not pile up -------------------------------------------------------------------------------


async def test_while_a_message_waits_it_stands_for_later_ticks(crew: Crew) -> None:
    crew.start(schedule(), workers=2)
    await crew.until("2026-06-01T13:05:00Z")
    assert (await crew.noted()).at == at("2026-06-01T13:00:00Z")
    assert (await crew.noted()).message_id == tick_id("report", at("2026-06-01T12:10:00Z"))
    assert len(crew.events) == 6
    assert len(await crew.take()) == 1
    await crew.until("2026-06-01T13:15:00Z")
    assert len(await crew.take()) == 1
    assert crew.times == clock_times("12:10", "13:10")


async def test_a_word_of_the_users_own_decides_what_stands_for_what(crew: Crew) -> None:
    shared: Options = {"unique": "build"}
    crew.start(schedule("a", options=shared), schedule("b", options=shared), schedule("c"))
    await crew.until("2026-06-01T12:15:00Z")
    assert [message.headers["tenure-schedule"] for message in await crew.take()] == ["a", "c"]


# --- missed ticks ---------------------------------------------------------------------------------------


async def down_from_1215_to_1405(crew: Crew, *schedules: Schedule, workers: int = 3) -> None:
    crew.start(*schedules)
    crew.consume()
    await crew.until("2026-06-01T12:15:00Z")
    await crew.stop()
    await crew.until("2026-06-01T14:05:00Z")
    crew.start(*schedules, workers=workers)
    crew.consume()


async def test_after_downtime_one_message_is_sent_for_all_that_was_missed(crew: Crew) -> None:
    await down_from_1215_to_1405(crew, schedule(missed="once"))
    await crew.until("2026-06-01T14:15:00Z")
    assert crew.times == clock_times("12:10", "14:00", "14:10")
    assert [event.data["missed"] for event in crew.events] == [False, True, False]


async def test_after_downtime_nothing_is_sent_for_what_is_to_be_skipped(
    crew: Crew, caplog: pytest.LogCaptureFixture
) -> None:
    await down_from_1215_to_1405(crew, schedule(missed="skip"))
    await crew.until("2026-06-01T14:06:00Z")
    noted = await crew.noted()
    assert (noted.at, noted.message_id) == (at("2026-06-01T14:00:00Z"), "")
    assert "report: the tick of 2026-06-01T14:00:00+00:00 was missed" in caplog.text
    await crew.until("2026-06-01T14:15:00Z")
    assert crew.times == clock_times("12:10", "14:10")
    assert [(event.message_id is None, event.data["missed"]) for event in crew.events] == [
        (False, False),
        (True, True),
        (False, False),
    ]


async def test_a_tick_that_is_late_by_less_than_the_grace_is_not_missed(crew: Crew) -> None:
    line = schedule(missed="skip")
    crew.start(line)
    await crew.until("2026-06-01T12:05:00Z")
    await crew.stop()
    await crew.until("2026-06-01T12:10:59Z")
    crew.start(line)
    await crew.until("2026-06-01T12:11:05Z")
    assert len(await crew.take()) == 1
    assert [event.data["missed"] for event in crew.events] == [False]


async def test_of_several_ticks_that_passed_the_newest_is_sent_if_it_is_in_time(crew: Crew) -> None:
    line = schedule(every=5, missed="skip")
    crew.start(line)
    await crew.until("2026-06-01T12:00:31Z")
    await crew.stop()
    await crew.until("2026-06-01T12:00:58Z")
    crew.start(line)
    await crew.until("2026-06-01T12:00:59Z")
    (message,) = await crew.take()
    assert message.headers[SCHEDULED_FOR_HEADER] == "2026-06-01T12:00:55+00:00"
    assert [event.data["missed"] for event in crew.events] == [True]


# --- crashes and outages --------------------------------------------------------------------------------


async def test_a_crash_between_send_and_note_repeats_the_send_and_makes_one_message(crew: Crew) -> None:
    line = schedule()
    crew.start(line)
    crew.consume(every=1.0)
    await crew.until("2026-06-01T12:05:00Z")
    crew.wires[0].away("board.tick")
    await crew.until("2026-06-01T12:10:03Z")
    assert (len(crew.done), (await crew.noted()).message_id) == (1, "")
    await crew.stop()
    crew.start(line)
    crew.consume()
    await crew.until("2026-06-01T12:15:00Z")
    assert crew.wires[1].said.count("broker.send") == 1
    assert crew.times == clock_times("12:10")
    assert (await crew.noted()).message_id == crew.done[0].id


async def test_a_lost_answer_makes_one_message(crew: Crew) -> None:
    crew.start(schedule())
    await crew.until("2026-06-01T12:09:59Z")
    crew.consume(every=0.01)  # faster than the scheduler tries again
    crew.wires[0].lose_replies("broker.send")
    crew.wires[0].lose_replies("board.tick")
    await crew.until("2026-06-01T12:10:10Z")
    assert crew.wires[0].said.count("broker.send") == 2
    assert crew.times == clock_times("12:10")


@pytest.mark.parametrize("missed", ["once", "skip"])
@pytest.mark.parametrize("word", ["broker.send", "board.ticks", "*"])
async def test_a_short_outage_delays_a_tick(crew: Crew, word: str, missed: str) -> None:
    crew.start(schedule(missed=missed))
    await crew.until("2026-06-01T12:09:00Z")
    crew.wires[0].away(word)
    await crew.until("2026-06-01T12:10:30Z")
    assert await crew.take() == []
    crew.wires[0].back()
    await crew.until("2026-06-01T12:10:35Z")
    assert len(await crew.take()) == 1


@pytest.mark.parametrize(("missed", "times"), [("once", ["12:30", "12:40"]), ("skip", ["12:40"])])
async def test_after_a_long_outage_the_rule_for_missed_ticks_holds(crew: Crew, missed: str, times: list[str]) -> None:
    crew.start(schedule(missed=missed))
    await crew.until("2026-06-01T12:09:00Z")
    crew.wires[0].away()
    crew.consume()
    await crew.until("2026-06-01T12:35:00Z")
    crew.wires[0].back()
    await crew.until("2026-06-01T12:45:00Z")
    assert crew.times == clock_times(*times)


async def test_an_outage_at_the_start_is_waited_for(crew: Crew) -> None:
    running = crew.start(schedule())
    crew.wires[0].away()
    await asyncio.sleep(60)
    assert not running.done()
    crew.wires[0].back()
    await crew.until("2026-06-01T12:15:00Z")
    assert len(await crew.take()) == 1


async def test_a_bug_ends_the_scheduler_loudly(crew: Crew) -> None:
    def spy(_name: str, _arguments: tuple[Any, ...]) -> None:
        raise ZeroDivisionError

    running = crew.start(schedule())
    crew.wires[0].spy = spy
    await asyncio.sleep(1)
    with pytest.raises(ZeroDivisionError):
        await running


# --- refusals -------------------------------------------------------------------------------------------


async def test_a_refused_message_costs_its_tick_and_not_the_next(crew: Crew, caplog: pytest.LogCaptureFixture) -> None:
    large = b'{"x":"' + b"x" * crew.harness.traits.body_limit + b'"}'
    crew.start(schedule(body=large), schedule("small"))
    await crew.until("2026-06-01T12:15:00Z")
    noted = await crew.noted()
    assert (noted.at, noted.message_id) == (at("2026-06-01T12:10:00Z"), "")
    assert len(await crew.take()) == 1
    assert crew.wires[0].said.count("broker.send") == 2
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "schedule report: the tick of 2026-06-01T12:10:00+00:00 is lost" in record.getMessage()
    assert "bytes" in record.getMessage()
    await crew.until("2026-06-01T12:25:00Z")
    assert crew.wires[0].said.count("broker.send") == 4


async def test_a_message_that_cannot_be_made_costs_its_tick(crew: Crew, caplog: pytest.LogCaptureFixture) -> None:
    crew.start(Schedule("report", call(), Every(600.0), "once", {"priority": 11}))
    await crew.until("2026-06-01T12:15:00Z")
    assert (await crew.noted()).at == at("2026-06-01T12:10:00Z")
    assert "schedule report" in caplog.text
    assert "priority=11" in caplog.text


# --- clocks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "line", "end", "times"),
    [
        ("2026-03-28T23:50Z", "30 2 * * *", "2026-03-29T02:10Z", ["2026-03-29T03:00:00+02:00"]),
        ("2026-03-28T23:50Z", "20 * * * *", "2026-03-29T02:10Z",
         ["2026-03-29T01:20:00+01:00", "2026-03-29T03:20:00+02:00"]),
        ("2026-10-24T23:50Z", "30 2 * * *", "2026-10-25T02:10Z", ["2026-10-25T02:30:00+02:00"]),
        ("2026-10-24T23:50Z", "20 2,3 * * *", "2026-10-25T02:30Z",
         ["2026-10-25T02:20:00+02:00", "2026-10-25T03:20:00+01:00"]),
        ("2026-10-24T23:50Z", "20 * * * *", "2026-10-25T02:10Z",
         ["2026-10-25T02:20:00+02:00", "2026-10-25T02:20:00+01:00"]),
    ],
)  # fmt: skip
async def test_over_changed_clocks(harness: Harness, start: str, line: str, end: str, times: list[str]) -> None:
    crew = crew_at(harness, start)
    crew.start(schedule(cron=line, timezone="Europe/Berlin"), workers=2)
    crew.consume(every=30.0)
    await crew.until(end)
    assert crew.times == times
    assert [event.data["scheduled_for"] for event in crew.events] == times
    assert not any(event.data["missed"] for event in crew.events)


async def test_a_worker_that_starts_in_the_second_of_two_equal_hours_does_not_send_again(harness: Harness) -> None:
    crew = crew_at(harness, "2026-10-25T00:20Z")
    line = schedule(cron="30 2 * * *", timezone="Europe/Berlin")
    crew.start(line)
    crew.consume()
    await crew.until("2026-10-25T00:50Z")
    await crew.stop()
    await crew.until("2026-10-25T01:20Z")
    crew.start(line, workers=2)
    crew.consume()
    await crew.until("2026-10-25T02:20Z")
    assert crew.times == ["2026-10-25T02:30:00+02:00"]


async def test_when_the_wall_clock_jumps_ahead_one_message_stands_for_what_was_jumped_over(crew: Crew) -> None:
    crew.start(schedule(), workers=3)
    crew.consume()
    await crew.until("2026-06-01T12:05:00Z")
    await crew.harness.move_wall(3600.0)
    await asyncio.sleep(2)
    await crew.until("2026-06-01T13:15:00Z")
    assert crew.times == clock_times("13:00", "13:10")
    assert [event.data["missed"] for event in crew.events] == [True, False]


async def test_when_the_wall_clock_jumps_back_nothing_is_sent_twice(crew: Crew) -> None:
    crew.start(schedule(), workers=3)
    crew.consume()
    await crew.until("2026-06-01T12:25:00Z")
    await crew.harness.move_wall(-1200.0)
    crew.start(schedule(), workers=2)
    await crew.until("2026-06-01T12:35:00Z")
    assert crew.times == clock_times("12:10", "12:20", "12:30")


async def test_workers_whose_clocks_differ_send_each_tick_once_and_at_its_moment(crew: Crew) -> None:
    crew.consume()
    for ahead in (0.0, -300.0, -1.0, 300.0, 3600.0):
        crew.start(schedule(), ahead=ahead)
        await asyncio.sleep(1)
    await crew.until("2026-06-01T13:02:00Z")
    assert crew.times == clock_times("12:10", "12:20", "12:30", "12:40", "12:50", "13:00")
    assert [event.at for event in crew.events] == [pytest.approx(at(time), abs=1.1) for time in crew.times]


async def test_ticks_go_on_after_a_worker_whose_clock_is_ahead_has_stopped(crew: Crew) -> None:
    crew.consume()
    wrong = crew.start(schedule(), ahead=3600.0)
    await crew.until("2026-06-01T12:15:00Z")
    wrong.cancel()
    crew.start(schedule())
    await crew.until("2026-06-01T12:35:00Z")
    assert crew.times == clock_times("12:10", "12:20", "12:30")


async def test_a_tick_noted_far_ahead_is_logged_once_and_silences_nothing(
    crew: Crew, caplog: pytest.LogCaptureFixture
) -> None:
    early = Tick(schedule="report", at=at("2026-06-01T14:00:00Z"), spec="every 10 min", message_id="early")
    await crew.harness.state.board.tick(early)
    crew.start(schedule())
    crew.consume()
    await crew.until("2026-06-01T12:45:00Z")
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "schedule report: a tick is noted for 2026-06-01T14:00:00+00:00" in record.getMessage()
    assert "119.5 min ahead" in record.getMessage()
    assert crew.times == clock_times("12:10", "12:20", "12:30", "12:40")


async def test_what_was_sent_early_is_not_sent_again(crew: Crew, caplog: pytest.LogCaptureFixture) -> None:
    crew.consume()
    wrong = crew.start_by_its_own_clock(schedule(), ahead=1500.0)  # as workers did before
    await crew.until("2026-06-01T12:06:00Z")
    assert crew.times == clock_times("12:30")
    wrong.cancel()
    crew.start(schedule(), workers=2)
    await crew.until("2026-06-01T12:45:00Z")
    assert crew.times == clock_times("12:30", "12:10", "12:20", "12:40")
    assert "24.0 min ahead" in caplog.text


async def test_while_a_worker_still_sends_by_its_own_clock_the_others_send_on_time(crew: Crew) -> None:
    crew.consume()
    crew.start(schedule())
    crew.start_by_its_own_clock(schedule(), ahead=1500.0)
    await crew.until("2026-06-01T12:45:00Z")
    assert set(crew.times) == set(clock_times("12:10", "12:20", "12:30", "12:40", "12:50", "13:00"))
    assert len(crew.times) == 6


async def test_a_tick_that_is_ahead_by_a_moment_is_waited_for(crew: Crew, caplog: pytest.LogCaptureFixture) -> None:
    near = Tick(schedule="report", at=at("2026-06-01T12:00:31.5Z"), spec="every 10 min", message_id="near")
    await crew.harness.state.board.tick(near)
    crew.start(schedule())
    await crew.until("2026-06-01T12:05:00Z")
    assert await crew.noted() == near
    assert caplog.records == []


async def test_after_a_jump_there_and_back_ticks_go_on(crew: Crew, caplog: pytest.LogCaptureFixture) -> None:
    crew.start(schedule(), workers=2)
    crew.consume()
    await crew.until("2026-06-01T12:05:00Z")
    await crew.harness.move_wall(86_400.0)
    await asyncio.sleep(2)
    assert caplog.records == []
    await crew.harness.move_wall(-86_400.0)
    await asyncio.sleep(2)
    assert "a tick is noted for 2026-06-02T12:00:00+00:00" in caplog.text
    await crew.until("2026-06-01T12:25:00Z")
    assert crew.times == ["2026-06-02T12:00:00+00:00", *clock_times("12:10", "12:20")]


# --- another line ---------------------------------------------------------------------------------------


async def test_another_line_sends_nothing_for_the_past(crew: Crew) -> None:
    crew.start(schedule(cron="10 * * * *"))
    crew.consume()
    await crew.until("2026-06-01T12:30:00Z")
    await crew.stop()
    changed = schedule(cron="20,50 * * * *")
    crew.start(changed, workers=2)
    crew.consume()
    await crew.until("2026-06-01T12:31:00Z")
    noted = await crew.noted()
    assert (noted.spec, noted.next_at) == ("20,50 * * * * UTC", at("2026-06-01T12:50:00Z"))
    await crew.stop()
    await crew.until("2026-06-01T12:55:00Z")
    assert crew.times == clock_times("12:10")
    crew.start(changed)  # and from now on its missed ticks count as anybody's
    crew.consume()
    await crew.until("2026-06-01T13:25:00Z")
    assert crew.times == clock_times("12:10", "12:50", "13:20")


async def test_while_two_lines_are_deployed_a_common_moment_is_one_tick(crew: Crew) -> None:
    crew.start(schedule(cron="0 * * * *"))
    crew.consume()
    await crew.until("2026-06-01T12:30:00Z")
    crew.start(schedule(cron="0,30 * * * *"))
    await crew.until("2026-06-01T13:10:00Z")
    assert crew.times == clock_times("13:00")
    await crew.until("2026-06-01T13:40:00Z")
    assert crew.times == clock_times("13:00", "13:30")


async def test_another_line_is_no_way_back_behind_a_noted_tick(crew: Crew) -> None:
    noted = datetime(2026, 6, 1, 12, 0, 31, 900_000, tzinfo=UTC).timestamp()
    await crew.harness.state.board.tick(Tick(schedule="report", at=noted, spec="old"))
    crew.start(schedule(every=1))
    crew.consume(every=0.1)
    await crew.until("2026-06-01T12:00:34.5Z")
    assert crew.times[0] == "2026-06-01T12:00:32+00:00"
