"""Reporting: one compact event a message, and a log line for the abnormal."""

import logging
from typing import Any

import msgspec
import pytest

from tenure import Tenure
from tenure.event import Event, EventKind
from tenure.lease import Lease
from tenure.message import Counters, Message, Overrides
from tenure.runtime.delivery import Delivery
from tenure.runtime.path import events, log_lines
from tenure.settlement import Outcome, Settlement
from tenure.tasks.task import Task
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Completed, Dead, Duplicate, Lost, Reason, Retried, Returned, Snoozed, Verdict

BROKEN = Reason("error", "it broke", "Traceback: …\n")
UNKNOWN = Reason("unknown_task", "no such task")


async def _deliver() -> None: ...


TASK: Task[..., Any] = Tenure("memory://").task(name="deliver", max_attempts=5)(_deliver)


def delivery(verdict: Verdict, *, readable: bool = True, ran: bool = True) -> Delivery:
    lease = Lease("m1", "mail", b"", "w/1", 7, 7, 30.0, 0.0, Counters(attempts=1))
    one = Delivery(lease)
    if readable:
        one.message = Message(id="m1", queue="mail", task="deliver", body=msgspec.Raw(b"{}"))
        one.task = TASK
    if ran:
        one.started, one.finished = 10.0, 12.5
    one.verdict = verdict
    return one


def event(verdict: Verdict, outcome: Outcome | None, **fields: bool) -> Event:
    settlement = None if outcome is None else Settlement(outcome)
    return events.event_of(delivery(verdict, **fields), settlement, owner="w/1", at=99.0)


@pytest.mark.parametrize(
    ("verdict", "outcome", "kind"),
    [
        (Completed(b"1"), Outcome.DELETED, EventKind.COMPLETED),
        (Duplicate(b"1"), Outcome.DELETED, EventKind.DUPLICATE),
        (Retried(1.0, BROKEN), Outcome.RETURNED, EventKind.RETRIED),
        (Returned(1.0, BROKEN), Outcome.RETURNED, EventKind.GIVEN_BACK),
        (Dead(BROKEN), Outcome.DEAD, EventKind.DEAD),
        (Completed(b"1"), Outcome.TAKEN_OVER, EventKind.LATE_SETTLE),
        (Completed(b"1"), Outcome.ALREADY_GONE, EventKind.LATE_SETTLE),
        (Completed(b"1"), Outcome.UNKNOWN, EventKind.LATE_SETTLE),
        (Lost(), None, EventKind.LEASE_LOST),
        (Completed(b"1"), None, EventKind.LEASE_LOST),
    ],
)
def test_every_end_is_one_fact(verdict: Verdict, outcome: Outcome | None, kind: EventKind) -> None:
    assert event(verdict, outcome).kind is kind


def test_an_event_says_who_what_when_and_how_long() -> None:
    assert event(Completed(b"1"), Outcome.DELETED) == Event(
        EventKind.COMPLETED, 99.0, "mail", "deliver", "m1", "w/1", attempt=2, seconds=2.5
    )


def test_what_never_ran_took_no_known_time() -> None:
    told = event(Dead(BROKEN), Outcome.DEAD, readable=False, ran=False)
    assert (told.seconds, told.task) == (None, None)


def test_a_failure_carries_its_reason() -> None:
    assert event(Retried(1.23456, BROKEN), Outcome.RETURNED).data == {
        "after_seconds": 1.235,
        "code": "error",
        "reason": "it broke",
    }
    assert event(Dead(BROKEN), Outcome.DEAD).data == {"code": "error", "reason": "it broke"}


def test_a_settle_that_came_too_late_says_what_was_found() -> None:
    assert event(Completed(b"1"), Outcome.TAKEN_OVER).data == {"outcome": "taken_over"}


@pytest.mark.parametrize("outcome", list(Outcome))
def test_what_the_ledger_sealed_is_completed_whatever_the_broker_says(outcome: Outcome) -> None:
    one = delivery(Completed(b"1"))
    one.sealed = True
    told = events.event_of(one, Settlement(outcome), owner="w/1", at=0.0)
    assert told.kind is EventKind.COMPLETED
    assert told.data == ({} if Settlement(outcome).took_effect else {"delete": outcome.value})


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        (Completed(b"1"), Outcome.DELETED),
        (Completed(b"1"), Outcome.TAKEN_OVER),
        (Duplicate(b"1"), Outcome.DELETED),
        (Retried(1.0, BROKEN), Outcome.RETURNED),
        (Lost(), None),
    ],
)
def test_the_events_of_a_batch_are_those_of_each_message(verdict: Verdict, outcome: Outcome | None) -> None:
    settlement = None if outcome is None else Settlement(outcome)
    several = [(delivery(verdict, ran=ran), settlement) for ran in (True, False)]
    expected = [events.event_of(one, end, owner="w/1", at=99.0) for one, end in several]
    assert events.events_of(several, owner="w/1", at=99.0) == expected


def test_every_event_can_be_stored() -> None:
    told = event(Completed(b"1"), Outcome.TAKEN_OVER)
    assert msgspec.json.decode(msgspec.json.encode(told), type=Event) == told


@pytest.mark.parametrize(
    ("verdict", "outcome", "level", "words"),
    [
        (Retried(8.0, BROKEN), Outcome.RETURNED, logging.WARNING, "it broke; again in 8.0 s"),
        (Dead(BROKEN), Outcome.DEAD, logging.ERROR, "it broke; dead letter (error)"),
        (Returned(1.0, BROKEN), Outcome.RETURNED, logging.INFO, "it broke; returned, ready in 1.0 s"),
        (Returned(1.0, UNKNOWN), Outcome.RETURNED, logging.WARNING, "no such task; returned, ready in 1.0 s"),
        (Completed(b"1"), Outcome.TAKEN_OVER, logging.WARNING, "settled too late (taken_over)"),
        (Completed(b"1"), Outcome.UNKNOWN, logging.WARNING, "the answer to its settle was lost"),
        (
            Lost(),
            None,
            logging.WARNING,
            "it lost its lease: the message was cancelled, or another worker has it now; nothing was settled",
        ),
    ],
)
def test_the_abnormal_is_logged(
    verdict: Verdict, outcome: Outcome | None, level: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    log_lines.log(delivery(verdict), None if outcome is None else Settlement(outcome))
    (record,) = caplog.records
    assert record.levelno == level
    assert record.getMessage().startswith("deliver m1 (attempt 2 of 5): ")
    assert words in record.getMessage()


def told(verdict: Verdict, caplog: pytest.LogCaptureFixture, **fields: bool) -> logging.LogRecord:
    outcome = {Retried: Outcome.RETURNED, Returned: Outcome.RETURNED, Dead: Outcome.DEAD}[type(verdict)]
    log_lines.log(delivery(verdict, **fields), Settlement(outcome))
    (record,) = caplog.records
    return record


def test_a_record_of_a_failure_carries_what_machines_ask_for(caplog: pytest.LogCaptureFixture) -> None:
    record = told(Retried(8.0, BROKEN), caplog)
    fields = {name: record.__dict__[name] for name in ("task", "message_id", "attempt", "code", "next")}
    assert fields == {
        "task": "deliver",
        "message_id": "m1",
        "attempt": 2,
        "code": "error",
        "next": "again in 8.0 s",
    }


def test_a_line_about_a_message_carries_its_correlation(caplog: pytest.LogCaptureFixture) -> None:
    one = delivery(Retried(1.0, BROKEN))
    assert one.message is not None
    one.message = msgspec.structs.replace(one.message, correlation_id="c-1")
    log_lines.log(one, Settlement(Outcome.RETURNED))
    (record,) = caplog.records
    assert record.__dict__["correlation_id"] == "c-1"


def test_the_traceback_stands_below_the_line_whatever_formats_it(caplog: pytest.LogCaptureFixture) -> None:
    record = told(Dead(Reason("max_attempts", "gave up", "Traceback: …\n")), caplog)
    plain = logging.Formatter("%(levelname)s %(message)s").format(record)
    assert plain == "ERROR deliver m1 (attempt 2 of 5): gave up; dead letter (max_attempts)\nTraceback: …"


def test_a_message_that_cannot_be_read_is_told_by_its_id(caplog: pytest.LogCaptureFixture) -> None:
    record = told(Dead(BROKEN), caplog, readable=False)
    assert record.getMessage() == "unreadable message m1: it broke; dead letter (error)"
    assert "task" not in record.__dict__


def test_the_limit_of_the_message_is_the_one_that_is_told(caplog: pytest.LogCaptureFixture) -> None:
    one = delivery(Retried(1.0, BROKEN))
    assert one.message is not None
    one.message = msgspec.structs.replace(one.message, overrides=Overrides(max_attempts=9))
    log_lines.log(one, Settlement(Outcome.RETURNED))
    assert "(attempt 2 of 9)" in caplog.text


def test_a_task_at_its_limit_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_lines.log(delivery(Returned(1.0, Reason("concurrency", "x"))), Settlement(Outcome.RETURNED))
    assert caplog.records == []


def test_of_many_strangers_one_line_a_task_and_minute_is_enough(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    clock = VirtualClock()
    strangers = log_lines.UnknownTaskLog(clock)

    def meet(task: str, times: int) -> list[str]:
        caplog.clear()
        for _ in range(times):
            one = delivery(Returned(2.0, UNKNOWN))
            assert one.message is not None
            one.message = msgspec.structs.replace(one.message, task=task)
            log_lines.log(one, Settlement(Outcome.RETURNED), strangers)
        return [record.getMessage().partition("; ")[2] for record in caplog.records]

    assert meet("new", 500) == ["returned, ready in 2.0 s"]
    assert meet("other", 2) == ["returned, ready in 2.0 s"]
    clock.now += 59
    assert meet("new", 1) == []
    clock.now += 1
    assert meet("new", 1) == ["returned, ready in 2.0 s (as were 500 before it)"]


def test_the_names_of_strangers_do_not_fill_the_memory() -> None:
    strangers = log_lines.UnknownTaskLog(VirtualClock())
    for number in range(5_000):
        strangers.untold(f"task-{number}")
    assert len(strangers._told) <= 1_000


def test_what_is_given_back_without_a_delay_is_given_back_at_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert told(Returned(0.0, BROKEN), caplog).getMessage().endswith("it broke; returned at once")


def test_what_went_well_is_not_worth_a_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_lines.log(delivery(Completed(b"1")), Settlement(Outcome.DELETED))
    log_lines.log(delivery(Duplicate(b"1")), Settlement(Outcome.DELETED))
    assert caplog.records == []


@pytest.mark.parametrize("is_sealed", [False, True])
def test_what_went_well_is_a_line_for_those_who_want_each_message(
    caplog: pytest.LogCaptureFixture, *, is_sealed: bool
) -> None:
    caplog.set_level(logging.DEBUG, logger="tenure.worker")
    one = delivery(Completed(b"1"))
    one.sealed = is_sealed
    one.started, one.finished = 100.0, 100.25
    assert one.message is not None
    one.message = msgspec.structs.replace(one.message, sent_at=1000.0)
    log_lines.log(one, Settlement(Outcome.DELETED), at=1002.0)
    (record,) = caplog.records
    assert record.levelno == logging.DEBUG
    assert record.getMessage() == "deliver m1 (attempt 2 of 5): completed in 0.250 s, 1.750 s after it was sent"
    assert (record.__dict__["seconds"], record.__dict__["waited_seconds"]) == (0.25, 1.75)
    assert record.__dict__["message_id"] == "m1"


def test_a_snooze_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="tenure.worker")
    log_lines.log(delivery(Snoozed(60.0, Reason("snoozed", "429"))), Settlement(Outcome.RETURNED))
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert record.getMessage().endswith("429; snoozed, again in 60.0 s")


@pytest.mark.parametrize("settlement", [None, Settlement(Outcome.ALREADY_GONE), Settlement(Outcome.TAKEN_OVER)])
@pytest.mark.parametrize(("by", "words"), [("alice (cli)", "cancelled by alice (cli); "), ("", "cancelled; ")])
def test_a_users_cancel_is_no_warning(
    caplog: pytest.LogCaptureFixture, settlement: Settlement | None, by: str, words: str
) -> None:
    caplog.set_level(logging.INFO)
    one = delivery(Lost() if settlement is None else Completed(b"1"))
    one.cancelled_by = by
    log_lines.log(one, settlement)
    (record,) = caplog.records
    assert (record.levelname, record.__dict__["code"]) == ("INFO", "cancelled")
    assert words in record.getMessage()
    fact = events.event_of(one, settlement, owner="w/1", at=1.0)
    assert (fact.data["code"], fact.data["by"]) == ("cancelled", by)
