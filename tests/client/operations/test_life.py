"""One account from the history and the journal: nothing twice, nothing left out."""

from typing import Any

from tenure.client.operations.life import life
from tenure.event import Event, EventKind
from tenure.message import MessageState
from tenure.record import Ending, Record
from tenure.rules.duplicate_cause import DuplicateCause
from tenure.verdict import Reason

_WHY = Reason("error", "ValueError: no", "Traceback\n", "ValueError")


def _record(state: MessageState, *history: Ending, finished_at: float | None = None) -> Record:
    return Record(id="a", queue="q", task="t", state=state, sent_at=100.0, finished_at=finished_at, history=history)


def _event(kind: EventKind, at: float, owner: str | None = "w/1", **more: Any) -> Event:
    return Event(kind, at, "q", "t", "a", owner, **more)


def _told(record: Record, *events: Event) -> list[tuple[float, str]]:
    return [(step.at, step.what) for step in life(record, events)]


def test_a_failure_is_told_once_with_what_both_know() -> None:
    record = _record(MessageState.DELAYED, Ending(101.0, "failed", "w/1", _WHY))
    retried = _event(EventKind.RETRIED, 101.1, attempt=1, seconds=0.5, data={"after_seconds": 2.0, "code": "error"})
    sent, failed = life(record, [retried])
    assert (sent.at, sent.what) == (100.0, "sent")
    assert (failed.at, failed.what, failed.reason) == (101.0, "failed", _WHY)
    assert (failed.attempt, failed.seconds, failed.after_seconds) == (1, 0.5, 2.0)


def test_quick_failures_are_matched_in_their_order() -> None:
    endings = [Ending(100.0 + n / 10, "failed", "w/1", _WHY) for n in range(5)]
    events = [_event(EventKind.RETRIED, 100.05 + n / 10, attempt=n + 1) for n in range(5)]
    steps = life(_record(MessageState.READY, *endings), events)
    assert [step.attempt for step in steps] == [None, 1, 2, 3, 4, 5]
    # Told late, the first event is nearer to the second ending; that one has its own.
    late = [_event(EventKind.RETRIED, at, attempt=n) for at, n in ((100.09, 1), (100.11, 2))]
    steps = life(_record(MessageState.READY, *endings[:2]), late)
    assert [step.attempt for step in steps] == [None, 1, 2]


def test_what_the_history_has_dropped_is_told_from_the_journal() -> None:
    record = _record(MessageState.READY, Ending(500.0, "failed", "w/1", _WHY))
    first = _event(EventKind.RETRIED, 101.0, attempt=1, data={"code": "error", "reason": "boom", "after_seconds": 1.0})
    second = _event(EventKind.RETRIED, 500.1, attempt=2)
    steps = life(record, [first, second])
    assert [(step.at, step.what, step.attempt) for step in steps[1:]] == [(101.0, "failed", 1), (500.0, "failed", 2)]
    assert steps[1].reason == Reason("error", "boom")


def test_what_the_journal_has_dropped_is_told_from_the_history() -> None:
    record = _record(MessageState.READY, Ending(101.0, "crashed", "w/1"), Ending(102.0, "lost", "w/2"))
    assert _told(record) == [(100.0, "sent"), (101.0, "crashed"), (102.0, "lost")]


def test_completing_is_told_even_if_no_event_was_kept() -> None:
    record = _record(MessageState.COMPLETED, finished_at=103.0)
    assert _told(record) == [(100.0, "sent"), (103.0, "completed")]
    (_, completed) = life(record, [_event(EventKind.COMPLETED, 103.01, attempt=1, seconds=2.0)])
    assert (completed.at, completed.seconds, completed.owner) == (103.0, 2.0, "w/1")


def test_a_loss_that_a_sweep_told_and_its_worker_noticed_is_one_thing() -> None:
    record = _record(MessageState.READY, Ending(101.0, "lost", "w/1"))
    swept = _event(EventKind.REQUEUE, 101.0, None, data={"ids": ["a"], "triggered_by": "scheduler"})
    noticed = _event(EventKind.LEASE_LOST, 103.0)
    for events in ([swept, noticed], [noticed, swept]):
        sent, lost = life(record, events)
        assert (sent.what, lost.what, lost.noticed_at) == ("sent", "lost", 103.0)


def test_a_loss_that_its_worker_notices_much_later_is_told_then() -> None:
    record = _record(MessageState.READY, Ending(101.0, "lost", "w/1"))
    told = _told(record, _event(EventKind.LEASE_LOST, 400.0))
    assert told == [(100.0, "sent"), (101.0, "lost"), (400.0, "lease_lost")]


def test_a_cancel_says_by_whom_and_from_whom() -> None:
    record = _record(MessageState.CANCELLED, Ending(101.0, "cancelled", "w/1"), finished_at=101.0)
    act = _event(EventKind.CANCELLED, 101.0, None, data={"ids": ["a"], "by": "ann@host", "triggered_by": "cli"})
    _, cancelled = life(record, [act, _event(EventKind.LEASE_LOST, 101.5)])
    assert (cancelled.by, cancelled.triggered_by, cancelled.owner) == ("ann@host", "cli", "w/1")
    assert (cancelled.noticed_at, cancelled.act) == (101.5, None)


def test_a_purge_is_told_as_one() -> None:
    record = _record(MessageState.CANCELLED, Ending(101.0, "cancelled"), finished_at=101.0)
    act = Event(EventKind.PURGED, 101.0, "q", data={"ids": ["a"], "by": "ann@host"})
    _, cancelled = life(record, [act])
    assert (cancelled.what, cancelled.act, cancelled.by) == ("cancelled", "purged", "ann@host")


def test_another_worker_s_event_is_another_fact() -> None:
    record = _record(MessageState.READY, Ending(101.0, "failed", "w/1", _WHY))
    told = _told(record, _event(EventKind.RETRIED, 101.0, "w/2", attempt=1))
    assert told == [(100.0, "sent"), (101.0, "failed"), (101.0, "failed")]


def test_a_redriven_message_keeps_its_earlier_life() -> None:
    record = _record(
        MessageState.COMPLETED, Ending(101.0, "dead", "w/1", _WHY), Ending(102.0, "redriven"), finished_at=103.0
    )
    redriven = Event(EventKind.REDRIVEN, 102.0, data={"ids": ["a"], "by": "ann@host"})
    steps = life(record, [redriven])
    assert [step.what for step in steps] == ["sent", "dead", "redriven", "completed"]
    assert steps[2].by == "ann@host"


def test_a_schedule_s_message_is_sent_by_it_and_may_stand_for_later_ticks() -> None:
    record = _record(MessageState.READY)
    ticks = [_event(EventKind.TICKED, at, None, data={"schedule": "nightly"}) for at in (100.0, 160.0)]
    sent, later = life(record, ticks)
    assert (sent.what, sent.act) == ("sent", "nightly")
    assert (later.what, later.act) == ("ticked", "nightly")


def test_an_event_of_a_kind_without_a_word_is_told_by_its_kind() -> None:
    event = _event(EventKind.LATE_SETTLE, 105.0, data={"outcome": "taken_over"})
    _, late = life(_record(MessageState.READY), [event])
    assert (late.what, late.owner, late.data) == ("late_settle", "w/1", {"outcome": "taken_over"})


def test_a_duplicate_says_why_it_came_again_as_its_worker_found_it() -> None:
    done = _event(EventKind.COMPLETED, 110.0, seconds=5.0)
    data = {"tier": "ledger", "cause": "sent_again", "deliveries": 2}
    steps = life(
        _record(MessageState.COMPLETED, finished_at=110.0), [done, _event(EventKind.DUPLICATE, 200.0, data=data)]
    )
    assert [(step.what, step.cause) for step in steps] == [
        ("sent", None), ("completed", None), ("duplicate", DuplicateCause.SENT_AGAIN)
    ]  # fmt: skip
    assert steps[-1].data == {"tier": "ledger"}


def test_why_a_duplicate_came_again_is_read_from_events_that_an_older_worker_wrote() -> None:
    lost = _event(EventKind.COMPLETED, 110.0, seconds=5.0, data={"delete": "unknown"})
    steps = life(_record(MessageState.COMPLETED, finished_at=110.0), [lost, _event(EventKind.DUPLICATE, 140.0)])
    assert steps[-1].cause is DuplicateCause.DELETE_FAILED


def test_a_cause_that_a_newer_worker_wrote_is_not_believed_blindly() -> None:
    known = _event(EventKind.DUPLICATE, 140.0, data={"cause": "a new one", "deliveries": 1})
    steps = life(_record(MessageState.COMPLETED, finished_at=110.0), [known])
    assert steps[-1].cause is DuplicateCause.SENT_AGAIN


def test_a_run_that_another_worker_had_too_says_so_unless_it_was_cancelled() -> None:
    late = _event(EventKind.LATE_SETTLE, 150.0, seconds=40.0, data={"outcome": "taken_over"})
    (_, step) = life(_record(MessageState.LEASED), [late])
    assert (step.what, step.cause) == ("late_settle", DuplicateCause.EXPIRED_MID_RUN)
    cancelled = _event(EventKind.LATE_SETTLE, 150.0, data={"outcome": "already_gone", "code": "cancelled", "by": "ada"})
    assert life(_record(MessageState.CANCELLED, finished_at=149.0), [cancelled])[-1].cause is None
