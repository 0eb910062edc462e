"""Statistics: what leaves the path is counted once, cheaply, and in a bounded number of series."""

import math

import pytest

from tenure.event import Event, EventKind
from tenure.lease import Lease
from tenure.message import Counters, Message
from tenure.runtime.background.statistics import Statistics
from tenure.runtime.delivery import Delivery
from tenure.settlement import Outcome, Settlement
from tenure.testing.harness import QUEUE, Harness
from tenure.timing import tallied
from tenure.timing.tallied import MOST_SERIES, OTHER, Series
from tenure.verdict import Completed, Dead, Duplicate, Lost, Reason, Retried, Returned, Verdict

DONE, BACK, BURIED = Settlement(Outcome.DELETED), Settlement(Outcome.RETURNED), Settlement(Outcome.DEAD)
BROKEN = Reason("error", "it broke")


def ran(
    harness: Harness, verdict: Verdict, *, queue: str = QUEUE, seconds: float | None = 1.5, deliveries: int = 1,
    sent_at: float = 90.0, envelope: bytes = b"x" * 100, message: Message | None = None,
) -> Delivery:  # fmt: skip
    """A delivery at the end of its path: it began at 10 by our clock, which is 100 by the store's."""
    counters = Counters(deliveries=deliveries)
    delivery = Delivery(Lease("m1", queue, envelope, "me/1", 1, "", 30.0, 0.0, counters))
    delivery.message = message or harness.message(queue=queue, task="work", sent_at=sent_at)
    if seconds is not None:
        delivery.started, delivery.finished = 10.0, 10.0 + seconds
    delivery.verdict = verdict
    return delivery


def taken(statistics: Statistics) -> dict[str, Series]:
    return {one.outcome: one for one in statistics.take()}


def test_a_completed_run_is_counted_with_its_figures(harness: Harness) -> None:
    statistics = Statistics()
    statistics.note([(ran(harness, Completed(b"1")), DONE), (ran(harness, Completed(b"1")), DONE)], 90.0)
    (one,) = statistics.take()
    assert (one.queue, one.task, one.outcome) == (QUEUE, "work", "completed")
    assert (one.count, one.runs, one.seconds, one.leased, one.size) == (2, 2, 3.0, 60.0, 200)
    assert (one.deliveries, one.settled, one.waited) == ([2], {"deleted": 2}, 20.0)
    assert tallied.quantile(one.durations, 0.5) == pytest.approx(1.5, rel=0.04)
    assert tallied.quantile(one.waits, 0.5) == pytest.approx(10.0, rel=0.04)
    assert statistics.take() == []


def test_outcomes_are_told_apart_as_events_tell_them(harness: Harness) -> None:
    statistics = Statistics()
    late, cancelled, sealed = (ran(harness, Completed(b"1")) for _ in range(3))
    cancelled.cancelled_by, sealed.sealed = "ada", True
    unsettled = ran(harness, Lost())
    unread = ran(harness, Dead(BROKEN), seconds=None)
    unread.message = None
    gone, unknown = Settlement(Outcome.TAKEN_OVER), Settlement(Outcome.UNKNOWN)
    statistics.note(
        [
            (ran(harness, Retried(1.0, BROKEN)), BACK), (ran(harness, Returned(1.0, BROKEN), seconds=None), BACK),
            (ran(harness, Duplicate(), seconds=None), DONE), (unread, BURIED), (unsettled, None),
            (late, gone), (cancelled, gone), (sealed, unknown),
        ],
        90.0,
    )  # fmt: skip
    found = taken(statistics)
    assert {outcome: one.count for outcome, one in found.items()} == {
        "retried": 1, "given_back": 1, "duplicate": 1, "dead": 1, "lease_lost": 1, "late_settle": 1, "cancelled": 1,
        "completed": 1,
    }  # fmt: skip
    assert found["dead"].task == ""
    assert found["given_back"].runs == 0
    assert {outcome: one.settled for outcome, one in found.items()} == {
        "retried": {"returned": 1}, "given_back": {"returned": 1}, "duplicate": {"deleted": 1}, "dead": {"dead": 1},
        "lease_lost": {}, "late_settle": {"taken_over": 1}, "cancelled": {"taken_over": 1},
        "completed": {"unknown": 1},
    }  # fmt: skip


def test_later_deliveries_are_counted_and_say_nothing_of_the_wait(harness: Harness) -> None:
    statistics = Statistics()
    batch = [(ran(harness, Completed(b"1"), deliveries=number), DONE) for number in (1, 1, 2, 4, 5, 9)]
    statistics.note(batch, 90.0)
    (one,) = statistics.take()
    assert one.deliveries == [2, 1, 0, 1, 2]
    assert sum(one.waits.values()) == 2


def test_many_runs_between_two_looks_are_all_counted(harness: Harness) -> None:
    statistics = Statistics()
    for number in range(5_000):
        statistics.note([(ran(harness, Completed(b"1"), seconds=0.001 * (number + 1)), DONE)], 90.0)
    (one,) = statistics.take()
    assert (one.count, sum(one.durations.values()), one.deliveries) == (5_000, 5_000, [5_000])
    for q in (0.01, 0.5, 0.99):
        assert tallied.quantile(one.durations, q) == pytest.approx(5.0 * q, rel=0.045)


def test_a_time_that_is_none_or_negative_is_counted_as_the_shortest(harness: Harness) -> None:
    statistics = Statistics()
    statistics.note([(ran(harness, Completed(b"1"), seconds=0.0, sent_at=1e9), DONE)], 90.0)
    (one,) = statistics.take()
    assert list(one.durations) == list(one.waits) == [tallied.bucket_of(0.0)]
    assert all(math.isfinite(tallied.quantile(found, 0.5) or 0.0) for found in (one.durations, one.waits))


def test_beyond_the_bound_everything_is_counted_as_other(harness: Harness) -> None:
    statistics = Statistics()
    for number in range(MOST_SERIES + 50):
        statistics.note([(ran(harness, Completed(b"1"), queue=f"q{number}"), DONE)], 90.0)
    found = statistics.take()
    assert len(found) == MOST_SERIES + 1
    assert [(one.queue, one.task, one.count) for one in found if one.queue == OTHER] == [(OTHER, OTHER, 50)]


def test_beats_and_returns_are_counted_under_their_queue() -> None:
    statistics = Statistics()
    statistics.beat([(QUEUE, "work"), (QUEUE, "work"), ("other", "nap")])
    statistics.note_events(
        [
            Event(EventKind.REQUEUE, 0.0, QUEUE, data={"count": 3}),
            Event(EventKind.MOVE_TO_DLQ, 0.0, QUEUE, data={"count": 2}),
            Event(EventKind.SWEEP_GRACE, 0.0),
        ]
    )
    found = {(one.queue, one.task, one.outcome): (one.count, one.beats) for one in statistics.take()}
    assert found == {
        (QUEUE, "work", ""): (0, 2),
        ("other", "nap", ""): (0, 1),
        (QUEUE, "", "requeue"): (3, 0),
        (QUEUE, "", "move_to_dlq"): (2, 0),
    }


def test_the_total_goes_on_when_the_change_was_taken(harness: Harness) -> None:
    statistics = Statistics()
    for _ in range(3):
        statistics.note([(ran(harness, Completed(b"1")), DONE)], 90.0)
        statistics.take()
    assert statistics.total()[QUEUE, "work", "completed"].count == 3
