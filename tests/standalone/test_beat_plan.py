"""When to beat, and how much to ask for."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import BadArgument
from tenure.timing.beat import MARGIN_SECONDS, BeatPlan


def _beats(plan: BeatPlan, first: float, length: float) -> list[tuple[float, int]]:
    """The moments and seconds of all beats of a run of that length, none of which fails."""
    now, deadline, beats = 0.0, first, []
    due = plan.next_due(now, deadline)
    while due < length and not plan.is_at_limit(0.0, deadline):
        now = due
        seconds = plan.seconds_to_ask(now, 0.0, deadline)
        if seconds:
            deadline = now + seconds
            beats.append((now, seconds))
        due = plan.next_due(now, deadline)
    return beats


def test_a_third_of_the_extension_is_the_interval_unless_told() -> None:
    plan = BeatPlan.of(30, None, math.inf)
    assert plan.interval_seconds == 10
    assert plan.forgives_a_missed_beat
    assert _beats(plan, 30, 35) == [(10, 30), (20, 30), (30, 30)]


@pytest.mark.parametrize(("minutes", "count"), [(5, 0), (15, 2), (25, 5)])
def test_600_240_300_beats_as_seldom_as_it_can(minutes: int, count: int) -> None:
    plan = BeatPlan.of(300, 240, math.inf)
    assert not plan.forgives_a_missed_beat
    beats = _beats(plan, 600, minutes * 60)
    assert len(beats) == count
    # At 240 s a beat would end the lease at 540 s, which lasts until 600 s anyway: it is not sent.
    assert all(moment >= 480 for moment, _ in beats)


def test_a_lease_that_is_shorter_than_the_interval_is_beaten_for_sooner() -> None:
    assert BeatPlan.of(300, 240, math.inf).next_due(0, 30) == 10


def test_no_beat_asks_for_more_than_a_delivery_may_be_held() -> None:
    plan = BeatPlan.of(3600, 1200, 43_200)
    deadline = 3600.0
    for moment, seconds in _beats(plan, 3600, 50_000):
        assert seconds >= 1
        deadline = moment + seconds
        assert deadline <= 43_200 - MARGIN_SECONDS
    assert deadline > 43_200 - MARGIN_SECONDS - 1, "and all of it is used"
    assert plan.is_at_limit(0, deadline)


def test_a_failed_beat_comes_again_while_there_is_time() -> None:
    plan = BeatPlan.of(30, 10, math.inf)
    now, tries = 10.0, 0
    while now < 30:
        now = plan.retry_due(now, 30)
        tries += 1
    assert 5 <= tries < 40
    assert plan.retry_due(100, 30) == 102.5, "and goes on calmly after it"


@pytest.mark.parametrize(("extension", "interval"), [(30, 30), (30, 0), (0.5, None), (math.inf, None), (30, -1)])
def test_a_plan_that_cannot_work_is_refused(extension: float, interval: float | None) -> None:
    with pytest.raises(BadArgument, match="cannot keep a lease"):
        BeatPlan.of(extension, interval, math.inf)


@given(extension=st.floats(1, 5000), part=st.floats(0.05, 0.95), first=st.floats(1, 5000), limit=st.floats(60, 50_000))
def test_a_lease_never_ends_between_beats_nor_gets_shorter(
    extension: float, part: float, first: float, limit: float
) -> None:
    plan = BeatPlan.of(extension, extension * part, limit)
    deadline = first
    for count, (moment, seconds) in enumerate(_beats(plan, first, 10 * extension)):
        assert moment < deadline
        assert moment + seconds > deadline
        assert moment + seconds <= limit
        deadline = moment + seconds
        assert count < 10_000
