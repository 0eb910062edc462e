"""A survey: events and samples become figures, for each task, and what cannot be told apart is said to be unknown."""

from collections.abc import Sequence
from typing import Any

import pytest

from tenure.client.statistics import Survey, newest, survey
from tenure.event import Event, EventKind
from tenure.runtime.background.sweeper import Sweeper
from tenure.sample import Ended, Sample
from tenure.testing.harness import QUEUE, Harness
from tenure.timing.figures import Standing, TaskFigures
from tenure.timing.scaling import Pace

NOW = 1_000.0


def _event(kind: EventKind, *, at: float = NOW, id: str | None = None, task: str = "work", **more: Any) -> Event:
    return Event(kind, at, QUEUE, task, id, "w/1", 1, **more)


def _returned(*ids: str, by: str = "scheduler", at: float = NOW) -> Event:
    return Event(EventKind.REQUEUE, at, data={"count": len(ids), "dlq_count": 0, "ids": list(ids), "triggered_by": by})


def _retired(*, left: bool, at: float = NOW) -> Event:
    return Event(EventKind.OWNER_RETIRED, at, owner="w/1", data={"proof": "gone", "count": 1, "left": left})


async def _survey(harness: Harness, events: Sequence[Event], **more: Any) -> Survey:
    await harness.state.journal.append(events)
    return await survey(harness.state, since=more.pop("since", 0.0), **more)


async def _work(harness: Harness, events: Sequence[Event], **more: Any) -> TaskFigures:
    found = await _survey(harness, events, **more)
    return next(figures for figures in found.figures if figures.task == "work")


async def test_every_end_of_a_run_is_counted(harness: Harness) -> None:
    kinds = [EventKind.COMPLETED] * 5 + [EventKind.RETRIED] * 2 + [EventKind.DEAD, EventKind.DUPLICATE]
    figures = await _work(harness, [_event(kind, id=str(place)) for place, kind in enumerate(kinds)])
    assert (figures.completed, figures.retried, figures.dead, figures.duplicates) == (5, 2, 1, 1)
    assert (figures.expired, figures.crashed, figures.overran, figures.deliveries) == (0, 0, 0, 9)
    assert figures.standing is None
    assert figures.durations is None


async def test_a_sweep_is_expiry_and_a_burial_is_a_crash(harness: Harness) -> None:
    done = [_event(EventKind.COMPLETED, id=id) for id in "abcde"]
    events = [
        _returned("a"), _retired(left=False, at=1.0), _returned("b", "c", by="liveness", at=1.0),
        _retired(left=True, at=2.0), _returned("d", by="liveness", at=2.0),
        _retired(left=False, at=3.0), _returned("e", by="supervisor", at=3.0),
    ]  # fmt: skip
    figures = await _work(harness, [*events, *done])
    assert (figures.expired, figures.crashed) == (1, 3)
    assert figures.redelivered == 4


async def test_the_events_of_the_real_sweeper_are_told_apart(harness: Harness) -> None:
    told: list[Event] = []
    sweeper = Sweeper(harness.broker, harness.state.roster, harness.clock, told.extend, request=harness.sweep_request())
    await sweeper.sweep()
    victim, leaver = await harness.owner("victim"), await harness.owner("leaver")
    for owner in (victim, leaver):
        await harness.leased(owner, seconds=600, task="work")
    await harness.kill(victim)
    await harness.state.roster.leave(leaver)
    await sweeper.bury()
    for lease in await harness.lease_all(victim := await harness.owner("w")):
        await harness.complete(lease)
    await harness.leased(harness.stranger(), seconds=6.0, task="work")
    await harness.advance(5.0)
    harness_swept = [event.kind for event in told]
    await harness.advance(4.0, sweeping=False)
    await sweeper.sweep()
    assert harness_swept.count(EventKind.OWNER_RETIRED) == 2
    figures = await _work(harness, told)
    assert (figures.expired, figures.crashed) == (1, 1)


async def test_what_came_back_is_found_in_the_records_where_no_event_names_it(harness: Harness) -> None:
    message = await harness.put(task="work")
    figures = await _work(harness, [_returned(message.id)])
    assert (figures.expired, figures.crashed) == (1, 0)


async def test_what_nobody_knows_is_unknown_and_not_none(harness: Harness) -> None:
    found = await _survey(harness, [_event(EventKind.COMPLETED, id="a"), _returned("never-seen", "nor-this")])
    assert found.unknown_expired == 2
    (figures,) = found.figures
    assert figures.expired is None
    assert figures.redelivered is None
    assert figures.crashed == 0
    known = await _work(harness, [_returned("a")])
    assert known.expired == 1, "what is known is told, though there may be more"


async def test_a_run_past_its_lease_is_told_unless_it_was_cancelled(harness: Harness) -> None:
    cancelled = Event(EventKind.CANCELLED, NOW, QUEUE, data={"count": 1, "ids": ["b"], "running": 1})
    lost = [_event(EventKind.LEASE_LOST, id="a"), _event(EventKind.LATE_SETTLE, id="c"),
            _event(EventKind.LEASE_LOST, id="b")]  # fmt: skip
    figures = await _work(harness, [*lost, cancelled])
    assert figures.overran == 2


async def test_a_retry_says_by_its_code_whether_a_process_died_or_max_hold_ended_it(harness: Harness) -> None:
    codes = [(EventKind.RETRIED, "error"), (EventKind.RETRIED, "process_died"), (EventKind.RETRIED, "max_hold"),
             (EventKind.GIVEN_BACK, "lease_lapsed"), (EventKind.GIVEN_BACK, "worker_stopping")]  # fmt: skip
    figures = await _work(harness, [_event(kind, data={"code": code}) for kind, code in codes])
    assert (figures.retried, figures.held, figures.crashed, figures.expired) == (2, 1, 1, 1)


async def test_samples_of_the_window_become_quantiles(harness: Harness) -> None:
    samples = [Sample(QUEUE, "work", float(number), NOW) for number in range(1, 101)]
    samples += [Sample(QUEUE, "work", 999.0, 1.0), Sample(QUEUE, "work", 50.0, NOW, Ended.KILLED)]
    await harness.state.journal.sample(samples)
    figures = await _work(harness, [_event(EventKind.COMPLETED)], since=NOW)
    assert figures.durations is not None
    assert (figures.durations.samples, figures.durations.killed, figures.durations.longest) == (101, 1, 100.0)
    assert (figures.durations.q50, figures.durations.q99) == (50.0, 99.0)


async def test_a_task_whose_policy_is_known_has_figures_before_its_first_run(harness: Harness) -> None:
    standing = Standing(30.0)
    found = await _survey(harness, [], standings={(QUEUE, "idle"): standing})
    assert found.figures == (TaskFigures(queue=QUEUE, task="idle", standing=standing),)
    assert found.figures[0].deletion_failure_rate is None


async def test_only_what_is_seen_is_counted(harness: Harness) -> None:
    theirs = Event(EventKind.COMPLETED, NOW, "theirs", "work", "x", "w/2", 1, 1.0)
    found = await _survey(harness, [theirs, _returned("x")], sees=lambda queue: queue != "theirs")
    assert (found.figures, found.pace, found.unknown_expired) == ((), {}, 0)


async def test_how_long_a_slot_is_kept_counts_failed_runs_too(harness: Harness) -> None:
    events = [_event(EventKind.COMPLETED, seconds=1.0), _event(EventKind.RETRIED, seconds=3.0)]
    assert (await _survey(harness, events)).pace == {QUEUE: Pace(2.0, 3.0, 2)}


async def test_deletes_that_did_not_work_are_counted_for_their_task(harness: Harness) -> None:
    outcomes = [None, None, "already_gone", "unknown", "taken_over"]
    events = [_event(EventKind.COMPLETED, data={"delete": how} if how else {}) for how in outcomes]
    events += [_event(EventKind.DUPLICATE), _event(EventKind.RETRIED)]
    figures = await _work(harness, events)
    assert (figures.deletes, figures.deletes_failed) == (6, 2), "what is gone already is as it should be"


async def test_a_window_is_read_from_its_end_and_is_bounded(harness: Harness) -> None:
    await harness.state.journal.append([_event(EventKind.COMPLETED, at=float(number)) for number in range(2_500)])

    async def read(since: float, most: int) -> tuple[list[float], bool]:
        events, is_cut = await newest(harness.state.journal, since, most)
        return [event.at for event in events], is_cut

    assert await read(0.0, 20_000) == ([float(number) for number in range(2_500)], False)
    assert await read(2_400.0, 20_000) == ([float(number) for number in range(2_400, 2_500)], False)
    assert await read(2_400.0, 1_700) == ([float(number) for number in range(2_400, 2_500)], False)
    assert await read(0.0, 1_700) == ([float(number) for number in range(800, 2_500)], True)
    assert await read(9_999.0, 20_000) == ([], False)


@pytest.mark.parametrize("most", [1, 999, 1_000, 1_001])
async def test_no_event_is_read_twice_or_left_out(harness: Harness, most: int) -> None:
    await harness.state.journal.append([_event(EventKind.COMPLETED, at=float(number)) for number in range(1_500)])
    events, is_cut = await newest(harness.state.journal, 0.0, most)
    assert [event.at for event in events] == [float(number) for number in range(1_500 - most, 1_500)]
    assert is_cut


async def test_a_worker_whose_clock_is_slow_hides_no_event_of_the_others(harness: Harness) -> None:
    """Events stand in the order in which they were kept; whose clock is a day behind stands among today's."""
    events = [_event(EventKind.COMPLETED, at=100_000.0 + number) for number in range(2_500)]
    events[500] = _event(EventKind.COMPLETED, at=5.0)  # the first of a page, counted from the end
    events[1_500] = _event(EventKind.COMPLETED, at=5.0)
    await harness.state.journal.append(events)
    found, is_cut = await newest(harness.state.journal, 99_000.0)
    assert len(found) == 2_498
    assert not is_cut


async def test_a_cancelled_run_does_not_count_for_the_pace_of_its_queue(harness: Harness) -> None:
    cancelled = Event(EventKind.CANCELLED, NOW, data={"ids": ["c"]})
    events = [
        _event(EventKind.COMPLETED, id="a", seconds=2.0),
        _event(EventKind.LEASE_LOST, id="b", seconds=4.0),
        _event(EventKind.LEASE_LOST, id="c", seconds=900.0),
        cancelled,
    ]
    found = await _survey(harness, events)
    assert found.pace == {QUEUE: Pace(3.0, 4.0, 2)}
