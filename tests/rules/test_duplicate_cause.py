"""Why a message came again: a table of what its events show."""

from typing import Any

import pytest

from tenure.event import Event, EventKind
from tenure.rules.duplicate_cause import DuplicateCause, duplicate_cause

K, C = EventKind, DuplicateCause


def _at(at: float, kind: EventKind, seconds: float | None = None, **data: Any) -> Event:
    return Event(kind, at, "q", "t", "a", "w/1", seconds=seconds, data=data)


DONE = _at(110.0, K.COMPLETED, seconds=5.0)

#: What is known of the message, deliveries with this one, when it was sent, and why it came again.
CASES: dict[str, tuple[list[Event], int, float | None, DuplicateCause | None]] = {
    "its delete got no answer": ([_at(110.0, K.COMPLETED, delete="unknown")], 2, 100.0, C.DELETE_FAILED),
    "its worker died between seal and delete": ([_at(108.0, K.RECEIVED)], 2, 100.0, C.DELETE_FAILED),
    "its worker died, and a sweep returned it": ([_at(140.0, K.REQUEUE, ids=["a"])], 2, 100.0, C.DELETE_FAILED),
    "nothing is known, but that it was delivered before": ([], 2, 100.0, C.DELETE_FAILED),
    "its delete came too late": ([_at(110.0, K.COMPLETED, delete="taken_over")], 2, 100.0, C.EXPIRED_MID_RUN),
    "its delete found it gone": ([_at(110.0, K.COMPLETED, delete="already_gone")], 2, 100.0, C.EXPIRED_MID_RUN),
    "another worker had it meanwhile": (
        [_at(107.0, K.GIVEN_BACK, code="running_elsewhere"), DONE], 2, 100.0, C.EXPIRED_MID_RUN,
    ),
    "another worker lost it meanwhile": ([_at(108.0, K.LEASE_LOST), DONE], 2, 100.0, C.EXPIRED_MID_RUN),
    "another worker settled it too late": ([DONE, _at(115.0, K.LATE_SETTLE)], 3, 100.0, C.EXPIRED_MID_RUN),
    "a lease was lost long before the run that completed it": ([_at(50.0, K.LEASE_LOST), DONE], 2, 40.0, C.REDELIVERED),
    "another worker ran it, and nobody told of the end": ([_at(107.0, K.LEASE_LOST)], 2, 100.0, C.EXPIRED_MID_RUN),
    "its delete worked": ([DONE], 2, 100.0, C.REDELIVERED),
    "its delete worked, and it was never delivered": ([DONE], 1, 100.0, C.SENT_AGAIN),
    "it was sent later than it was done": ([DONE], 2, 200.0, C.SENT_AGAIN),
    "another message of its key was done": ([], 1, 100.0, C.SENT_AGAIN),
    "it was redriven after it was done": ([DONE, _at(120.0, K.REDRIVEN, ids=["a"])], 3, 100.0, C.REDRIVEN),
    "it was redriven, and another of its key was done": ([_at(120.0, K.REDRIVEN, ids=["a"])], 1, 100.0, C.REDRIVEN),
    "it was redriven before it was done": ([_at(90.0, K.REDRIVEN, ids=["a"]), DONE], 2, 80.0, C.REDELIVERED),
    "its only delivery is known, and no end": ([_at(100.0, K.RECEIVED)], 1, 100.0, None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_cause(case: str) -> None:
    events, deliveries, sent_at, cause = CASES[case]
    assert duplicate_cause(events, deliveries=deliveries, sent_at=sent_at) == cause


def test_every_cause_has_a_case() -> None:
    assert {case[3] for case in CASES.values()} == {None, *DuplicateCause}
