"""The time of the account, as its answers tell it to the second: how early and how late it may be."""

from email.utils import formatdate

import pytest

from tenure.adapters.azure.timeline import Timeline
from tenure.clock import SystemClock

SERVICE, OURS = 1_800_000_000.0, 1000.0
LATENCY = 0.02


class Ours(SystemClock):
    """A machine's clock, in the hands of a test."""

    def __init__(self) -> None:
        self.now = OURS

    def monotonic(self) -> float:
        return self.now


def _hear(ours: Ours, timeline: Timeline) -> None:
    """One answer, at this moment."""
    asked = ours.now
    ours.now += LATENCY
    timeline.hear(formatdate(int(_service(ours)), usegmt=True), asked)


def _service(ours: Ours) -> float:
    return SERVICE + ours.now - OURS


@pytest.mark.parametrize("phase", [0.0, 0.1, 0.5, 0.9, 0.97])
def test_a_lease_of_one_who_has_heard_little_is_not_over_early_for_one_who_has_heard_much(phase: float) -> None:
    ours = Ours()
    old, new = Timeline(ours), Timeline(ours)
    for _ in range(200):
        _hear(ours, old)
        ours.now += 0.137
    ours.now = float(int(ours.now)) + phase
    _hear(ours, new)
    deadline, ends = new.latest() + 30.0, ours.now + 30.0
    ours.now = ends - 0.001
    assert old.now() < deadline, f"taken {old.now() - deadline:.2f} s early"
    ours.now = ends + 1.1
    assert old.now() > deadline, "never more than a second late"


def test_after_many_answers_early_and_late_are_nearly_one() -> None:
    ours = Ours()
    timeline = Timeline(ours)
    for _ in range(200):
        _hear(ours, timeline)
        ours.now += 0.137
    assert timeline.now() <= _service(ours) <= timeline.latest() < timeline.now() + 0.1
