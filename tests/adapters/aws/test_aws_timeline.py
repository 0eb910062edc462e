"""The service's time, as its answers tell it to the second."""

from email.utils import formatdate

import pytest

from tenure.adapters.aws.timeline import Timeline
from tenure.clock import SystemClock

SERVICE, OURS = 1_800_000_000.0, 1000.0
#: How long an answer takes, and how often there is one: at ever other places within a second.
LATENCY, EVERY = 0.01, 1.37
MINUTE = 60.0


class Ours(SystemClock):
    """A machine's clock, in the hands of a test."""

    def __init__(self) -> None:
        self.now = OURS

    def monotonic(self) -> float:
        return self.now


def _errors(ours: Ours, timeline: Timeline, seconds: float, rate: float = 1.0, ahead: float = 0.0) -> list[float]:
    """How far off it is after each answer. The service's clock runs by `rate`, and is `ahead`."""

    def service() -> float:
        return SERVICE + ahead + (ours.now - OURS) * rate

    errors: list[float] = []
    end = ours.now + seconds
    while ours.now < end:
        asked = ours.now
        ours.now += LATENCY
        timeline.hear(formatdate(int(service()), usegmt=True), asked)
        ours.now += EVERY - LATENCY
        errors.append(abs(timeline.now() - service()))
    return errors


@pytest.mark.parametrize("drift", [0.0, 30e-6, -30e-6])
def test_it_is_known_to_hundredths_of_a_second_though_clocks_drift(drift: float) -> None:
    ours = Ours()
    timeline = Timeline(ours)
    _errors(ours, timeline, 10 * MINUTE, 1.0 + drift)
    assert max(_errors(ours, timeline, 120 * MINUTE, 1.0 + drift)) < 0.05


@pytest.mark.parametrize("seconds", [-3600.0, 3600.0])
def test_a_service_clock_that_is_set_is_followed(seconds: float) -> None:
    ours = Ours()
    timeline = Timeline(ours)
    _errors(ours, timeline, 10 * MINUTE)
    assert _errors(ours, timeline, 10 * MINUTE, ahead=seconds)[-1] < 0.05


@pytest.mark.parametrize("second_begins_in", [0.01, 0.25, 0.5, 0.75, 0.99])
def test_the_service_is_never_earlier_than_the_earliest_nor_later_than_the_latest(second_begins_in: float) -> None:
    """A process that has heard one answer, and that a slow one, may be off by a second; its bounds hold."""
    ours = Ours()
    timeline = Timeline(ours)
    service = SERVICE + 1.0 - second_begins_in  # when the answer is made, half-way between asking and hearing
    asked, ours.now = ours.now, ours.now + 0.4
    timeline.hear(formatdate(int(service), usegmt=True), asked)
    service += 0.2
    assert timeline.earliest() <= service <= timeline.latest()
    assert timeline.earliest() <= timeline.now() <= timeline.latest()
