"""The policies side by side: what each does to the same workload and the same misfortunes."""

import pytest

from tenure.simulation.durations import drawn
from tenure.simulation.policy import policy_of
from tenure.simulation.result import Result
from tenure.simulation.running import simulate
from tenure.simulation.scenario import Scenario, Work


def _run(policy: str, works: tuple[Work, ...], **scenario: object) -> Result:
    settings = {"workers": 4, "slots": 2, **scenario}
    return simulate(Scenario(works=works, **settings), policy_of(policy))  # type: ignore[arg-type]


LONG_AND_SHORT = (Work(40.0),) * 30 + (Work(200.0),) * 10


def test_a_loop_of_ones_own_runs_twice_what_outlives_its_timeout() -> None:
    found = _run("fixed:90", LONG_AND_SHORT, workers=20, stale_deletes_work=True).measures
    assert found.duplicates == found.overlapped == 10
    # At 90 s and at 180 s the message is there again; the first delete, at 200 s, works.
    assert found.runs == 30 + 3 * 10
    assert found.wasted_seconds == pytest.approx(2 * 10 * 200, rel=0.01)


def test_where_old_receipts_delete_nothing_it_is_run_until_it_is_given_up() -> None:
    found = _run("fixed:90", LONG_AND_SHORT, workers=20).measures
    assert found.given_up == 10
    # Three losses before it runs alone, ten while it does.
    assert found.runs == 30 + 13 * 10


def test_a_timeout_that_is_long_enough_runs_nothing_twice_but_for_deletes_that_fail() -> None:
    assert _run("fixed:600", LONG_AND_SHORT).measures.duplicates == 0
    rough = _run("fixed:600", LONG_AND_SHORT, delete_failure_rate=0.2).measures
    assert rough.duplicates > 0
    assert rough.overlapped == 0


def test_the_newest_receipt_still_deletes_what_nobody_else_has() -> None:
    # One worker with one slot: while it runs the message nobody can take it, so its late delete works.
    found = _run("fixed:90", (Work(200.0),) * 3, workers=1, slots=1).measures
    assert (found.duplicates, found.runs, found.given_up) == (0, 3, 0)


def test_a_crash_under_a_fixed_timeout_waits_for_all_of_it() -> None:
    found = _run("fixed:600", LONG_AND_SHORT, crash_rate=0.1, workers=8).measures
    assert found.recovery_p50 is not None
    assert 350 < found.recovery_p50 <= 602


def test_with_the_heartbeat_off_a_run_ends_with_its_lease_and_never_overlaps() -> None:
    found = _run("lease:90", LONG_AND_SHORT, workers=20).measures
    assert (found.duplicates, found.overlapped) == (0, 0)
    assert found.given_up == 10


def test_what_is_learned_is_long_enough_without_a_beat() -> None:
    works = drawn("lognormal:45:0.6", 400, 1)
    result = _run("learned", works, crash_rate=0.01)
    assert result.measures.overlapped == 0
    assert result.measures.duplicates == 0
    assert result.measures.given_up == 0
    assert result.measures.finished == 400
    assert result.measures.wasted_seconds < 0.1 * result.measures.worked_seconds
    beaten = _run("heartbeat:30", works, crash_rate=0.01)
    assert result.measures.beats < beaten.measures.beats / 10
    assert (result.measures.recovery_p50 or 0) > (beaten.measures.recovery_p50 or 0)


def test_a_size_makes_the_learned_lease_long_enough_from_the_first_run_on() -> None:
    found = _run("learned", drawn("sizes", 60, 1), profile="transcoding").measures
    assert (found.overlapped, found.duplicates, found.given_up, found.runs) == (0, 0, 0, 60)


def test_a_policy_that_gets_nowhere_is_given_up_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from tenure.simulation import scenario as limits
    from tenure.simulation.fleet import scaling_of

    monkeypatch.setattr(limits, "_DAY", 3600.0)
    # Everything runs, nothing waits, so all workers are taken away before any run is over: again and again.
    scenario = Scenario(works=(Work(900.0),) * 4, workers=4, slots=1)
    result = simulate(scenario, policy_of("heartbeat:30"), scaling_of("visible:300"))
    assert result.stuck
    assert result.drain_seconds is None
    assert result.interrupted > 4
    assert result.measures.finished == 0
