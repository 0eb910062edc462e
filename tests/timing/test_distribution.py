"""How long runs took, in buckets that a plot can draw."""

import itertools
import random

import pytest

from tenure.timing.distribution import MOST_BUCKETS, distribution


def test_nothing_is_no_bucket() -> None:
    assert distribution([]) == ()


@pytest.mark.parametrize("spread", [0.1, 1.0, 4.0])
def test_every_run_is_in_one_bucket_and_there_are_not_too_many(spread: float) -> None:
    chance = random.Random(7)
    seconds = [chance.lognormvariate(1.0, spread) for _ in range(1_000)]
    buckets = distribution(seconds)
    assert 1 < len(buckets) <= MOST_BUCKETS
    assert sum(bucket.runs for bucket in buckets) == 1_000
    for bucket in buckets:
        assert bucket.runs == sum(bucket.from_seconds <= one < bucket.to_seconds for one in seconds)
    borders = [(bucket.from_seconds, bucket.to_seconds) for bucket in buckets]
    assert all(one[1] <= following[0] for one, following in itertools.pairwise(borders))


def test_times_that_are_alike_are_told_apart_within_a_sixteenth() -> None:
    (one, other) = distribution([1.0, 1.2])
    assert (one.from_seconds, one.to_seconds) == (1.0, 1.0625)
    assert other.from_seconds <= 1.2 < other.to_seconds


def test_no_time_at_all_is_counted_too() -> None:
    (bucket,) = distribution([0.0])
    assert bucket.runs == 1
