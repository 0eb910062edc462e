"""When a failed message comes back, and when it does not."""

from hypothesis import given
from hypothesis import strategies as st

from tenure.retry import RetryPolicy


def test_the_delay_doubles_from_the_first_one() -> None:
    policy = RetryPolicy(first_delay_seconds=3.0)
    assert [policy.delay_seconds(attempt, lambda: 1.0) for attempt in (1, 2, 3, 4)] == [3, 6, 12, 24]


def test_jitter_takes_away_half_at_most() -> None:
    policy = RetryPolicy(first_delay_seconds=3.0)
    assert policy.delay_seconds(1, lambda: 0.0) == 1.5


@given(
    attempt=st.integers(1, 10**9),
    draw=st.floats(0, 1),
    first=st.floats(0, 1e6),
    most=st.floats(0, 1e6),
)
def test_the_delay_is_never_longer_than_the_longest(attempt: int, draw: float, first: float, most: float) -> None:
    delay = RetryPolicy(first_delay_seconds=first, max_delay_seconds=most).delay_seconds(attempt, lambda: draw)
    assert 0 <= delay <= most


def test_it_is_exhausted_at_the_limit() -> None:
    policy = RetryPolicy(max_attempts=3)
    assert [policy.is_exhausted(attempts) for attempts in (2, 3, 4)] == [False, True, True]
