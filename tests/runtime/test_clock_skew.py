"""A machine whose wall clock is not the store's: said once, and when it is right again."""

import logging

import pytest

from tenure.rules.skew import find_skew
from tenure.runtime.background.clock_skew import ClockSkewWatch
from tenure.testing.virtual import SkewedClock, VirtualClock


@pytest.mark.parametrize(
    ("skew", "said"),
    [
        (0.0, None), (2.0, None), (-2.0, None),
        (2.1, "2.1 s ahead of the store's"), (-2.1, "2.1 s behind the store's"),
        (3600.0, "3600.0 s ahead of the store's"), (-86_400.0, "86400.0 s behind the store's"),
    ],
)  # fmt: skip
def test_what_is_too_far(skew: float, said: str | None) -> None:
    found = find_skew("redis://here", own=1_000_000.0 + skew, store=1_000_000.0)
    assert [one.id for one in found] == ([] if said is None else ["clock_skew"])
    assert all(said is not None and said in one.evidence and one.subject == "redis://here" for one in found)


def test_it_is_said_once_and_again_after_it_was_right(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    own = SkewedClock(virtual_clock, 0.0)
    skewing = ClockSkewWatch("worker-1", own, virtual_clock.wall, 1.0)
    for ahead in (0.0, 1.9, 2.5, 300.0, 1.5, 2.5, 0.9, 0.0, -2.1, -5.0):
        own.ahead = ahead
        skewing.look()
    said = [record.getMessage() for record in caplog.records]
    told = "this machine's wall clock is {} the store's, by which schedules and expires go"
    remedy = "Synchronise this machine's clock (NTP) [clock_skew]"
    assert said == [
        f"worker-1: {told.format('2.5 s ahead of')}. {remedy}",
        "worker-1: this machine's wall clock agrees with the store's again",
        f"worker-1: {told.format('2.1 s behind')}. {remedy}",
    ]
