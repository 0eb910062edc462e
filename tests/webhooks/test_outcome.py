"""What comes of an attempt: a table of cases."""

import pytest

from tenure.webhooks.outcome import (
    PATIENCE_SECONDS,
    WAITS,
    Again,
    Arrived,
    Attempt,
    GivenUp,
    Later,
    Outcome,
    attempt_in,
    describe,
    judge,
)
from tenure.webhooks.transport import Answer

#: Status, Retry-After, number of the attempt, seconds since the first one in vain, and what comes of it.
CASES: dict[str, tuple[int | None, float | None, int, float, Outcome]] = {
    "200": (200, None, 1, 0, Arrived()),
    "204": (204, None, 9, 1e6, Arrived()),
    "299": (299, None, 1, 0, Arrived()),
    "a redirect": (302, None, 1, 0, Again(5.0)),
    "400": (400, None, 1, 0, Again(5.0)),
    "404, second time": (404, None, 2, 5, Again(30.0)),
    "500, tenth time": (500, None, 10, 1e5, Again(43_200.0)),
    "500, fortieth time": (500, None, 40, 1e5, Again(43_200.0)),
    "no answer": (None, None, 3, 35, Again(120.0)),
    "the last one comes at the end of the patience": (500, None, 12, PATIENCE_SECONDS - 60, Again(60.0)),
    "patience is over": (500, None, 15, PATIENCE_SECONDS, GivenUp()),
    "410": (410, None, 1, 0, GivenUp(gone=True)),
    "410 with Retry-After": (410, 5.0, 1, 0, GivenUp(gone=True)),
    "429 with Retry-After": (429, 60.0, 1, 0, Later(60.0)),
    "503 with Retry-After": (503, 60.0, 4, 700, Later(60.0)),
    "Retry-After of 0": (503, 0.0, 1, 0, Later(1.0)),
    "Retry-After of a year": (503, 3e7, 1, 0, Later(3_600.0)),
    "Retry-After beyond the patience": (429, 600.0, 1, PATIENCE_SECONDS - 60, Later(60.0)),
    "Retry-After after the patience": (429, 60.0, 1, PATIENCE_SECONDS, GivenUp()),
    "429 without": (429, None, 1, 0, Again(5.0)),
    "500 with Retry-After": (500, 60.0, 1, 0, Again(5.0)),
}


@pytest.mark.parametrize(("status", "after", "attempt", "waited", "expected"), CASES.values(), ids=CASES)
def test_each_answer_has_its_outcome(
    status: int | None, after: float | None, attempt: int, waited: float, expected: Outcome
) -> None:
    assert judge(Answer(status=status, retry_after=after), attempt, waited, lambda: 0.5) == expected


def test_deliveries_that_failed_together_do_not_come_back_together() -> None:
    draws = iter(range(11))
    waits = {judge(Answer(status=500), 3, 0, lambda: next(draws) / 10) for _ in range(11)}
    assert len(waits) == 11
    assert all(isinstance(one, Again) and 0.79 * WAITS[2] < one.after < 1.21 * WAITS[2] for one in waits)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(status=500, seconds=0.1234, error="a: b\nc"), Attempt(500, 0.123, "a: b\nc")),
        (Answer(status=404, seconds=1.0), Attempt(404, 1.0, "")),
        (Answer(seconds=15.0, error="no answer within 15 s"), Attempt(None, 15.0, "no answer within 15 s")),
    ],
)
def test_the_history_tells_status_time_and_text(answer: Answer, expected: Attempt) -> None:
    assert attempt_in(describe(answer)) == expected
    found = attempt_in(f"gave up: {describe(answer)}")
    assert found is not None
    assert found.status == expected.status


def test_other_reasons_are_about_no_attempt() -> None:
    assert attempt_in("endpoint orders is disabled: maintenance") is None
