"""When a failing endpoint rests, and when it is disabled."""

import pytest

from tenure.webhooks.breaker import (
    FAILURES_TO_OPEN,
    FIRST_REST_SECONDS,
    LONGEST_REST_SECONDS,
    LONGEST_RETRY_AFTER_SECONDS,
    PROBE_SECONDS,
    WELL,
    BreakerState,
    Health,
    after_failure,
    has_failed_for,
    probing,
    state_of,
)

T = 1_000_000.0


def failed(times: int, health: Health = WELL, at: float = T) -> Health:
    for _ in range(times):
        health = after_failure(health, at, 500, "out of order")
    return health


def test_it_opens_after_some_failures_with_no_success_between_them() -> None:
    assert state_of(failed(FAILURES_TO_OPEN - 1), T) is BreakerState.CLOSED
    opened = failed(FAILURES_TO_OPEN)
    assert state_of(opened, T) is BreakerState.OPEN
    assert (opened.status, opened.error, opened.since) == (500, "out of order", T)


def test_it_is_half_open_when_its_rest_is_over() -> None:
    opened = failed(FAILURES_TO_OPEN)
    assert state_of(opened, T + FIRST_REST_SECONDS - 0.1) is BreakerState.OPEN
    assert state_of(opened, T + FIRST_REST_SECONDS) is BreakerState.HALF_OPEN


def test_requests_that_were_under_way_do_not_open_it_for_longer() -> None:
    opened = failed(FAILURES_TO_OPEN)
    later = failed(50, opened, T + 1)
    assert later.rests_until == opened.rests_until
    assert later.rests == 1


def test_a_failed_probe_opens_it_for_twice_as_long_up_to_a_bound() -> None:
    health, rests = failed(FAILURES_TO_OPEN), []
    for _ in range(30):
        at = health.rests_until
        health = failed(1, health, at)
        rests.append(health.rests_until - at)
    assert rests[:3] == [2 * FIRST_REST_SECONDS, 4 * FIRST_REST_SECONDS, 8 * FIRST_REST_SECONDS]
    assert max(rests) == LONGEST_REST_SECONDS


def test_one_worker_at_a_time_probes_and_one_that_died_is_forgotten() -> None:
    health = failed(FAILURES_TO_OPEN)
    taken = probing(health, T + 20)
    assert taken is not None
    assert probing(taken, T + 21) is None
    assert probing(taken, T + 20 + PROBE_SECONDS) is not None


def test_a_failed_probe_lets_the_next_one_go() -> None:
    taken = probing(failed(FAILURES_TO_OPEN), T + 20)
    assert taken is not None
    assert probing(failed(1, taken, T + 21), T + 60) is not None


@pytest.mark.parametrize(("asked", "rest"), [(60.0, 60.0), (1e9, LONGEST_RETRY_AFTER_SECONDS)])
def test_it_rests_for_as_long_as_the_receiver_asks(asked: float, rest: float) -> None:
    health = after_failure(WELL, T, 429, "", retry_after=asked)
    assert health.rests_until == T + rest
    assert state_of(health, T + rest) is BreakerState.HALF_OPEN


def test_it_has_failed_for_long_only_if_nothing_succeeded_and_often_enough() -> None:
    day = 86_400.0
    assert not has_failed_for(WELL, T, day)
    assert not has_failed_for(failed(FAILURES_TO_OPEN), T + day - 1, day)
    assert has_failed_for(failed(FAILURES_TO_OPEN), T + day, day)
    assert not has_failed_for(failed(FAILURES_TO_OPEN - 1), T + day, day)
