"""Limits as values, and what may be leased by them."""

import pytest
from tests.rules.limit_cases import CASES, Case

from tenure.errors import BadArgument
from tenure.limit import Limit, limit_from, per_second, rate_text
from tenure.rules.limits import Bucket, allowance, given_back, share, taken, tokens

NOW = 1_000.0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_the_rule_decides_as_the_table_says(case: Case) -> None:
    bucket = None if case.tokens is None else Bucket(case.tokens, NOW - case.seconds_ago)
    limit = Limit(case.most_running, case.per_second)
    allowed = allowance(limit, running=case.running, bucket=bucket, now=NOW, want=case.want)
    assert allowed.count == case.count
    assert allowed.wait_seconds == (None if case.wait_seconds is None else pytest.approx(case.wait_seconds, abs=1e-4))


def test_who_waits_as_long_as_it_is_told_gets_a_token() -> None:
    limit, bucket, now = Limit(per_second=0.3), None, NOW
    for _ in range(50):
        allowed = allowance(limit, running=0, bucket=bucket, now=now, want=1)
        if allowed.count:
            bucket = taken(limit, bucket, now, allowed.count)
        else:
            assert allowed.wait_seconds is not None
            now += allowed.wait_seconds
            assert allowance(limit, running=0, bucket=bucket, now=now, want=1).count == 1


def test_a_give_back_returns_what_was_taken() -> None:
    limit = Limit(per_second=5.0)
    bucket = given_back(taken(limit, None, NOW, 3), 3)
    assert tokens(limit, bucket, NOW) == 5.0


def test_a_lower_rate_cuts_the_bucket_and_a_higher_one_fills_it_in_a_second() -> None:
    bucket = taken(Limit(per_second=100.0), None, NOW, 10)
    assert tokens(Limit(per_second=0.1), bucket, NOW) == 1.0
    assert tokens(Limit(per_second=100.0), Bucket(0.0, NOW), NOW + 1) == 100.0


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_the_parts_of_a_limit_are_the_whole(workers: int) -> None:
    parts = [share(Limit(5, 2.0), place, workers) for place in range(workers)]
    assert sum(part.running or 0 for part in parts) == 5
    assert sum(part.per_second or 0.0 for part in parts) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ("100/m", 100 / 60),
        ("5/s", 5.0),
        ("1/10s", 0.1),
        ("2.5 / s", 2.5),
        ("10/h", 10 / 3600),
        ("1/d", 1 / 86400),
        (3, 3.0),
        (0.5, 0.5),
    ],
)
def test_a_rate_is_read_as_people_write_it(rate: object, expected: float) -> None:
    assert per_second(rate) == pytest.approx(expected)


@pytest.mark.parametrize(
    "rate", ["", "100", "m", "100/x", "0/s", "-1/s", "1/0s", "inf/s", 0, -1, True, None, float("nan")]
)
def test_what_is_no_rate_is_refused(rate: object) -> None:
    with pytest.raises(BadArgument, match="is not a rate"):
        per_second(rate)


@pytest.mark.parametrize("running", [0, -1, 1.5, True, "5"])
def test_what_is_no_number_of_messages_is_refused(running: object) -> None:
    with pytest.raises(BadArgument, match="whole number"):
        limit_from(running=running)


@pytest.mark.parametrize("text", ["100/m", "5/s", "1/h", "30/m", "7/d"])
def test_a_rate_is_shown_as_it_was_written(text: str) -> None:
    assert rate_text(per_second(text)) == text


def test_a_limit_is_shown_in_one_line() -> None:
    assert str(limit_from(running=5, rate="100/m")) == "5 running, 100/m"
    assert str(Limit()) == "no limit"
