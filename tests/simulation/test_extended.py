"""A timeout that a loop of one's own extends while it works: 600 seconds, 300 more every 240, as in many guides."""

import pytest

from tenure.simulation.durations import drawn
from tenure.simulation.policy import policy_of
from tenure.simulation.result import Result
from tenure.simulation.running import simulate
from tenure.simulation.scenario import Scenario


def _run(policy: str, spec: str, count: int = 12, **scenario: object) -> Result:
    settings = {"workers": 4, "slots": 1, **scenario}
    return simulate(Scenario(works=drawn(spec, count, 1), **settings), policy_of(policy))  # type: ignore[arg-type]


def test_work_that_outlives_the_timeout_is_run_once() -> None:
    extended = _run("extended:600:300:240", "fixed:1500", workers=30).measures
    assert (extended.duplicates, extended.overlapped, extended.runs, extended.finished) == (0, 0, 12, 12)
    assert _run("fixed:600", "fixed:1500", workers=30).measures.duplicates == 12


def test_a_beat_that_would_gain_nothing_is_not_sent() -> None:
    # After 240 s there are 360 left, and 300 would be less. From then on at 480, 720, 960, 1200 and 1440.
    result = _run("extended:600:300:240", "fixed:1500")
    assert result.measures.beats == 12 * 5
    assert result.calls["change_visibility"] == 12 * 5, "a loop of one's own sends a request for each"
    assert result.calls["state_write"] == 0


def test_after_a_crash_the_rest_of_the_timeout_is_waited_for() -> None:
    found = _run("extended:600:300:240", "fixed:1500", 60, crash_rate=0.3, restart_seconds=1.0, workers=60).measures
    assert found.recoveries > 10
    assert found.recovery_p50 is not None
    assert found.recovery_p99 is not None
    # 600 s at most before the first beat, from 60 to 300 s after it.
    assert 60 <= found.recovery_p50 <= 300
    assert found.recovery_p99 <= 602
    fixed = _run("fixed:1800", "fixed:1500", 60, crash_rate=0.3, restart_seconds=1.0, workers=60).measures
    assert fixed.recovery_p50 is not None
    assert fixed.recovery_p50 > 3 * found.recovery_p50


def test_a_delete_that_fails_is_a_duplicate_as_in_every_loop_of_ones_own() -> None:
    found = _run("extended:600:300:240", "fixed:100", 400, delete_failure_rate=0.05, workers=40).measures
    assert found.duplicates == pytest.approx(20, abs=12)
